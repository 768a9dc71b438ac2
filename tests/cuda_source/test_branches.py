"""Which way a branch goes that nobody can decide: to calls that no path came to, and past what leaves at once."""

from __future__ import annotations

import pytest
from reading import loud, operations, reading_of

from streamsan import check

WORK = "cudaMemset(memory, 0, 4);"


def worlds(text, folder):
    return reading_of(text, folder).worlds


def test_one_path_sees_both_branches_in_a_loop(tmp_path):
    text = """
        bool chosen(int);
        void work(int n, void* memory) {
            for (int i = 0; i < n; ++i) {
                if (chosen(i)) cudaMemset(memory, 0, 4);
                else cudaMemset(memory, 1, 4);
            }
        }"""
    assert len({each.line for each in operations(worlds(text, tmp_path)[0]) if each.kind == "MEMSET"}) == 2


def test_a_second_path_takes_the_other_side_of_all_branches(tmp_path):
    branches = "".join(
        f'if (option("{name}")) cudaMemset(memory, 0, 4); else cudaMemset(memory, 1, 4);\n' for name in "abcdefghij"
    )
    text = f"bool option(const char*);\nvoid work(void* memory) {{\n{branches}}}"
    second = worlds(text, tmp_path)[1]
    assert not any(second.decisions[1:]), "each branch that the first path did not take"


def test_the_first_path_finds_what_a_function_seeks_that_returns_minus_one_in_the_end(tmp_path):
    text = """
        int measured(const char* name);
        int place(const char* name) { int at = measured(name); if (at > 3) { return at; } return -1; }
        void work(const char* name, void* memory) { if (place(name) >= 0) cudaMemset(memory, 0, 4); }"""
    assert "MEMSET" in {each.kind for each in operations(worlds(text, tmp_path)[0])}


@pytest.mark.parametrize(("rest", "codes"), [("cudaFree(p);", ["SS201"]), ("", [])], ids=["wrong", "right"])
def test_the_first_path_finds_what_a_lambda_seeks_that_returns_null_in_the_end(rest, codes, tmp_path):
    text = f"""
        bool same(int, int);
        void work(int rank) {{
            auto kernel_of = [&](int n) -> const void* {{ if (same(rank, n)) {{ return &fill; }} return nullptr; }};
            if (kernel_of(3) == nullptr) {{ throw rank; }}
            float* p; cudaMalloc(&p, 4); cudaFree(p); {rest}
        }}"""
    assert "FREE" in {each.kind for each in operations(worlds(text, tmp_path)[0])}
    report = check([tmp_path / "program.cu"])
    assert [each.code for each in report.findings if each.severity.value != "note"] == codes


def test_a_lambda_that_returns_zero_in_the_end_seeks_nothing(tmp_path):
    text = """
        bool fails(int);
        void work(int n, void* memory) {
            auto status = [&]() { if (fails(n)) { return 1; } return 0; };
            if (status()) { throw n; }
            cudaMemset(memory, 0, 4);
        }"""
    assert "MEMSET" in {each.kind for each in operations(worlds(text, tmp_path)[0])}


@pytest.mark.parametrize("ends", ["if (throws()) throw what; else abort();", "{ do { throw what; } while (0); }"])
def test_the_first_path_goes_past_what_ends_the_program_however_it_is_written(ends, tmp_path):
    text = f"""
        #define ABORT(what) do {{ note(what); {ends} }} while (0)
        #define ABORT_IF(condition, what) do {{ if (condition) {{ ABORT(what); }} }} while (0)
        void note(const char*); bool throws(); bool same(int);
        void work(int type, void* memory) {{ ABORT_IF(!same(type), "other"); cudaMemset(memory, 0, 4); }}"""
    assert "MEMSET" in {each.kind for each in operations(worlds(text, tmp_path)[0])}


