"""Edits of text: bytes at lines and columns, statements of all shapes, and the names that may be written at a place."""

from __future__ import annotations

import pytest

from streamsan.cuda_syntax.tree import Call, Expression, Launch, Span, Unit
from streamsan.cuda_syntax.unit import read_text
from streamsan.cuda_syntax.walk import nodes
from streamsan.edits.cpp.calls import api_name, stream_argument
from streamsan.edits.cpp.checks import check_at
from streamsan.edits.cpp.layout import CppLayout
from streamsan.edits.cpp.places import CppPlace, find
from streamsan.edits.cpp.scope import Scope
from streamsan.edits.layout import NoPlaceError
from streamsan.edits.source_text import EditError, SourceText
from streamsan.findings.finding import Edit

NAME = "a.cu"


def span_of(text: str, part: str) -> Span:
    """Return the span of the first place where `part` stands, on one line."""
    begin = text.index(part)
    line = text.count("\n", 0, begin) + 1
    column = begin - (text.rfind("\n", 0, begin) + 1) + 1
    return Span(NAME, line, column, line, column + len(part))


def place_of(unit: Unit, text: str, part: str) -> CppPlace:
    found = find(unit, span_of(text, part))
    assert found is not None, part
    return found


def function(body: str, before: str = "", head: str = "void f(cudaStream_t s, float* p, int n)") -> str:
    return f"{before}{head} {{\n{body}}}\n"


def edited(text: str, part: str, code: tuple[str, ...] = ("x();", "y();"), behind: bool = False) -> str:
    source = SourceText(text.encode())
    layout = CppLayout({NAME: source})
    place = place_of(read_text(text, NAME), text, part)
    edits = layout.behind(place, code) if behind else layout.before(place, code)
    return source.edited(edits).decode()


# -- bytes ----------------------------------------------------------------------------------------


def replace(data: bytes, line: int, column: int, end_column: int, text: str) -> bytes:
    return SourceText(data).edited([Edit(NAME, line, column, line, end_column, text)])


def test_columns_count_characters_of_utf8() -> None:
    assert replace("/* \u00e9\u4e2d */ f(a);\n".encode(), 1, 10, 14, "g(b)") == "/* \u00e9\u4e2d */ g(b);\n".encode()


def test_columns_count_each_byte_that_is_no_utf8() -> None:
    assert replace(b"/* \xe9\xdf */ f(a);\n", 1, 10, 14, "g(b)") == b"/* \xe9\xdf */ g(b);\n"


def test_inserted_lines_end_as_the_lines_there() -> None:
    source = SourceText(b"a;\r\nb;\r\n")
    assert source.edited([Edit(NAME, 2, 1, 2, 1, "x;\ny;\n")]) == b"a;\r\nx;\r\ny;\r\nb;\r\n"


def test_a_byte_order_mark_is_before_the_first_column() -> None:
    assert replace(b"\xef\xbb\xbff();", 1, 1, 2, "g") == b"\xef\xbb\xbfg();"


def test_edits_at_one_place_keep_their_order_and_overlaps_are_refused() -> None:
    source = SourceText(b"f();\n")
    assert source.edited([Edit(NAME, 1, 1, 1, 1, "a"), Edit(NAME, 1, 1, 1, 1, "b")]) == b"abf();\n"
    with pytest.raises(EditError):
        source.edited([Edit(NAME, 1, 1, 1, 4, ""), Edit(NAME, 1, 2, 1, 3, "")])
    with pytest.raises(EditError):
        source.edited([Edit(NAME, 9, 1, 9, 1, "")])


# -- statements -----------------------------------------------------------------------------------


def test_before_a_statement_in_its_indentation() -> None:
    text = function("    g();\n\tcudaFreeAsync(p, s);\n")
    assert edited(text, "cudaFreeAsync(p, s)") == text.replace("\tcuda", "\tx();\n\ty();\n\tcuda")


def test_before_a_statement_with_another_before_it() -> None:
    text = function("    g(); cudaFreeAsync(p, s);\n")
    assert edited(text, "cudaFreeAsync(p, s)") == text.replace("g(); ", "g(); x(); y(); ")


def test_a_body_without_braces_gets_them() -> None:
    text = function("    if (n)\n        cudaFreeAsync(p, s); // c\n    else\n        g();\n")
    expected = "    if (n)\n    {\n        x();\n        y();\n        cudaFreeAsync(p, s); // c\n    }\n    else\n"
    assert expected in edited(text, "cudaFreeAsync(p, s)")
    text = function("    for (;;) cudaFreeAsync(p, s);\n")
    assert "for (;;) { x(); y(); cudaFreeAsync(p, s); }" in edited(text, "cudaFreeAsync(p, s)")
    assert "for (;;) { cudaFreeAsync(p, s); x(); y(); }" in edited(text, "cudaFreeAsync(p, s)", behind=True)


