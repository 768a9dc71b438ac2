"""Functions, classes and variables that macros make outside functions are read where the macro is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsan.cuda_syntax import declaration_macros, tree
from streamsan.cuda_syntax.compiler_options import CompilerOptions
from streamsan.cuda_syntax.unit import read_text, read_unit
from streamsan.cuda_syntax.walk import nodes

SYNC = "cudaDeviceSynchronize();"
NAME = "#define NAME(a, b) a##_##b\n"
FUNCTION = f"#define F(n) void n() {{ {SYNC} }}\n"

CASES = [
    (FUNCTION + "F(a) F(b);\nF(\n c\n)", "a b c"),
    (FUNCTION + "#define TWO(x) F(x##0) F(x##1)\nTWO(a)", "a0 a1"),
    (FUNCTION + "#define LIST(X) X(a) X(b)\nLIST(F)", "a b"),
    ("#define LIST X(a)\n#define X(n) void f_##n() {}\nLIST\n#undef X\n#define X(n) void g_##n() {}\nLIST", "f_a g_a"),
    (NAME + "#define K(T) __global__ void NAME(k, T)(T* x) {}\n#define REAL float\nK(REAL)\nK(int)", "k_float k_int"),
    (NAME + "__global__ void NAME(k, 1)(int* p) { }", "k_1"),
    ("#define M(n, ...) void n(int, ##__VA_ARGS__) {}\nM(a)\nM(b, int x, int y)", "a b"),
    ("#define M(n, ...) void n(int __VA_OPT__(,) __VA_ARGS__) {}\nM(a)\nM(b, int x)", "a b"),
    ("#define M(T, n, q) q T n() { return 0; }\nM(int, a, )\nM(int, b, static)", "a b"),
    ("#define DEF(n) T n(T a) { return a; }\ntemplate <typename T> DEF(f)\ntemplate <class T>\nDEF(g)", "f g"),
    ("#define IN(n) namespace n {\n" + FUNCTION + "IN(a)\nF(x)\n}\nF(y)", "a::x y"),
    ('extern "C" {\n' + FUNCTION + "F(a)\n}\nstatic inline F(b)", "a b"),
    ("#define TEST(a, b) void a##_##b()\nTEST(x, y) { " + SYNC + " }", "x_y"),
    ("#define CASE(a) static int reg_##a = add(#a); void a()\nCASE(x) { " + SYNC + " }", "x"),
    ("#define CODE(n, b) void n() b\nCODE(f, { int x[] = {1, 2}; g(x); })", "f"),
    ('#define API(T) __attribute__((visibility("default"))) T\nAPI(int) f() { return 1; }', "f"),
    ("#define BOUNDS(n) __launch_bounds__(n)\n__global__ BOUNDS(256) void k(int* p) { }", "k"),
    (f"#define A(x) B(x)\n#define B(x) A(x) void f##x() {{ {SYNC} }}\nA(1)", "f1"),
    (f"TEST(a, b) {{ {SYNC} }}\nEXPORT void f() {{}}", "TEST(a, b) f"),
    (f"PYBIND11_MODULE(m, x) {{ x = 1; {SYNC} }}", "PYBIND11_MODULE(m, x)"),
    ("int x = 1;\n" + FUNCTION + "struct S { int y = 2; };\nenum E { A, B };\nint z[] = {1, 2};\nF(a)", "a"),
]  # fmt: skip


def functions(unit: tree.Unit) -> list[tree.Function]:
    return [each for each in unit.declarations if isinstance(each, tree.Function) and each.body is not None]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_what_macros_make_is_read(text: str, expected: str) -> None:
    unit = read_text(text)
    assert ", ".join(each.name for each in functions(unit)) == expected.replace(" ", ", ").replace(",, ", ", ")
    assert unit.problems == unit.unread_macros == []
    assert not unit.fragment


def test_members_of_a_class() -> None:
    methods = f"#define METHODS(C) C(const C&) = delete; C& operator=(const C&) = delete; void sync() {{ {SYNC} }}\n"
    unit = read_text(methods + "struct A {\n METHODS(A)\n int x;\n};\nclass B { public: METHODS(B); private: int y; };")
    found = {each.name: each for each in unit.declarations if isinstance(each, tree.Class)}
    for name in "AB":
        assert [each.name for each in found[name].methods] == [f"{name}::{m}" for m in (name, "operator=", "sync")]
        assert len(found[name].fields) == 1


def test_variables_and_linkage() -> None:
    unit = read_text(
        "#define STREAM(n) static cudaStream_t n; cudaEvent_t n##_done\nSTREAM(s);\n"
        '#define C(n) extern "C" void n() {}\nC(c)\nvoid d() {}\nextern "C" { int v; }\nextern "C++" void e() {}\n'
    )
    assert [getattr(each, "name", "") for each in unit.declarations] == ["s", "s_done", "c", "d", "v", "e"]
    assert [getattr(each, "c_linkage", None) for each in unit.declarations] == [False, False, True, False, True, False]


def test_headers_and_the_command_line_define_them(tmp_path: Path) -> None:
    (tmp_path / "a.h").write_text(FUNCTION + "#define G(n) F(g_##n)\n", encoding="utf-8")
    (tmp_path / "a.cu").write_text('F(early)\n#include "a.h"\nG(a)\nH(b)\n', encoding="utf-8")
    unit = read_unit(tmp_path / "a.cu", CompilerOptions.of({"H(n)": f"void h_##n() {{ {SYNC} }}"}))
    assert [each.name for each in functions(unit)] == ["g_a", "h_b"]
    assert [(Path(each.span.file).name, each.span.line) for each in functions(unit)] == [("a.cu", 3), ("a.cu", 4)]


def test_all_that_comes_of_it_stands_where_the_macro_is_used() -> None:
    unit = read_text(FUNCTION + "int x; F(\n  a) int y;")
    (made,) = functions(unit)
    assert {each.span[1:] for each in nodes(made) if isinstance(each, tree.Statement)} == {(2, 8, 3, 5)}
    assert unit.expansions == {made.span: True}


def test_code_in_braces_keeps_its_place() -> None:
    unit = read_text(f"#define CODE(n, b) void n() b\nCODE(f, {{ int x;\n  {SYNC} }})")
    (made,) = functions(unit)
    assert made.body is not None
    assert [each.span[1:] for each in made.body.body] == [(2, 11, 2, 17), (3, 3, 3, 27)]


@pytest.mark.parametrize(
    "text",
    [
        "#define CHECK(x) do { cudaError_t e = (x); if (e) exit(1); } while (0)\nCHECK(cudaMalloc(&p, 4));\n",
        "#define CALL(x) check((x), #x, __FILE__)\nCALL(cudaMalloc(&p, 4));\n",
        "#define ID(x) x\nID(cudaMalloc(&p, 4));\n",
        "#define PTR(T, p) T* p; cudaMalloc(&p, 4)\nPTR(float, x);\nk<<<1, 1>>>(x);\n",
        "#define RUN(k, x) k<<<1, 1>>>(x)\nfloat* x = make();\nRUN(k, x);\nf(x);\n",
    ],
)
def test_statements_of_a_fragment_stay(text: str) -> None:
    unit = read_text(text)
    assert unit.fragment
    assert unit.expansions == {}
    assert unit.unread_macros == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (f"#define F(n, m) void n() {{ {SYNC} }}\nF(x)\nvoid g() {{}}", 1),
        (f"#define F(n) void n() {{ {SYNC} @@ }}\nF(x)\nvoid g() {{}}", 1),
        ("#define F(n, m) void n() { }\nF(x)\nvoid g() {}", 0),
        ("#define F(n, m) void n() { }\nF(cudaStream_t)\nvoid g() {}", 1),
        (f"#define F(n) void n() {{ {SYNC} }}\nvoid g() {{}}", 0),
        (f"#define F(n, m) void n() {{ {SYNC} }}\nvoid g() {{ F(1); }}", 0),
        ("UNKNOWN(x)\nEXPORT class A;\nvoid g() {}", 0),
    ],
)
def test_what_is_not_read_and_holds_a_word_of_cuda(text: str, count: int) -> None:
    unit = read_text(text)
    assert [each.span.line for each in unit.unread_macros] == [2] * count
    assert "g" in [each.name for each in functions(unit)]


@pytest.mark.parametrize("last", [f"void x() {{ {SYNC} }}", f"L14(x) void x() {{ {SYNC} }}"])
def test_what_grows_without_end_is_left(last: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declaration_macros, "MOST_INVOCATIONS", 500)
    doubling = "".join(f"#define L{n}(x) L{n - 1}(x) L{n - 1}(x)\n" for n in range(1, 40))
    unit = read_text(f"#define L0(x) {last}\n{doubling}void g() {{}}\nL39(x)")
    assert [each.span.line for each in unit.unread_macros] == [42]
    assert [each.name for each in functions(unit)] == ["g"]
    assert unit.expansions == {}


def test_long_lists_are_read() -> None:
    unit = read_text(FUNCTION + "#define LIST(X) " + " ".join(f"X(f{n})" for n in range(1200)) + "\nLIST(F)")
    assert len(functions(unit)) == 1200
    assert unit.unread_macros == []


@pytest.mark.parametrize("text", ["F(" * 300, "F(" * 300 + ")" * 300, "F(x##)", "F(#)", "F(,,)", "F('" + "\\" * 99])
@pytest.mark.parametrize("body", ["void x() {}", "x ## x", "# x", "#x ## #x", "x(x)", "{", "}", "namespace x {"])
def test_hostile_text_ends(text: str, body: str) -> None:
    unit = read_text(f"#define F(x) {body}\n{text}\n")
    assert unit.file == "input.cu"


def test_a_function_in_itself_by_repairs_ends() -> None:
    text = "#define A(x) B(x)\n#define B(x) A(x) void f##x() { g #define B(x) A(xenum ) void f##x(); }\nA(1)"
    assert read_text("#define F(n) void n() { }\nname x N(a)\nF(x)\n}\nF(y)\n" + text).file == "input.cu"