def test_what_ends_the_program_on_one_side_only_is_no_error_exit(tmp_path):
    text = """
        bool given(int); bool fatal();
        void work(int n, void* memory) {
            if (given(n)) { if (fatal()) throw 1; else puts("goes on"); }
            cudaMemset(memory, 0, 4);
        }"""
    assert worlds(text, tmp_path)[0].decisions == (True, False)


@pytest.mark.parametrize(
    "text",
    [
        # What was sought is found, not an error.
        """
        #include <cstdio>
        char* find(const char* name) {
            for (int i = 0; i < 3; ++i) {
                FILE* file = fopen(name, "rb");
                if (file != NULL) { fclose(file); return (char*)malloc(8); }
            }
            return 0;
        }
        int main(int argc, char** argv) {
            void* memory;
            if (find(argv[1]) == 0) return 1;
            cudaMalloc(&memory, 4); cudaFree(memory);
        }""",
        # What tells the usage leaves.
        """
        #include <cstdlib>
        void usage(const char* name) { printf("%s FILE", name); exit(1); }
        int main(int argc, char** argv) {
            if (argc < 2) usage(argv[0]); else argc = 2;
            void* memory; cudaMalloc(&memory, 4); cudaFree(memory);
        }""",
        # A loop over arguments was taken to run a few times: it may not say that one is missing.
        """
        #include <cstdlib>
        int main(int argc, char** argv) {
            for (int i = 1; i < argc; ++i) { if (i + 1 >= argc) exit(1); }
            void* memory; cudaMalloc(&memory, 4); cudaFree(memory);
        }""",
        # Default arguments stand where a function is declared first.
        """
        void run(const char* name, int blocks = 1);
        int main(int argc, char** argv) { run(argv[1]); }
        void run(const char* name, int blocks) { void* memory; cudaMalloc(&memory, blocks); cudaFree(memory); }""",
        # A switch over what nobody knows: each case.
        """
        void work(int mode, void* memory) {
            switch (mode) {
                case 0: puts("nothing"); break;
                case 1: cudaMemset(memory, 0, 4); break;
                default: cudaMemset(memory, 1, 4);
            }
        }""",
        # A loop that seems to be empty.
        """
        static int count = 0;
        int main() { void* memory; for (int i = 0; i < count; ++i) { cudaMalloc(&memory, 4); cudaFree(memory); } }""",
        # Much work of the host alone, in loops in each other.
        """
        #include <cstdlib>
        double draw(int);
        int main() {
            double table[16][16][16][16];
            for (int i = 0; i < 16; ++i) for (int j = 0; j < 16; ++j) for (int k = 0; k < 16; ++k)
                for (int l = 0; l < 16; ++l) { double* cell = new double; *cell = draw(i); table[i][j][k][l] = *cell; }
            for (int i = 0; i < 16; ++i) for (int j = 0; j < 16; ++j) for (int k = 0; k < 16; ++k)
                for (int l = 0; l < 16; ++l) { double* cell = new double; *cell = draw(i); table[i][j][k][l] = *cell; }
            void* memory; cudaMalloc(&memory, 4); cudaFree(memory);
        }""",
        # The same, with a question to the device.
        """
        #include <cstdlib>
        void watch(int n) { if (n > 70) { cudaStreamQuery(0); abort(); } }
        double draw(int);
        int main() {
            for (int i = 0; i < 16; ++i) for (int j = 0; j < 16; ++j) for (int k = 0; k < 16; ++k)
                for (int l = 0; l < 16; ++l) { double* cell = new double; *cell = draw(i); watch(i + j + k + l); }
            for (int i = 0; i < 16; ++i) for (int j = 0; j < 16; ++j) for (int k = 0; k < 16; ++k)
                for (int l = 0; l < 16; ++l) { double* cell = new double; *cell = draw(i); watch(i + j + k + l); }
            void* memory; cudaMalloc(&memory, 4); cudaFree(memory);
        }""",
        # Another attempt after a failure is left out on purpose.
        """
        int main() {
            void* memory; cudaMalloc(&memory, 4);
            while (cudaGetLastError() != cudaSuccess) cudaMalloc(&memory, 2);
            cudaFree(memory);
        }""",
        # A known condition may be known wrongly: what it keeps the path from is read at last.
        """
        static int parsed = 0;
        int main(int argc, char** argv) {
            if (!parsed) return 1;
            void* memory; cudaMalloc(&memory, 4); cudaFree(memory);
        }""",
    ],
)
def test_calls_behind_such_branches_are_reached(text, tmp_path):
    reading = reading_of(text, tmp_path)
    assert not reading.missed
    assert reading.reached


