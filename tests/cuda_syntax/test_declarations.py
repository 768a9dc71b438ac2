"""Functions, classes, templates, namespaces."""

from __future__ import annotations

import pytest
from notation import find, kind, note

from streamsan.cuda_syntax.tree import Alias, Class, Enum, Function, UsingNamespace, Variable
from streamsan.cuda_syntax.unit import read_text

CASES = [
    ("int f(int a, float* b = nullptr);", ["function int f(int a, float* b)"]),
    ("float* f(int (&a)[4], void (*g)(int));", ["function float* f(int&[4] a, void() g)"]),
    ("auto f() -> int*;", ["function int* f()"]),
    ("namespace a::b { int f(); namespace { int g(); } }", ["function int a::b::f()", "function int a::b::g()"]),
    ("inline namespace v1 { int f(); }", ["function int f()"]),
    ('extern "C" { int f(); }', ["function int f()"]),
    ('extern "C" int f();', ["function int f()"]),
    ("B::~B() { }", ["function  B::~B()"]),
    ("template <class T> void A<T>::f(T x) { }", ["function void A::f(T x)"]),
    ("B::operator bool() const { return 1; }", ["function bool B::operator bool()"]),
    ("typedef float real, *pointer;", ["alias real = float", "alias pointer = float*"]),
    ("typedef void (*callback)(int);", ["alias callback = void()"]),
    ("using namespace std; using std::vector;", ["using std", "using std::vector"]),
    ("namespace fs = std::filesystem;", ["alias fs = std::filesystem"]),
    (
        "__device__ float a[4]; __constant__ int b; __managed__ int c;",
        ["device float a[4]", "constant int b", "managed int c"],
    ),
    ("static int a; extern int b; constexpr int c = 3;", ["static int a", "extern int b", "const int c = 3"]),
    ("Buffer b(n, s);", ["maybe_function Buffer b(n, s)"]),
    ("struct S; enum E { a, b = 2 };", ["enum E"]),
    ("typedef struct { int x; } S;", ["class <unnamed 1:9>", "alias S = <unnamed 1:9>"]),
    ("struct S { } s;", ["class S", "S s"]),
    ("template <typename T> constexpr T pi = T(3);", ["const T pi = T(3)"]),
    ("static_assert(sizeof(int) == 4); template class A<int>;", []),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_declaration(text: str, expected: list[str]) -> None:
    unit = read_text(text)
    assert [note(d) for d in unit.declarations] == expected
    assert unit.problems == []
    assert not unit.fragment


def function(text: str, name: str) -> Function:
    found = find(read_text(text), name)
    assert isinstance(found, Function)
    return found


def test_kernel() -> None:
    text = "template <typename T, int N> __global__ void __launch_bounds__(128, 2) k(const T* __restrict__ p) { g(p); }"
    k = function(text, "k")
    assert k.kernel
    assert not k.device_only
    assert [(p.name, kind(p.type)) for p in k.templates] == [("T", "typename"), ("N", "int")]
    assert kind(k.parameters[0].type) == "const T*"
    assert k.body is not None
    assert note(k.body) == "{g(p)}"


@pytest.mark.parametrize(
    ("text", "device_only"),
    [("__device__ int f();", True), ("__host__ __device__ int f();", False), ("int f();", False)],
)
def test_device_only(text: str, device_only: bool) -> None:
    assert function(text, "f").device_only is device_only


def test_specialization_and_variadic() -> None:
    f = function("template <> void f<int>(int x, ...) { }", "f")
    assert [kind(a) for a in f.specialization] == ["int"]  # type: ignore[arg-type]
    assert f.variadic


CLASS = """
template <typename T> struct B : public A<T>, C {
  B(size_t n, cudaStream_t s) : C(1), n_(n), s_{s} { cudaMalloc(&p, n); }
  B(const B&) = delete;
  ~B() = default;
  float* operator()(int i) const;
  B& operator=(B&& o);
  operator T*() const { return p; }
  virtual void g() = 0;
  static int count;
  float *p = nullptr, *q{nullptr};
  size_t n_;
  enum class E : int { a = 1, b };
  using X = int;
  struct Inner { int z; };
  union { int i; float f; };
  template <typename U> void h(U u) { }
 private:
  cudaStream_t s_;
  friend void other(B& b) { }
};
"""


def test_class() -> None:
    unit = read_text(CLASS)
    assert unit.problems == []
    b = find(unit, "B")
    assert isinstance(b, Class)
    assert [kind(base) for base in b.bases] == ["A<T>", "C"]
    assert [f.name for f in b.fields] == ["count", "p", "q", "n_", "", "s_"]
    assert [note(f.initializer) for f in b.fields] == ["-", "nullptr", "{nullptr}", "-", "-", "-"]
    names = [m.name for m in b.methods]
    assert names[:7] == ["B::B", "B::B", "B::~B", "B::operator()", "B::operator=", "B::operator T*", "B::g"]
    assert "B::h" in names
    constructor, copied, destructor = b.methods[:3]
    assert constructor.constructor
    assert [(n, [note(a) for a in given], braced) for n, given, braced in constructor.initializers] == [
        ("C", ["1"], False),
        ("n_", ["n"], False),
        ("s_", ["s"], True),
    ]
    assert copied.deleted
    assert destructor.destructor
    assert destructor.defaulted
    assert b.methods[6].virtual
    nested = {type(n): n for n in b.nested}
    assert isinstance(nested[Enum], Enum)
    assert nested[Enum].scoped
    assert isinstance(nested[Alias], Alias)
    assert any(isinstance(n, Class) and n.name == "B::Inner" for n in b.nested)
    assert any(isinstance(n, Class) and n.union for n in b.nested)


def test_declarations_keep_the_order_of_text() -> None:
    unit = read_text("int a; void f(); struct S {}; using namespace x; int b;")
    assert [type(d) for d in unit.declarations] == [Variable, Function, Class, UsingNamespace, Variable]


def test_bodies_are_lowered_when_read() -> None:
    f = function("void f() { g(); }", "f")
    assert f.body is not None
    assert f.body._lower is not None
    assert len(f.body.body) == 1
    assert f.body._lower is None
    assert f.body.body is f.body.body


def test_test_macros_are_functions_of_their_own() -> None:
    unit = read_text("TEST(Suite, One) { cudaFree(p); }\nTEST(Suite, Two) { }")
    assert [d.name for d in unit.declarations if isinstance(d, Function)] == ["TEST(Suite, One)", "TEST(Suite, Two)"]
