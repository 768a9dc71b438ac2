"""Idioms of C++ around one call: whatever they are made of, the memory is freed once, and nothing is not understood."""

# ruff: noqa: E501 - programs under test stay as a person would type them
from __future__ import annotations

import pytest
from reading import kinds, operations, reading_of

IDIOMS = [
    ("algorithms", "", "std::vector<int*> v{p}; std::for_each(v.begin(), v.end(), [](int* q) { cudaFree(q); });"),
    (
        "transform",
        "",
        "std::vector<int*> v{p}, w(1); std::transform(v.begin(), v.end(), w.begin(), [](int* q) { return q; }); cudaFree(w[0]);",
    ),
    ("find_init", "", "std::map<int, int*> m{{1, p}}; if (auto it = m.find(1); it != m.end()) cudaFree(it->second);"),
    (
        "inherited ctor",
        "struct A { int* q; explicit A(int* x) : q(x) {} ~A() { cudaFree(q); } }; struct B : A { using A::A; };",
        "B b(p);",
    ),
    (
        "arrow",
        "struct In { int* q; void go() { cudaFree(q); } }; struct H { In in; In* operator->() { return &in; } };",
        "H h{{p}}; h->go();",
    ),
    (
        "adl swap",
        "struct A { int* q = nullptr; friend void swap(A& a, A& b) { int* t = a.q; a.q = b.q; b.q = t; } };",
        "A a, b; a.q = p; swap(a, b); cudaFree(b.q);",
    ),
    (
        "using std swap",
        "struct A { int* q = nullptr; };",
        "A a, b; a.q = p; using std::swap; swap(a, b); cudaFree(b.q);",
    ),
    ("designated", "struct O { int n = 0; int* q = nullptr; };", "O o{.n = 2, .q = p}; cudaFree(o.q);"),
    (
        "placement new",
        "struct A { int* q; A(int* x) : q(x) {} ~A() { cudaFree(q); } };",
        "alignas(A) unsigned char room[sizeof(A)]; A* a = new (room) A(p); a->~A();",
    ),
    ("any", "", "std::any a = p; cudaFree(std::any_cast<int*>(a));"),
    (
        "recursive lambda",
        "",
        "auto rec = [&](auto&& self, int n) -> void { if (n == 0) { cudaFree(p); return; } self(self, n - 1); }; rec(rec, 3);",
    ),
    ("invoke member", "struct S { int* q; void m() { cudaFree(q); } };", "S s{p}; std::invoke(&S::m, s);"),
    ("mem_fn", "struct S { int* q; void m() { cudaFree(q); } };", "S s{p}; auto f = std::mem_fn(&S::m); f(s);"),
    (
        "bind this",
        "struct S { int* q; void m() { cudaFree(q); } std::function<void()> f() { return std::bind(&S::m, this); } };",
        "S s{p}; s.f()();",
    ),
    (
        "index_sequence",
        "template <std::size_t... I> void all(int** q, std::index_sequence<I...>) { (cudaFree(q[I]), ...); }",
        "int* a[2] = {p, nullptr}; all(a, std::make_index_sequence<2>{});",
    ),
    (
        "variadic recursion",
        "template <class T, class... R> void each(T t, R... r) { cudaFree(t); if constexpr (sizeof...(r) > 0) each(r...); }",
        "int* q = nullptr; each(q, p);",
    ),
    (
        "static member",
        "template <class T> struct C { static T* held; static void go() { cudaFree(held); } }; template <class T> T* C<T>::held = nullptr;",
        "C<int>::held = p; C<int>::go();",
    ),
    (
        "inline static",
        "struct R { static inline std::vector<int*> all; static void clear() { for (int* q : all) cudaFree(q); all.clear(); } };",
        "R::all.push_back(p); R::clear();",
    ),
    ("optional value", "", "std::optional<int*> o; o = p; if (o.has_value()) cudaFree(o.value());"),
    (
        "local member pointer",
        "struct S { int* q; void m() { cudaFree(q); } };",
        "S s{p}; void (S::*f)() = &S::m; (s.*f)();",
    ),
    ("auto member pointer", "struct S { int* q; void m() { cudaFree(q); } };", "S s{p}; auto f = &S::m; (s.*f)();"),
    ("data member pointer", "struct S { int* q; };", "S s{p}; int* S::*f = &S::q; cudaFree(s.*f);"),
    ("function pointer table", "void a(int* q) { cudaFree(q); }", "void (*table[])(int*) = {a}; table[0](p);"),
    (
        "static lambda table",
        "",
        'static const std::map<std::string, void (*)(int*)> t = {{"free", [](int* q) { cudaFree(q); }}}; t.at("free")(p);',
    ),
    ("unique_ptr array", "", "auto f = [](int* q) { cudaFree(q); }; std::unique_ptr<int[], decltype(f)> u(p, f);"),
    ("deque", "", "std::deque<int*> d; d.push_front(p); cudaFree(d.front()); d.pop_front();"),
    (
        "move vector",
        "",
        "std::vector<int*> a{p}; auto b = std::move(a); for (int* q : b) cudaFree(q); for (int* q : a) cudaFree(q);",
    ),
    (
        "pair in vector",
        "",
        "std::vector<std::pair<int*, int>> v; v.emplace_back(p, 1); for (auto [q, n] : v) cudaFree(q);",
    ),
    ("ternary ref", "", "int* a = nullptr; int* b = nullptr; bool first = true; (first ? a : b) = p; cudaFree(a);"),
    ("comma", "", "for (int i = 0, *q = p; i < 1; ++i, q = nullptr) cudaFree(q);"),
    (
        "do once macro",
        "#define ONCE(x) do { static bool done = false; if (!done) { done = true; x; } } while (0)",
        "for (int i = 0; i < 3; ++i) ONCE(cudaFree(p));",
    ),
    ("exception rethrow", "", "try { try { throw 1; } catch (...) { cudaFree(p); throw; } } catch (int) {}"),
    (
        "virtual base call",
        "struct A { virtual void go(int* q) = 0; virtual ~A() {} }; struct B : A { void go(int* q) override { cudaFree(q); } }; struct C : B { void go(int* q) override { B::go(q); } };",
        "std::unique_ptr<A> a = std::make_unique<C>(); a->go(p);",
    ),
    (
        "crtp static",
        "template <class D> struct A { static void go(int* q) { D::impl(q); } }; struct B : A<B> { static void impl(int* q) { cudaFree(q); } };",
        "B::go(p);",
    ),
    ("concept-like", "template <class T> auto go(T q) -> decltype(cudaFree(q)) { return cudaFree(q); }", "go(p);"),
    ("operator()", "struct F { void operator()(int* q) const { cudaFree(q); } };", "F{}(p);"),
    (
        "conversion op bool",
        "struct H { int* q; explicit operator bool() const { return q != nullptr; } };",
        "H h{p}; if (h) cudaFree(h.q);",
    ),
    (
        "user range adaptors",
        "struct R { int** b; int n; int** begin() const { return b; } int** end() const { return b + n; } };",
        "int* a[1] = {p}; for (int* q : R{a, 1}) cudaFree(q);",
    ),
    ("std::begin", "", "int* a[1] = {p}; for (auto it = std::begin(a); it != std::end(a); ++it) cudaFree(*it);"),
    (
        "priority queue",
        "",
        "std::queue<std::pair<int, int*>> q; q.push({1, p}); while (!q.empty()) { auto [n, x] = q.front(); q.pop(); cudaFree(x); }",
    ),
    (
        "switch in lambda",
        "enum class E { a, b };",
        "auto f = [&](E e) { switch (e) { case E::a: return; case E::b: cudaFree(p); } }; f(E::b);",
    ),
    (
        "variant visit overloaded",
        "template <class... T> struct overloaded : T... { using T::operator()...; }; template <class... T> overloaded(T...) -> overloaded<T...>;",
        "std::variant<int, int*> v = p; std::visit(overloaded{[](int) {}, [](int* q) { cudaFree(q); }}, v);",
    ),
    (
        "holds_alternative",
        "",
        "std::variant<int, int*> v = p; if (std::holds_alternative<int*>(v)) cudaFree(std::get<int*>(v));",
    ),
    ("get_if", "", "std::variant<int, int*> v = p; if (auto* q = std::get_if<int*>(&v)) cudaFree(*q);"),
    (
        "nested class",
        "struct Outer { struct Inner { int* q; ~Inner() { cudaFree(q); } }; Inner make(int* x) { return Inner{x}; } };",
        "Outer o; auto i = o.make(p);",
    ),
    (
        "const ref temp",
        "struct A { int* q; ~A() { cudaFree(q); } }; A make(int* x) { return A{x}; }",
        "const A& a = make(p);",
    ),
    (
        "array new delete",
        "struct A { int* q = nullptr; ~A() { if (q) cudaFree(q); } };",
        "A* a = new A[2]; a[1].q = p; delete[] a;",
    ),
    (
        "make_unique array",
        "struct A { int* q = nullptr; ~A() { if (q) cudaFree(q); } };",
        "auto a = std::make_unique<A[]>(2); a[0].q = p;",
    ),
    (
        "weak lock",
        "",
        "auto a = std::make_shared<int*>(p); std::weak_ptr<int*> w = a; if (auto s = w.lock()) cudaFree(*s);",
    ),
    ("std::apply", "", "std::apply([](int* q, int) { cudaFree(q); }, std::make_tuple(p, 1));"),
    ("tie", "", "int* q; int n; std::tie(q, n) = std::make_pair(p, 3); cudaFree(q);"),
    (
        "accumulate lambda",
        "",
        "std::vector<int*> v{p}; std::accumulate(v.begin(), v.end(), 0, [](int n, int* q) { cudaFree(q); return n + 1; });",
    ),
    (
        "erase remove",
        "",
        "std::vector<int*> v{p, nullptr}; v.erase(std::remove(v.begin(), v.end(), nullptr), v.end()); cudaFree(v[0]);",
    ),
    (
        "map of vectors",
        "",
        "std::map<int, std::vector<int*>> m; m[3].push_back(p); for (auto& [k, v] : m) for (auto q : v) cudaFree(q);",
    ),
    ("extern template fn ptr", "using Fn = cudaError_t (*)(void*);", "Fn f = cudaFree; f(p);"),
    ("fn ref std::function", "", "std::function<cudaError_t(void*)> f = cudaFree; f(p);"),
    ("bind_front", "", "auto f = std::bind_front([](int* q, int) { cudaFree(q); }, p); f(1);"),
    ("lambda init capture", "", "auto f = [q = p]() mutable { cudaFree(q); q = nullptr; }; f();"),
    ("goto", "", "int n = 1; if (n) goto done; return 1; done: cudaFree(p);"),
]
"""name, declarations, and what frees `p`"""


@pytest.mark.parametrize(("before", "body"), [pytest.param(*row[1:], id=row[0]) for row in IDIOMS])
def test_memory_is_freed_once(before, body, tmp_path):
    text = f"#include <cuda_runtime.h>\n{before}\nint main() {{ int* p; cudaMalloc(&p, 4);\n  {body}\n}}\n"
    for world in reading_of(text, tmp_path).worlds:
        ops = kinds(operations(world))
        assert ops.count("FREE") == 1
        assert not {"NOT_UNDERSTOOD", "OPAQUE_CALL"} & set(ops)