def test_many_error_exits_leave_a_budget_for_work(tmp_path):
    calls = "".join(f"if (other_library({number}) != 0) return 1;\n" for number in range(100))
    text = f"int other_library(int);\nint work(void* memory) {{\n{calls}{WORK}\nreturn 0; }}"
    reading = reading_of(text, tmp_path)
    assert not reading.missed


BEHIND = """
static bool tracing = false;
int main() {{
    cudaStream_t a, b;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    float* memory; cudaMalloc(&memory, 4096);
    if ({condition}) {{ fill<<<1, 1, 0, a>>>(memory); {wait} cudaMemsetAsync(memory, 0, 4096, b); }}
    cudaDeviceSynchronize();
}}"""


@pytest.mark.parametrize(
    ("condition", "wait", "severities"),
    [
        ("true", "", ["error"]),
        ("tracing", "", ["note"]),
        ("sizeof(int) == 8", "", []),
        ("tracing", "cudaStreamSynchronize(a);", []),
    ],
)
def test_what_stands_behind_a_condition_that_is_known_to_be_false_is_a_note(condition, wait, severities, tmp_path):
    path = tmp_path / "program.cu"
    body = "__global__ void fill(float* p) { p[threadIdx.x] = 1; }\n" + BEHIND.format(condition=condition, wait=wait)
    path.write_text(body, encoding="utf-8")
    found = [each for each in check([path]).findings if each.code == "SS109"]
    assert [str(each.severity.value) for each in found] == severities


def test_what_the_path_decided_itself_is_not_gone_against(tmp_path):
    text = f"void work(int n, void* memory) {{ if (n == 1) {{ {WORK} return; }} if (n == 1) {{ {WORK} }} {WORK} }}"
    assert not any(world.contrary for world in worlds(text, tmp_path))


def test_none_of_what_was_decided_to_be_false_together_is_true_alone(tmp_path):
    text = """
        bool option(const char*);
        int main() {
            const bool managed = option("m"), advised = option("a");
            float* memory;
            if (managed || advised) cudaMallocManaged(&memory, 64); else memory = (float*)malloc(64);
            if (managed) cudaMemPrefetchAsync(memory, 64, 0);
            if (managed || advised) cudaFree(memory); else free(memory);
        }"""
    path = tmp_path / "program.cu"
    path.write_text("#include <cuda_runtime.h>\n#include <cstdlib>\n" + text, encoding="utf-8")
    assert not [each for each in check([path]).findings if each.code in ("SS202", "SS201")]
    assert not reading_of(text, tmp_path).missed


def test_a_pointer_to_constants_is_none_itself(tmp_path):
    text = f"void work(const int* mask, void* memory) {{ if (mask != nullptr) {WORK} else {WORK} }}"
    assert not reading_of(text, tmp_path).missed


@pytest.mark.parametrize(("free", "severities"), [("cudaFree(d);", []), ("cudaFree(d); cudaFree(d);", ["note"])])
def test_what_happens_only_without_the_pointer_is_a_note(free, severities, tmp_path):
    text = f"""
        void work(const int* mask, void* memory) {{
            if (mask != nullptr) {WORK}
            else {{ float* d; cudaMalloc(&d, 4); {free} }}
        }}"""
    path = tmp_path / "program.cu"
    path.write_text("#include <cuda_runtime.h>\n" + text, encoding="utf-8")
    assert [str(each.severity.value) for each in check([path]).findings if each.code == "SS201"] == severities


