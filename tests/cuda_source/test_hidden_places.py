"""Wrong uses in places that a reader may miss: each is found there, and its right twin is not reported."""

from __future__ import annotations

import pytest

import streamsan
from streamsan import Severity

HEAD = """#include <cuda_runtime.h>
#include <cstdio>
#include <utility>
__global__ void fill(float* p, int n) { p[threadIdx.x] = n; }
"""
DOWNLOAD = "fill<<<1, 64, 0, s>>>(d, 64); cudaMemcpyAsync(h, d, 256, cudaMemcpyDeviceToHost, s);"
WAIT = "cudaStreamSynchronize(s);"
MADE = "float *d, *h; cudaStream_t s; cudaStreamCreate(&s); cudaMalloc(&d, 256); cudaMallocHost(&h, 256);"
GONE = "cudaStreamSynchronize(s); cudaFreeHost(h); cudaFree(d); cudaStreamDestroy(s);"
GET = f"float get(float* h, float* d, cudaStream_t s) {{ {DOWNLOAD} WAIT return h[0]; }}"
OWNER = (
    f"float *d, *h; cudaStream_t s; Owner() {{ {MADE.partition('; ')[2].partition('; ')[2]} }} ~Owner() {{ {GONE} }}"
)

PLACES = {
    "another name of a namespace": f"""
namespace company {{ namespace io {{ {GET} }} }}
namespace gpu = company::io;
int main() {{ {MADE} printf("%f", gpu::get(h, d, s)); {GONE} }}""",
    "another name of another name": f"""
namespace company {{ namespace io {{ {GET} }} namespace in = io; }}
namespace gpu = company::in;
int main() {{ {MADE} printf("%f", gpu::get(h, d, s)); {GONE} }}""",
    "another name of a class": f"""
namespace io {{ struct Copier {{ static {GET} }}; }}
using Mover = io::Copier;
int main() {{ {MADE} printf("%f", Mover::get(h, d, s)); {GONE} }}""",
    "another name of a class template": f"""
template <class T> struct Copier {{ static {GET} }};
template <class T> using Mover = Copier<T>;
int main() {{ {MADE} printf("%f", Mover<float>::get(h, d, s)); {GONE} }}""",
    "a friend that the class defines": f"""
class Owner {{ public: {OWNER}
  friend float first(Owner& owner) {{ return owner.get(); }}
  float get() {{ {DOWNLOAD} WAIT return h[0]; }} }};
int main() {{ Owner owner; printf("%f", first(owner)); }}""",
    "a friend of a class template": f"""
template <class T> struct Owner {{ {OWNER}
  friend T first(const Owner& o) {{ cudaStream_t s = o.s; T *h = o.h, *d = o.d; {DOWNLOAD} WAIT return h[0]; }} }};
int main() {{ Owner<float> owner; printf("%f", first(owner)); }}""",
}

KERNEL_PARAMETERS = {
    "a kernel": "template <void (*K)(float*, int)> void run(float* d, cudaStream_t s) { K<<<1, 64, 0, s>>>(d, 64); }",
    "any value": "template <auto K> void run(float* d, cudaStream_t s) { K<<<1, 64, 0, s>>>(d, 64); }",
    "a function": """
template <void (*F)(float*, int, cudaStream_t)> void pass(float* d, cudaStream_t s) { F(d, 64, s); }
void go(float* d, int n, cudaStream_t s) { fill<<<1, 64, 0, s>>>(d, n); }
template <void (*F)(float*, int)> void run(float* d, cudaStream_t s) { pass<go>(d, s); }""",
    "a class's": """
template <void (*K)(float*, int)> struct Run {
  void operator()(float* d, cudaStream_t s) { K<<<1, 64, 0, s>>>(d, 64); } };
template <void (*K)(float*, int)> void run(float* d, cudaStream_t s) { Run<K> call; call(d, s); }""",
}
"""Templates whose parameter is what is launched or called."""
TWO_STREAMS = """
int main() {
  float* d; cudaStream_t s, t; cudaStreamCreate(&s); cudaStreamCreate(&t); cudaMalloc(&d, 256);
  run<fill>(d, t); WAIT
  cudaMemsetAsync(d, 0, 256, s);
  cudaDeviceSynchronize(); cudaFree(d); cudaStreamDestroy(s); cudaStreamDestroy(t); }"""