def test_behind_a_statement_of_several_lines() -> None:
    text = function("    g(1,\n      2); // c\n    h();\n")
    place = find(read_text(text, NAME), Span(NAME, 2, 5, 3, 9))
    assert place is not None
    source = SourceText(text.encode())
    result = source.edited(CppLayout({NAME: source}).behind(place, ["x();"])).decode()
    assert result == text.replace("// c\n", "// c\n    x();\n")


def test_before_the_brace_that_ends_a_scope() -> None:
    text = function("    {\n        g();\n    }\n")
    brace = Span(NAME, 4, 5, 4, 6)
    place = find(read_text(text, NAME), brace)
    assert place is not None
    assert place.statement is None
    source = SourceText(text.encode())
    result = source.edited(CppLayout({NAME: source}).before(place, ["x();"])).decode()
    assert result == text.replace("g();\n    }", "g();\n        x();\n    }")


def test_a_scope_that_a_return_ends_is_left_before_it() -> None:
    text = function("    g();\n    return;\n")
    place = find(read_text(text, NAME), Span(NAME, 4, 1, 4, 2))
    assert place is not None
    source = SourceText(text.encode())
    result = source.edited(CppLayout({NAME: source}).before(place, ["x();"])).decode()
    assert result == text.replace("    return;", "    x();\n    return;")


def test_a_statement_goes_with_its_line_only_where_it_is_alone() -> None:
    for body, expected in (
        ("    g();\n    h();\n", "    h();\n"),
        ("    g(); h();\n", "    h();\n"),
        ("    if (n) g();\n    h();\n", "    h();\n"),
        ("    g(); // why\n    h();\n", "    h();\n"),
    ):
        text = function(body)
        source = SourceText(text.encode())
        place = place_of(read_text(text, NAME), text, "g()")
        edits = CppLayout({NAME: source}).removed(place, [place.statement])
        assert source.edited(edits).decode() == function(expected)


def test_moved_behind_another_statement() -> None:
    text = function("    g();  // free\n    if (n) {\n        h();\n    }\n    k();\n")
    unit = read_text(text, NAME)
    place, target = place_of(unit, text, "g()"), place_of(unit, text, "h()")
    block = place.block
    assert block is not None
    source = SourceText(text.encode())
    result = source.edited(CppLayout({NAME: source}).moved([block.body[0]], block.body[1])).decode()
    assert result == function("    if (n) {\n        h();\n    }\n    g();  // free\n    k();\n")
    assert target.block is not block


def test_nothing_is_put_into_macros_and_across_directives() -> None:
    text = function("#if 1\n    g(\n#endif\n    );\n")
    source = SourceText(text.encode())
    place = find(read_text(text, NAME), Span(NAME, 3, 5, 5, 6))
    if place is not None:
        with pytest.raises(NoPlaceError):
            CppLayout({NAME: source}).before(place, ["x();"])
    macro = "#define FREE(p, s) \\\n    g(); \\\n    cudaFreeAsync(p, s)\n" + function("    FREE(p, s);\n")
    assert find(read_text(macro, NAME), span_of(macro, "cudaFreeAsync(p, s)")) is None


# -- names ----------------------------------------------------------------------------------------


def scope_at(text: str, part: str) -> Scope:
    unit = read_text(text, NAME)
    return Scope(unit, place_of(unit, text, part))


def test_names_are_visible_from_their_declaration_on() -> None:
    text = function("    int a;\n    { int b; }\n    for (int i = 0; i < n; ++i) { int c; g(); int d; }\n    int e;\n")
    scope = scope_at(text, "g()")
    assert [name for name in "abcdeinps" if scope.has(name)] == list("acinps")


def test_a_lambda_sees_what_it_captures() -> None:
    for capture, seen in (("[=]", ["a", "b"]), ("[&]", ["a", "b"]), ("[a]", ["a"]), ("[]", [])):
        text = function(f"    int a, b;\n    auto l = {capture}(int c) {{ g(); }};\n")
        scope = scope_at(text, "g()")
        assert [name for name in ("a", "b") if scope.has(name)] == seen
        assert scope.has("c")


def test_members_are_visible_in_methods() -> None:
    classes = (
        "struct Base { int base_; };\nstruct B : Base {\n    int own_;\n    void m() { g(); }\n    void out();\n};\n"
    )
    text = f"{classes}void B::out() {{ h(); }}\nvoid free_function() {{ k(); }}\n"
    for part, visible in (("g()", True), ("h()", True), ("k()", False)):
        scope = scope_at(text, part)
        assert (scope.has("own_"), scope.has("base_")) == (visible, visible)


# -- calls ----------------------------------------------------------------------------------------


def call_in(text: str, callee: str) -> Expression:
    for declaration in read_text(text, NAME).declarations:
        for node in nodes(declaration):
            if isinstance(node, Call | Launch) and getattr(node.callee, "name", "") == callee:
                return node
    raise AssertionError(callee)