MACROS = {
    "braces": "#define FAIL(what) { throw what; }",
    "once": "#define FAIL(what) do { log_it(what); abort(); } while (0)",
    "another": "#define LEAVE(what) { throw what; }\n#define FAIL(what) LEAVE(what)",
}


@pytest.mark.parametrize("name", ["braces", "once", "another"])
def test_a_macro_that_throws_or_exits_leaves_at_once(name, tmp_path):
    checks = "".join(f"if (!fine({number})) FAIL(1);\n" for number in range(30))
    text = f"#include <cstdlib>\n{MACROS[name]}\nbool fine(int); void log_it(int);\n"
    text += (
        f"int main() {{ void* memory; cudaMalloc(&memory, 4); {checks} {WORK} cudaFree(memory); cudaFree(memory); }}"
    )
    reading = reading_of(text, tmp_path)
    assert not reading.missed
    assert [each.kind for each in operations(reading.worlds[0])].count("FREE") == 2
    path = tmp_path / "program.cu"
    path.write_text("#include <cuda_runtime.h>\n" + text, encoding="utf-8")
    found = [str(each.severity.value) for each in check([path]).findings if each.code == "SS201"]
    assert found == ["error"]


def test_a_macro_that_only_may_leave_is_no_exit(tmp_path):
    text = f"""#define CHECKED(x) if (!(x)) throw 1
        bool fine(int);
        void work(void* memory) {{ if (fine(1)) {WORK} else CHECKED(fine(2)); }}"""
    assert not reading_of(text, tmp_path).missed


def test_the_way_past_a_branch_that_ends_the_program_leads_to_the_rest(tmp_path):
    # What ends it is not seen before: each of the many branches of what tells of the error leads to nothing new.
    (tmp_path / "telling.h").write_text(
        "#include <cstdlib>\nbool odd(int);\ninline void tell(int n) {\n"
        + "".join(f"if (odd({number})) n += 1; else n -= {number};\n" for number in range(12))
        + "if (n > 1 || n < 3) std::abort();\n}\n"
    )
    checks = "".join(f"if (odd(-{number})) tell({number});\n" for number in range(1, 5))
    text = f'#include "telling.h"\nvoid work(void* memory) {{ {checks} {WORK} }}'
    assert not reading_of(text, tmp_path).missed


def test_what_was_decided_of_an_object_may_be_over_where_a_function_gets_it_to_write(tmp_path):
    text = """
        #include <cstdlib>
        struct Info { int mapped; };
        void tell(Info* info); void map();
        void work(void* memory) {
            Info info; tell(&info); if (info.mapped) exit(1);
            map(); tell(&info); if (!info.mapped) exit(1);
            cudaMemset(memory, 0, 4);
        }"""
    assert "MEMSET" in {each.kind for each in operations(worlds(text, tmp_path)[0])}


@pytest.mark.parametrize(
    ("told", "leaves"),
    [("const Info* info", "exit(1);"), ("const Info& info", "exit(1);"), ("Info* info", "return;")],
)
def test_what_was_decided_of_an_object_holds_on(told, leaves, tmp_path):
    given = "info" if "&" in told else "&info"
    text = f"""
        #include <cuda_runtime.h>
        #include <cstdlib>
        struct Info {{ int mapped; }};
        void tell(Info* info); void see({told});
        void work() {{
            Info info; tell(&info);
            float* memory; cudaMalloc(&memory, 4);
            if (!info.mapped) cudaFree(memory);
            see({given});
            if (!info.mapped) {leaves}
            cudaFree(memory);
        }}"""
    assert loud(text, tmp_path) == []
