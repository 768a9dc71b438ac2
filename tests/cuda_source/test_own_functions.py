from __future__ import annotations

from reading import kinds, operations, reading_of, run


def test_a_function_that_the_program_declares_with_an_api_s_name_is_no_malformed_call(tmp_path):
    text = "extern CUresult cuInit(unsigned int, int version); int main() { cuInit(0, 13000); }"
    assert "MALFORMED_CALL" not in kinds(run(text, tmp_path))


def test_without_such_a_declaration_it_is(tmp_path):
    assert "MALFORMED_CALL" in kinds(run("int main() { cuInit(0, 13000); }", tmp_path))


def test_a_method_with_a_library_function_s_name_is_run(tmp_path):
    game = "struct Game { void* p; void round() { cudaMalloc(&p, 8); } };"
    text = game + "int main() { Game g; g.round(); cudaFree(g.p); }"
    assert kinds(run(text, tmp_path)) == ["ALLOC", "FREE"]


def test_a_loop_over_such_a_method_is_run(tmp_path):
    text = (
        "struct Game { cudaStream_t s; void round(float* p) { cudaMemsetAsync(p, 0, 8, s); } };"
        "void games(Game& g, float* p, int n) { for (int i = 0; i < n; ++i) g.round(p); }"
    )
    assert "MEMSET" in kinds(run(text, tmp_path))


def test_the_library_s_own_function_of_that_name_is_harmless(tmp_path):
    text = (
        "struct Game { void* p; void round() { cudaMalloc(&p, 8); } };"
        "int main() { double x = 1.5; for (int i = 0; i < 3; ++i) x += std::round(x); return x > 1; }"
    )
    assert kinds(run(text, tmp_path)) == []


def test_a_name_of_another_namespace_is_not_called_misspelt(tmp_path):
    text = "int main() { float* p; amgx::memory::cudaMallocAsync((void**)&p, 4); cudaMalocAsync((void**)&p, 4, 0); }"
    said = [operation.label for operation in operations(reading_of(text, tmp_path).worlds[0]) if operation.label]
    assert [each for each in said if "did you mean" in each] == [
        "`cudaMalocAsync` is no known API; did you mean `cudaMallocAsync`?"
    ]
