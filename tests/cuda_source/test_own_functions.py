from __future__ import annotations

from reading import kinds, run


def test_a_function_that_the_program_declares_with_an_api_s_name_is_no_malformed_call(tmp_path):
    text = "extern CUresult cuInit(unsigned int, int version); int main() { cuInit(0, 13000); }"
    assert "MALFORMED_CALL" not in kinds(run(text, tmp_path))


def test_without_such_a_declaration_it_is(tmp_path):
    assert "MALFORMED_CALL" in kinds(run("int main() { cuInit(0, 13000); }", tmp_path))