@pytest.mark.parametrize(
    ("call", "callee", "stream"),
    [
        ("cudaFreeAsync(p, s);", "cudaFreeAsync", "s"),
        ("cudaMemcpyAsync(p, p, 4, cudaMemcpyDefault, s);", "cudaMemcpyAsync", "s"),
        ("cudaMemcpyAsync(p, p, 4, cudaMemcpyDefault);", "cudaMemcpyAsync", None),
        ("cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, 0, 0);", "cuLaunchKernel", "s"),
        ("k<<<1, 2, 0, s>>>(p);", "k", "s"),
        ("k<<<1, 2>>>(p);", "k", None),
    ],
)
def test_stream_of_a_call(call: str, callee: str, stream: str | None) -> None:
    found, expression = stream_argument(call_in(function(f"    {call}\n"), callee))
    assert found
    assert getattr(expression, "name", None) == stream


def test_calls_without_a_stream() -> None:
    assert stream_argument(call_in(function("    cudaFree(p);\n"), "cudaFree")) == (False, None)
    assert api_name(call_in(function("    g(p);\n"), "g")) is None


def checked(body: str, part: str, driver: bool = False, before: str = "") -> list[str]:
    """Return how a call that is put in before `part` is checked."""
    text = function(body, before)
    unit = read_text(text, NAME)
    place = place_of(unit, text, part)
    check = check_at(place, driver, CppLayout({NAME: SourceText(text.encode())}), Scope(unit, place))
    return check.around("cuEventRecord(e, s)" if driver else "cudaEventRecord(e, s)")


def test_the_check_is_that_of_the_neighbours() -> None:
    body = "    OK(cudaMalloc(&p, 4));\n    OK(cudaMemset(p, 0, 4));\n    k<<<1, 1>>>(p);\n    cudaFree(p);\n"
    assert checked(body, "k<<<1, 1>>>(p)") == ["OK(cudaEventRecord(e, s));"]
    assert checked(body, "cudaFree(p)") == ["cudaEventRecord(e, s);"]
    assert checked(body, "cudaMemset(p, 0, 4)") == ["OK(cudaEventRecord(e, s));"]
    assert checked(body, "k<<<1, 1>>>(p)", driver=True) == ["cuEventRecord(e, s);"]


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ('OK(cudaFree(p), "free p");', 'OK(cudaEventRecord(e, s), "cudaEventRecord");'),
        ("check(cudaFree(p), __FILE__, __LINE__);", "check(cudaEventRecord(e, s), __FILE__, __LINE__);"),
        ('check(cudaFree(p), "freeing %d of %p", n, p);', 'check(cudaEventRecord(e, s), "cudaEventRecord");'),
        ("assert(cudaFree(p) == cudaSuccess);", "assert(cudaEventRecord(e, s) == cudaSuccess);"),
        ("ASSERT_EQ(cudaSuccess, cudaFree(p));", "ASSERT_EQ(cudaSuccess, cudaEventRecord(e, s));"),
        ('CHECK(cudaFree(p)) << "x";', 'CHECK(cudaEventRecord(e, s)) << "x";'),
        ("if (auto r = cudaFree(p); r) return;", "if (auto r = cudaEventRecord(e, s); r) return;"),
        ("if (cudaFree(p) != cudaSuccess) return;", "if (cudaEventRecord(e, s) != cudaSuccess) return;"),
        ('if (cudaFree(p)) { puts("cudaFree"); }', 'if (cudaEventRecord(e, s)) { puts("cudaEventRecord"); }'),
        ("ok = ok && good(cudaFree(p));", "cudaEventRecord(e, s);"),
        ("(void)cudaFree(p);", "cudaEventRecord(e, s);"),
        ("puts(cudaGetErrorString(cudaGetLastError()));", "cudaEventRecord(e, s);"),
        ("work([&] { OK(cudaFree(p)); return 1; });", "cudaEventRecord(e, s);"),
    ],
)  # fmt: skip
def test_checks_of_all_shapes(check: str, expected: str) -> None:
    assert checked(f"    {check}\n    k<<<1, 1>>>(p);\n", "k<<<1, 1>>>(p)") == [expected]


def test_a_check_of_the_next_statement_goes_along() -> None:
    body = "    cudaError_t r = cudaMalloc(&p, 4);\n    if (r != cudaSuccess)\n        return;\n    k<<<1, 1>>>(p);\n"
    expected = ["r = cudaEventRecord(e, s);", "if (r != cudaSuccess)", "    return;"]
    assert checked(body, "k<<<1, 1>>>(p)") == expected


def test_a_check_with_names_that_are_not_visible_is_not_copied() -> None:
    body = "    {\n        int log = 0;\n        OK(cudaMalloc(&p, 4), log);\n    }\n    k<<<1, 1>>>(p);\n"
    assert checked(body, "k<<<1, 1>>>(p)") == ["cudaEventRecord(e, s);"]
