"""How kernels use the pointers that structures hold, passed by value."""

from __future__ import annotations

import pytest

from streamsan.cuda_syntax.tree import Function, Literal_, Span, Type
from streamsan.cuda_syntax.unit import read_text
from streamsan.kernels.behaviour import KernelBehaviours
from streamsan.kernels.flattening import Bound
from streamsan.kernels.uses import Use
from streamsan.vocabulary import SlotFlag

BEFORE = """
struct View { const float* in; float* out; int n; };
template <class T> struct Span {
    T* data; int n;
    __device__ T& operator[](int i) const { return data[i]; }
    __device__ T& at(int i) { assert(i < n); int k = i; return data[k]; }
    __device__ const T& at(int i) const { return data[i]; }
    __device__ void set(int i, T x) { if (i < n) data[i] = x; }
    __device__ T get(int i) const;
    __device__ T* begin() const { return data; }
    __device__ int size() const { return n; }
    __device__ bool holds(int i) const { return i < n; }
    __device__ Span tail(int k) const { return Span{data + k, n - k}; }
    __device__ T& any(int i) { if (i < n) return data[i]; return data[0]; }
    __device__ void turn() { float* t = data; data = t + 1; }
};
template <class T> __device__ T Span<T>::get(int i) const { return data[i]; }
namespace image {
struct Plane { float* p; int pitch; __device__ float& operator()(int x, int y) { return p[y * pitch + x]; } };
struct Image { Plane luma; Plane chroma[2]; float* rows[3]; };
}
struct Base { float* held; __device__ void clear(int i) { held[i] = 0; } };
struct Derived : Base { const int* index; };
typedef struct { float* a; float** deep; } Plain;
using Floats = Span<float>;
struct Made { float* p; int n; __device__ Made(float* q, int m) : p(q), n(m) {} };
union Either { float* f; int* i; };
__device__ void store(View v, int i) { v.out[i] = v.in[i]; }
__device__ void next(Span<float>& s) { s.data++; }
__device__ float first(const Span<float>& s) { return s[0]; }
template <class V> __device__ void wipe(V v, int i) { v.out[i] = 0; }
__device__ View shifted(View v, int k) { return View{v.in + k, v.out + k, v.n - k}; }
__device__ void by_pointer(View* v) { v->out[0] = v->in[0]; }
#define OUT(i) v.out[i]
#define AT(s, i) (s).data[i]
"""
I = "int i = blockIdx.x * blockDim.x + threadIdx.x; "  # noqa: E741


def uses(text: str, bound: Bound | None = None) -> dict[str, str]:
    """Return the modes; `!` marks what every launch surely touches, and "-" is what none does."""
    unit = read_text(f"{BEFORE}\n{text}")
    assert not unit.problems
    found = next(d for d in unit.declarations if isinstance(d, Function) and d.kernel)
    known = KernelBehaviours(unit).of(found, bound).uses
    return {name: _word(use) for name, use in known.items()}


