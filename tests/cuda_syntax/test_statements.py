"""Statements and expressions, each from its text."""

from __future__ import annotations

import pytest
from notation import body

from streamsan.cuda_syntax.unit import read_text

CASES = [
    ("x = 1 + 2 * y;", "(x = (1 + (2 * y)))"),
    ("x += -y;", "(x += (- y))"),
    ("i++; --i;", "(post++ i); (-- i)"),
    ("x = -3;", "(x = -3)"),
    ("a, b;", "(a , b)"),
    ("x = not a and b;", "(x = ((! a) && b))"),
    ("x = c ? a : b;", "(x = (c ? a : b))"),
    ("ns::f<int>(&x, *p);", "ns::f<int>((& x), (* p))"),
    ("a.b->c[3].d();", "a.b->c[3].d()"),
    ("k<<<1, 2>>>(p);", "k<<<1, 2>>>(p)"),
    ("k<<<g, dim3(1, 2), 0, s>>>(p, n);", "k<<<g, dim3(1, 2), 0, s>>>(p, n)"),
    ("k<float, 4><<<g, b>>>();", "k<float,4><<<g, b>>>()"),
    ("foo<bar<int>><<<1, 1>>>();", "foo<bar<int>><<<1, 1>>>()"),
    ("ns::k<<<g, b>>>(x);", "ns::k<<<g, b>>>(x)"),
    ("(*fp)<<<1, 1>>>(x);", "(* fp)<<<1, 1>>>(x)"),
    ("o.k<<<1, 1>>>(x);", "o.k<<<1, 1>>>(x)"),
    ("p = (float*)malloc(4);", "(p = cast<float*>(malloc(4)))"),
    ("p = static_cast<const float*>(q);", "(p = cast<const float*>(q))"),
    ("x = int(y) + float(3);", "(x = (cast<int>(y) + cast<float>(3)))"),
    ("n = sizeof(float) * sizeof x;", "(n = (sizeof(float) * sizeof(x)))"),
    ("p = new float[n]; delete[] p; delete q;", "(p = new float[n]()); delete[] p; delete q"),
    ("p = new float*[n];", "(p = new float*[n]())"),
    ("b = new Buffer(n, s);", "(b = new Buffer(n, s))"),
    ("x = 1'000'000ull;", "(x = 1000000)"),
    ("x = 0x1p3f + 4.f + 1e3 + 0b101 + 017;", "(x = ((((8.0 + 4.0) + 1000.0) + 5) + 15))"),
    ("t = 10ms;", '(t = operator""ms(10))'),
    ('s = "a\\n" "b";', "(s = 'a\\nb')"),
    ('s = R"x(a)" )x";', "(s = 'a)\" ')"),
    ("c = 'a';", "(c = 97)"),
    ("p = nullptr; q = NULL; b = true;", "(p = nullptr); (q = nullptr); (b = True)"),
    ("throw 3;", "(throw 3)"),
    ("int a = 1, *b, c[2][n];", "int a = 1; int* b; int c[2][n]"),
    ("const float* const p = q;", "const float* p = q"),
    ("static thread_local int x{3};", "static thread_local int x = {3}"),
    ("auto [a, b] = f();", "auto a, b = f()"),
    ("auto& r = x; T&& m = g();", "auto& r = x; T&& m = g()"),
    ("T z{1, 2};", "T z = {1, 2}"),
    ("auto v = P{.x = 1, .y = {2}};", "auto v = P{.x=1, .y={2}}"),
    ("int (*fp)(int) = g;", "int() fp = g"),
    ("std::vector<std::pair<int, float*>> v(n);", "std::vector<std::pair<int, float*>> v(n)"),
    ("__shared__ float tile[4];", "shared float tile[4]"),
    ("if (x) y(); else if (z) w(); else v();", "if (x) y() else if (z) w() else v()"),
    ("if (auto e = g(); e != 0) return;", "if (auto e = g(); (e != 0)) return -"),
    ("if (T* p = g()) h(p);", "if (T* p = g(); p) h(p)"),
    ("if constexpr (N > 1) g();", "if ((N > 1)) g()"),
    ("for (int i = 0, j = 1; i < n; ++i) g(i);", "for (int i = 0; int j = 1 | (i < n) | (++ i)) g(i)"),
    ("for (;;) break;", "for (- | - | -) break"),
    ("for (const auto& [k, v] : m) continue;", "for (const auto& k, v : m) continue"),
    ("while (x) { g(); }", "while (x) {g()}"),
    ("do g(); while (x);", "do g() while (x)"),
    ("switch (x) { case 1: g(); break; default: h(); }", "switch (x) {case 1:; g(); break; case -:; h()}"),
    ("try { g(); } catch (const E& e) { h(); } catch (...) { }", "try {g()} catch {const E& e; h()} catch {}"),
    ("goto end; end: g();", "goto end; end:; g()"),
    ("auto f = [&, x = 3](int y) mutable -> int { return x + y; };", "auto f = [&, x=3](int y){return (x + y)}"),
    ("g([=, &a, this] { h(); });", "g([=, &a, this](){h()})"),
    ("auto f = [](auto x) { };", "auto f = [](auto x){}"),
    ("auto f = [=] __device__ (int i) { return i; };", "auto f = [=](int i){return i}"),
    ("x = ({ int y = 1; y; });", "(x = ({int y = 1; y}))"),
    ("g(args...);", "g((... args))"),
    ("CHECK(cudaFree(p));", "CHECK(cudaFree(p))"),
    ("using T = int; static_assert(true); ;", "alias T = int"),
    ("f(x);;", "f(x)"),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_statement(text: str, expected: str) -> None:
    found, unit = body(text)
    assert found == expected
    assert unit.problems == []


CONSTRUCTORS = [
    ("Buffer b(n, s);", "Buffer b(n, s)"),
    ("Buffer b(n * m);", "Buffer b((n * m))"),
    ("Buffer b(n, std::vector<int>(m));", "Buffer b(n, std::vector<int>(m))"),
    ("Buffer b(n, std::vector<int>(n * m));", "Buffer b(n, std::vector<int>((n * m)))"),
    ("Buffer b(n, std::vector<int>());", "Buffer b(n, std::vector<int>())"),
    ("Buffer b(int, std::vector<int>(int));", "function Buffer b(int, std::vector<int>())"),
    ("Buffer b(a & b);", "Buffer b((a & b))"),
    ("Buffer b(3, s);", "Buffer b(3, s)"),
    ("Guard g(o.m, 1);", "Guard g(o.m, 1)"),
    ("std::lock_guard<std::mutex> l(m);", "std::lock_guard<std::mutex> l(m)"),
    ("std::thread t(work, std::ref(x));", "std::thread t(work, std::ref(x))"),
    ("Buffer b(v[i]);", "Buffer b(v[i])"),
    ("N::Ring<2> r(s);", "N::Ring<2> r(s)"),
    ("N::M::Ring<2 * k> r(s, 3), t(u);", "N::M::Ring<(2 * k)> r(s, 3); N::M::Ring<(2 * k)> t(u)"),
    ("g(); N::Ring<2> r{s}; h(); N::Ring<2> t{u};", "g(); N::Ring<2> r = {s}; h(); N::Ring<2> t = {u}"),
    ("Buffer b();", "function Buffer b()"),
    ("float g(float x);", "function float g(float x)"),
    ("Buffer b(const T& x);", "function Buffer b(const T& x)"),
    ("Buffer b(size_t);", "function Buffer b(size_t)"),
    ("Buffer b(Known);", "function Buffer b(Known)"),
]


@pytest.mark.parametrize(("text", "expected"), CONSTRUCTORS)
def test_constructor_or_function(text: str, expected: str) -> None:
    assert body(text, "struct Known {};")[0] == expected


def test_places_count_characters() -> None:
    _, unit = body("/* \u00e9\u00e9 */ g(x); // \u4f60")
    function = unit.declarations[0]
    assert function.span.line == 2
    call = function.body.body[0].expression  # type: ignore[attr-defined]
    assert (call.span.line, call.span.column, call.span.end_column) == (3, 10, 14)


def test_text_beyond_ascii_survives_in_strings_and_names() -> None:
    assert body('gr\u00f6\u00dfe("\u4f60\U0001f600");')[0] == "gr\u00f6\u00dfe('\u4f60\U0001f600')"


def test_bodies_that_nobody_read_yet_compare_by_what_is_in_them() -> None:
    one, same, other = (read_text(f"void f() {{ {text} }}").declarations[0] for text in ("g();", "g();", "h();"))
    assert one == same
    assert one != other