def found(text: str, folder, wait: str) -> tuple[list[tuple[str, Severity]], bool]:
    """Return the findings of a program, notes of waits aside, and whether all of it was read."""
    source = folder / "program.cu"
    source.write_text(HEAD + text.replace("WAIT", wait))
    report = streamsan.check(source, fixes=False)
    findings = [(each.code, each.severity) for each in report.findings if not each.code.startswith("SS5")]
    return findings, not report.unread


@pytest.mark.parametrize("place", PLACES)
def test_a_wrong_use_is_found(place, tmp_path):
    assert found(PLACES[place], tmp_path, "") == ([("SS108", Severity.ERROR)], True)


@pytest.mark.parametrize("place", PLACES)
def test_its_right_twin_is_not_reported(place, tmp_path):
    assert found(PLACES[place], tmp_path, WAIT) == ([], True)


@pytest.mark.parametrize("parameter", KERNEL_PARAMETERS)
def test_a_template_launches_the_kernel_that_it_is_given(parameter, tmp_path):
    text = KERNEL_PARAMETERS[parameter] + TWO_STREAMS
    assert found(text, tmp_path, "") == ([("SS109", Severity.ERROR)], True)
    assert found(text, tmp_path, "cudaStreamSynchronize(t);") == ([], True)


SPECIALISED = f"""
template <bool B> void finish(cudaStream_t) {{}}
template <> void finish<true>(cudaStream_t s) {{ {WAIT} }}
int main() {{ {MADE} {DOWNLOAD} finish<WAIT>(s); printf("%f", h[0]); {GONE} }}"""


def test_the_specialisation_of_a_function_is_called_for_its_arguments_only(tmp_path):
    wrong, _ = found(SPECIALISED, tmp_path, "false")
    assert wrong == [("SS108", Severity.ERROR)]
    assert found(SPECIALISED, tmp_path, "true") == ([], True)


def test_a_static_method_knows_the_template_arguments_of_its_class(tmp_path):
    policy = f"""
template <bool B> struct Finish {{ static void run(cudaStream_t s) {{ if (B) {WAIT} }} }};
int main() {{ {MADE} {DOWNLOAD} Finish<WAIT>::run(s); printf("%f", h[0]); {GONE} }}"""
    assert found(policy, tmp_path, "false")[0] == [("SS108", Severity.ERROR)]
    assert found(policy, tmp_path, "true") == ([], True)


LIBRARIES = {
    "parameters": GET,
    "a handle": """
struct Handle { float *d, *h; cudaStream_t s; };
extern "C" float get(Handle* c) {
  fill<<<1, 64, 0, c->s>>>(c->d, 64); cudaMemcpyAsync(c->h, c->d, 256, cudaMemcpyDeviceToHost, c->s); WAITC
  return c->h[0]; }""".replace("WAITC", "cudaStream_t s = c->s; WAIT"),
    "members of a class": f"""
class Filter {{ float *d, *h; cudaStream_t s; public: Filter(); float get(); }};
float Filter::get() {{ {DOWNLOAD} WAIT return h[0]; }}""",
}
"""Code without `main`: whether the caller's memory is pinned nobody knows, so what it is read for is a note."""


@pytest.mark.parametrize("library", LIBRARIES)
def test_memory_of_an_unknown_caller_is_read_before_the_copy_is_complete(library, tmp_path):
    assert found(LIBRARIES[library], tmp_path, "") == ([("SS108", Severity.NOTE)], True)
    assert found(LIBRARIES[library], tmp_path, WAIT) == ([], True)


def test_a_kernel_may_meet_the_host_in_memory_of_an_unknown_caller(tmp_path):
    polled = 'void run(float* p, cudaStream_t s) { fill<<<1, 64, 0, s>>>(p, 64); printf("%f", p[0]); }'
    assert found(polled, tmp_path, "") == ([], True)