def _word(use: Use | None) -> str:
    return "-" if use is None else use.mode.name + ("!" if use.flags & SlotFlag.TOUCHES else "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("View v) { %s if (i < v.n) v.out[i] = v.in[i]; }", {"v.in": "READ!", "v.out": "WRITE!"}),
        ("const View v) { v.out[0] += 1; }", {"v.in": "-", "v.out": "READ_WRITE!"}),
        ("Span<float> s, float* o) { %s if (i < s.size()) o[i] = s[i]; }", {"s.data": "READ!", "o": "WRITE!"}),
        ("Span<float> s) { %s if (s.holds(i)) s[i] = 1; }", {"s.data": "WRITE!"}),
        ("Span<const float> s, Floats o) { %s o[i] = s[i]; }", {"s.data": "READ!", "o.data": "WRITE!"}),
        ("Span<const float> s) { elsewhere(s); }", {"s.data": "READ"}),
        ("Span<float> s) { s.at(threadIdx.x) = 1; }", {"s.data": "WRITE"}),
        ("Span<float> s, float* o) { o[0] = s.at(threadIdx.x); }", {"s.data": "READ!", "o": "WRITE!"}),
        ("Span<float> s) { s.set(threadIdx.x, 1.0f); }", {"s.data": "WRITE!"}),
        ("Span<float> s, float* o) { o[0] = s.get(threadIdx.x); }", {"s.data": "READ!", "o": "WRITE!"}),
        ("Span<float> s) { s.tail(4)[0] = 1; }", {"s.data": "WRITE"}),
        ("Span<float> s) { for (auto& e : s) e = 1; }", {"s.data": "WRITE"}),
        ("Span<float> s, float* o) { for (float e : s) o[0] += e; }", {"s.data": "READ", "o": "READ_WRITE"}),
        ("Span<float> s) { float* p = s.begin(); p[0] = 1; }", {"s.data": "WRITE!"}),
        ("Span<float> s) { next(s); s[0] = 1; }", {"s.data": "WRITE"}),
        ("Span<float> s) { s.turn(); s[0] = 1; }", {"s.data": "WRITE"}),
        ("Span<float> s, float* o) { o[0] = first(s); }", {"s.data": "READ!", "o": "WRITE!"}),
        ("View v) { store(v, threadIdx.x); }", {"v.in": "READ!", "v.out": "WRITE!"}),
        ("View v) { wipe(v, threadIdx.x); }", {"v.in": "-", "v.out": "WRITE!"}),
        ("View v) { View w = v; w.out[0] = 1; }", {"v.in": "-", "v.out": "WRITE!"}),
        ("View v) { auto& w = v; const View* p = &w; p->out[0] = 1; }", {"v.in": "-", "v.out": "WRITE!"}),
        ("View v) { auto w = shifted(v, 4); w.out[0] = w.in[1]; }", {"v.in": "READ", "v.out": "WRITE"}),
        ("View v) { auto [in, out, n] = v; out[0] = in[0]; }", {"v.in": "READ!", "v.out": "WRITE!"}),
        ("View v) { by_pointer(&v); }", {"v.in": "READ!", "v.out": "WRITE!"}),
        ("View v) { auto f = [&](int i) { v.out[i] = 1; }; f(3); }", {"v.in": "-", "v.out": "WRITE"}),
        ("float* a, const float* b) { View v{b, a, 3}; store(v, 0); }", {"a": "WRITE!", "b": "READ!"}),
        ("float* a) { Span<float> s; s.data = a; s[0] = 1; }", {"a": "WRITE!"}),
        ("float* a) { Made m(a, 3); m.p[0] = 1; }", {"a": "WRITE!"}),
        (
            "image::Image m) { m.luma(threadIdx.x, 0) = m.chroma[1].p[0]; m.rows[0][3] = m.rows[2][0]; }",
            {
                **{"m.luma.p": "WRITE!", "m.chroma.0.p": "-", "m.chroma.1.p": "READ!"},
                **{"m.rows.0": "WRITE", "m.rows.1": "-", "m.rows.2": "READ!"},
            },
        ),
        ("Derived d) { d.clear(d.index[0]); }", {"d.held": "WRITE", "d.index": "READ!"}),
        ("Plain p) { atomicAdd(p.a, 1.0f); }", {"p.a": "READ_WRITE!", "p.deep": "OPAQUE"}),
    ],
)
def test_uses_of_fields(text: str, expected: dict[str, str]) -> None:
    assert uses(f"__global__ void k({text.replace('%s', I)}") == expected


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("Span<float> s) { elsewhere(s); }", "s.data"),
        ("Span<float> s) { elsewhere(&s); }", "s.data"),
        ("Span<float> s) { s.nowhere(3); }", "s.data"),
        ("Span<float> s) { s.any(3) = 1; }", "s.data"),
        ("Span<float> s) { AT(s, 3) = 1; }", "s.data"),
        ("View v) { OUT(3) = 1; }", "v.out"),
        ('View v) { asm volatile("st %0;" :: "l"(v.out)); }', "v.out"),
        ("View v) { g_view = v; }", "v.out"),
        ("View v) { View all[2]; all[0] = v; all[0].out[1] = 2; }", "v.out"),
        ("View v) { /* kernel code */ }", "v.out"),
        ("View v) { swap(v.out, other); }", "v.out"),
        ("View v) { auto f = [](View w) { w.out[0] = 1; }; f(v); }", "v.out"),
    ],
)
def test_what_is_not_followed_may_be_used_in_any_way(text: str, path: str) -> None:
    assert uses(f"__global__ void k({text}")[path] == "OPAQUE"


def test_each_plane_of_an_array_may_be_what_an_unknown_index_means() -> None:
    found = uses("__global__ void k(image::Image m, int j) { m.rows[j][0] = 1; m.chroma[j].p[0] = m.luma.p[0]; }")
    assert {name for name, mode in found.items() if mode == "WRITE"} == {
        *("m.rows.0", "m.rows.1", "m.rows.2", "m.chroma.0.p", "m.chroma.1.p")
    }


def test_a_union_is_not_followed() -> None:
    assert uses("__global__ void k(Either e, float* a) { e.f[0] = a[0]; }") == {"a": "READ!"}


def test_a_template_parameter_that_a_launch_binds() -> None:
    text = "template <class V, int N> __global__ void k(V v, int i) { if (i < N) v.out[i] = v.in[i]; }"
    place = Span("k.cu", 1, 1, 1, 1)
    assert uses(text) == {}
    assert uses(text, {"V": Type("View"), "N": Literal_(place, 3)}) == {"v.in": "READ", "v.out": "WRITE"}


def test_a_structure_that_holds_itself_by_pointer_ends() -> None:
    text = "struct Node { Node* next; float* x; }; __global__ void k(Node n) { n.x[0] = n.next->x[0]; }"
    assert uses(text)["n.x"] == "WRITE!"


def test_functions_that_call_themselves_end() -> None:
    text = (
        "__device__ void down(View v, int i) { if (i) down(v, i - 1); v.out[i] = 1; }\n"
        "__global__ void k(View v) { down(v, 9); }"
    )
    assert uses(text)["v.out"] in ("WRITE", "OPAQUE")
