"""Whatever the text, a unit comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from streamsan.cuda_syntax.tree import Unit
from streamsan.cuda_syntax.unit import read_text

SOURCE = """
#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { report(#call); exit(1); } } while (0)
#if CUDART_VERSION >= 12000
template <typename T> __global__ void scale(const T* in, T* out, int n) { int i = threadIdx.x; if (i < n) out[i] = in[i]; }
#endif
struct Buffer { Buffer(size_t n, cudaStream_t s) : s_(s) { cudaMallocAsync(&p, n, s); } ~Buffer() { cudaFreeAsync(p, s_); }
  float* p = nullptr; cudaStream_t s_; };
int main() {
  cudaStream_t s[2]; for (auto& x : s) CHECK(cudaStreamCreate(&x));
  Buffer b(1 << 20, s[0]); auto f = [&](int k) { scale<float><<<dim3(1), 256, 0, s[k]>>>(b.p, b.p, k); };
  if (auto e = cudaGetLastError(); e != cudaSuccess) return 1; else switch (e) { case 1: f(1); break; default: f(0); }
  std::thread t([&] { cudaDeviceSynchronize(); }); t.join(); return "done"[0] + 'x' + 0x1p3f;
}
"""  # noqa: E501


def nodes(unit: Unit) -> int:
    """Reads the whole tree, so that lazy bodies are lowered."""
    pending: list[object] = [unit]
    count = 0
    while pending:
        node = pending.pop()
        count += 1
        if isinstance(node, Struct):
            pending.extend(getattr(node, name) for name in node.__struct_fields__ if name != "_lower")
        elif isinstance(node, list | tuple):
            pending.extend(node)
        elif isinstance(node, dict):
            pending.extend(node.values())
    return count


def test_the_source_is_sound() -> None:
    unit = read_text(SOURCE)
    assert unit.problems == []
    assert nodes(unit) > 1000


FEW = settings(max_examples=40, deadline=None)
MANY = settings(max_examples=400, deadline=None)


def survives_text(text: str) -> None:
    assert nodes(read_text(text)) > 0


TOKENS = st.sampled_from(
    "( ) { } [ ] < > <<< >>> ; , . -> :: : ? = + * & && ! ~ # ## ... if else for while do switch case return struct class "  # noqa: E501, SIM905
    "template typename namespace operator new delete auto int float x y CHECK __global__ __device__ [[ ]] \" ' \\ \n "
    '1 0x 1.5f #if #endif #else #define X(a) a#a /* */ // R"( )"'.split(" ")
)


def survives_tokens(tokens: list[str]) -> None:
    assert nodes(read_text(" ".join(tokens))) > 0


def survives_deletions(cuts: list[tuple[int, int]]) -> None:
    text = SOURCE
    for at, length in cuts:
        text = text[:at] + text[at + length :]
    assert nodes(read_text(text)) > 0


TEXTS = st.text(max_size=300)
TOKEN_LISTS = st.lists(TOKENS, max_size=80)
CUTS = st.lists(st.tuples(st.integers(0, len(SOURCE)), st.integers(1, 30)), min_size=1, max_size=4)


@pytest.mark.parametrize("search", [pytest.param(FEW, id="few"), pytest.param(MANY, id="many", marks=pytest.mark.deep)])
@pytest.mark.parametrize(
    ("inputs", "survives"),
    [
        pytest.param(TEXTS, survives_text, id="text"),
        pytest.param(TOKEN_LISTS, survives_tokens, id="tokens"),
        pytest.param(CUTS, survives_deletions, id="deletions"),
    ],
)
def test_any_input_becomes_a_unit(
    inputs: st.SearchStrategy[Any], survives: Callable[[Any], None], search: settings
) -> None:
    @search
    @given(inputs)
    def searched(each: Any) -> None:
        survives(each)

    searched()


@pytest.mark.parametrize(
    "unit_text",
    [
        "(",
        "{",
        "[",
        "<",
        "*p",
        "-",
        "!",
        "a?",
        "if(x)",
        "if(x){",
        "a+",
        "f(",
        "x=",
        "(int)",
        "a.b().",
        "namespace a{",
        "do ",
        "struct A{",
        "#if 1\n",
        "/*",
        '"',
        '"\\',
        "else if(x)",
        "}",
        "case 1:",
        "vector<",
        "[&]{",
        "X(x) ",
        "...",
        "\\\n",
    ],
)
@pytest.mark.parametrize("around", ["{}", pytest.param("void f() {{ {} }}", marks=pytest.mark.deep)])
def test_thousands_of_the_same(unit_text: str, around: str) -> None:
    unit = read_text(around.format(unit_text * 2000))
    assert nodes(unit) > 0


@pytest.mark.parametrize(("opening", "closing"), [("(", ")"), ("{", "}"), ("[", "]")])
def test_deep_nesting_is_given_up_politely(opening: str, closing: str) -> None:
    unit = read_text("void f() { x = " + opening * 10_000 + "1" + closing * 10_000 + "; }\nvoid g() { h(); }")
    nodes(unit)
    assert any("nested too deeply" in p.text for p in unit.problems)
    assert "g" in [getattr(d, "name", "") for d in unit.declarations]


def test_long_chains() -> None:
    unit = read_text(f"void f() {{ x = {'a() + ' * 5000}1; if (x) y(); {'else if (x) y(); ' * 5000} }}\nvoid g() {{}}")
    nodes(unit)
    assert [getattr(d, "name", "") for d in unit.declarations] == ["f", "g"]


def test_empty() -> None:
    assert read_text("").declarations == []
