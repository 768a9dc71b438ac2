"""Damage hides as little as possible."""

from __future__ import annotations

import pytest
from notation import body, find, note

from streamsan.cuda_syntax.text_repairs import joined_strings
from streamsan.cuda_syntax.tree import Block, Call, Class, Function, Literal_
from streamsan.cuda_syntax.unit import read_text

CASES = [
    ("cudaMemcpy(d, h, ...);", "cudaMemcpy(d, h HOLE)", 0),
    ("f(a, , b); g(a, );", "f(a, b HOLE); g(a HOLE)", 0),
    ("k<<<...>>>(d);", "k<<<??>>>(d)", 0),
    ("g(); ... h();", "g(); ????; h()", 0),
    ("auto p = ...; h();", "auto p = ??; h()", 0),
    ("CHECK(g())\nCHECK(h());", "CHECK(g()); CHECK(h())", 0),
    ("CHECK(g())\nh();", "CHECK(g()); h()", 0),
    ("p.q = new T*[o.n];", "(p.q = new T*[o.n]())", 0),
    ("x = va_arg(list, int);", "(x = va_arg(list, int))", 0),
    ("g(); cudaFree(p h(); i();", "g(); ??cudaFree( HOLE) h( HOLE)??; i()", 1),
    ("g(a; h();", "g(a); h()", 1),
    ("g(); @@@; h();", "g(); ????; h()", 1),
    ("if (x) { @ f(1); g(); }", "if (x) {??f(1)??; g()}", 1),
    ("for (int i = 0; i < n; ++i) { g(i) } h();", "for (int i = 0 | (i < n) | (++ i)) {g(i)}; h()", 1),
    ("x([&] { @; g(); }); h();", "x([&](){????; g()}); h()", 1),
    ("WHATEVER(x) { g(x); } h();", "if (??) {g(x)}; h()", 1),
    ('g("a" NAME(b) "c"); h();', "g('aNAME(b)c'); h()", 0),
    ('g(NAME(b) "c"); h();', "g('NAME(b)c'); h()", 0),
    ("d[i] = (unsigned(i) * 3u) ^ 1u;", "(d[i] = ((cast<unsigned>(i) * 3) ^ 1))", 0),
    ("x = (long(i) * n);", "(x = (i * n))", 0),
    ("FOR(i, 4) { g(i); }", "for (int i = 0 | (i < 4) | (++ i)) {g(i)}", 0),
]


@pytest.mark.parametrize(("text", "expected", "problems"), CASES)
def test_damage_in_a_body(text: str, expected: str, problems: int) -> None:
    found, unit = body(text, "#define FOR(i, n) for (int i = 0; i < n; ++i)")
    assert found == expected
    assert len(unit.problems) == problems


@pytest.mark.parametrize(
    "text",
    [
        'g("a", "b(c)");',
        'extern "C" API(int) f();',
        'long operator"" _kb(long v);',
        'asm("mov" : "=r"(x) : "l"(address(p)));',
    ],
)
def test_calls_that_are_no_strings(text: str) -> None:
    assert joined_strings(text) == text


@pytest.mark.parametrize(
    "words", ['__FILE__ ":" NAME(__LINE__)', '#x " failed"', 'NAME(x) " at " __FILE__', '":" NAME(x)']
)
def test_a_check_that_is_told_its_place_is_followed(words: str) -> None:
    defined = f"#define NAME2(x) #x\n#define NAME(x) NAME2(x)\n#define CHECK(x) checked((x), {words})"
    unit = read_text(f"{defined}\nvoid f() {{ CHECK(g()); }}")
    made = unit.macros["CHECK"].expression
    assert isinstance(made, Call)
    assert isinstance(made.arguments[1], Literal_)


def test_aligned_struct() -> None:
    unit = read_text("typedef struct __align__(8)\n{ int x; float y; } Pair;\nvoid f() { }")
    assert [getattr(d, "name", "") for d in unit.declarations] == ["<unnamed 1:9>", "Pair", "f"]
    assert unit.problems == []


def test_a_brace_too_many() -> None:
    found, unit = body("g(); } void h() { i();")
    assert found == "g()"
    assert isinstance(find(unit, "h"), Function)
    assert read_text("void f() { g(); }\n}\nvoid h() { }").problems[0].text == "`}` closes nothing"


def test_one_broken_function_leaves_the_others() -> None:
    unit = read_text(
        "MYLIB_API void a() { g(); }\n"
        "void b( {\n int x = ; h();\n}\n"
        "MYLIB_KERNEL void k(int* p) { p[0] = 1; }\n"
        "struct S { MYLIB_API void m() { g(); } int @ x; int y; };\n"
        "void c() { g(); }\n"
    )
    names = [getattr(d, "name", "") for d in unit.declarations]
    assert names[0] == "a"
    assert names[-1] == "c"
    k = find(unit, "k")
    assert isinstance(k, Function)
    assert k.kernel
    s = find(unit, "S")
    assert isinstance(s, Class)
    assert [m.name for m in s.methods] == ["S::m"]
    assert "y" in [f.name for f in s.fields]
    assert unit.problems


def test_holes_in_place_of_code() -> None:
    unit = read_text(
        "__global__ void k(float* p) { /* kernel code */ }\n"
        "__global__ void m(float* p) { // ... the same\n}\n"
        "__global__ void n(float* p) { }\n"
        "int main() { g(); // ... more of it\n h(); { // ... inner\n } }"
    )
    bodies = {d.name: note(d.body) for d in unit.declarations if isinstance(d, Function)}
    assert bodies == {"k": "{????}", "m": "{????}", "n": "{}", "main": "{g(); ????; h(); {????}}"}
    assert unit.problems == []


def test_fragment() -> None:
    unit = read_text(
        "#define N 4\n__global__ void k(float* p) { }\nfloat* shared_by_both;\nvoid f() { use(shared_by_both); }\n"
        "float* d;\ncudaMalloc(&d, N);\nk<<<1, 1>>>(d);\nfor (int i = 0; i < N; ++i) cudaFree(d);\nif (x) { return 1; }\n"  # noqa: E501
    )
    assert unit.fragment
    assert unit.problems == []
    *kept, wrapped = unit.declarations
    assert [getattr(d, "name", "") for d in kept] == ["k", "shared_by_both", "f"]
    assert isinstance(wrapped, Function)
    assert wrapped.name == ""
    assert isinstance(wrapped.body, Block)
    assert [note(s) for s in wrapped.body.body[:3]] == ["float* d", "cudaMalloc((& d), N)", "k<<<1, 1>>>(d)"]
    assert len(wrapped.body.body) == 5


@pytest.mark.parametrize(
    "text", ["void f() { }\nBENCHMARK(f);\n", "REGISTER(x)\nvoid f() { }", "void f() { };", "MODULE_END"]
)
def test_macro_calls_between_functions_are_no_fragment(text: str) -> None:
    unit = read_text(text)
    assert not unit.fragment
    assert unit.problems == []
