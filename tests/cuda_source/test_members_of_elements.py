"""Kernels that touch members of structures behind a pointer: those that meet are reported, others are not."""

import pytest
from reading import loud

from streamsan import check

PROGRAM = """#include <cuda_runtime.h>
struct Place {{ float x, y; }};
struct Body {{ Place at; float speed; float trail[4]; unsigned kind : 4, flags : 12; short rank; }};
__global__ void moves(Body* b, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {{ {first} }}
}}
__global__ void looks(Body* b, float* out, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {{ {second} }}
}}
void step(Body* b, float* out, int n) {{
  cudaStream_t s, t;
  cudaStreamCreate(&s); cudaStreamCreate(&t);
  moves<<<(n + 127) / 128, 128, 0, s>>>(b, n);
  {between}
  looks<<<(n + 127) / 128, 128, 0, t>>>(b, out, n);
  cudaDeviceSynchronize();
  cudaStreamDestroy(s); cudaStreamDestroy(t);
}}
int main() {{
  Body* b; float* out; int n = {count};
  cudaMalloc(&b, n * sizeof(Body)); cudaMalloc(&out, n * sizeof(float));
  step(b, out, n);
  cudaFree(b); cudaFree(out);
}}
"""
WAIT = "cudaEvent_t e; cudaEventCreate(&e); cudaEventRecord(e, s); cudaStreamWaitEvent(t, e, 0); cudaEventDestroy(e);"
MEET = {
    "a member": ("b[i].speed *= 2;", "out[i] = b[i].speed;"),
    "a member of a member": ("b[i].at.y = 1;", "out[i] = b[i].at.y;"),
    "all of a member": ("b[i].at.y = 1;", "b[i].at = Place{1, 2};"),
    "all of an element": ("b[i].speed = 0;", "out[i] = 0; b[i] = Body();"),
    "by an arrow": ("(b + i)->speed = 0;", "out[i] = b[i].speed;"),
    "by a star": ("(*(b + i)).speed = 0;", "out[i] = b[i].speed;"),
    "in a condition": ("b[i].at.x += b[i].speed;", "out[i] = b[i].at.x < 0 ? -b[i].at.x : b[i].at.x;"),
    "counted up": ("b[i].at.y++;", "out[i] = b[i].at.y;"),
    "bit-fields beside each other": ("b[i].kind = 1;", "b[i].flags = 3;"),
    "read, then written": ("b[i].at.x += b[i].speed;", "b[i].speed = out[i];"),
}
APART = {
    "two members": ("b[i].at.x = 1;", "out[i] = b[i].at.y;"),
    "of one structure": ("b[i].at.x += b[i].at.y;", "out[i] = b[i].speed;"),
    "what stands behind bit-fields": ("b[i].kind = 1; b[i].flags = 3;", "out[i] = b[i].rank;"),
    "both are read": ("b[i].at.x += b[i].speed;", "out[i] = b[i].speed;"),
}
UNCLEAR = {
    "its address goes away": ("float* at = &b[i].speed; at[0] = 1;", "out[i] = b[i].speed;"),
    "an array": ("b[i].trail[i & 3] = 1;", "out[i] = b[i].trail[0];"),
    "on a condition": ("if (b[i].speed > 1) b[i].at.x = 1;", "out[i] = b[i].at.x;"),
}


def program(bodies, between="", count="4096"):
    first, second = bodies
    return PROGRAM.format(first=first, second=second, between=between, count=count)


@pytest.mark.parametrize("count", ["4096", "atoi(argv[1])"], ids=["known", "unknown"])
@pytest.mark.parametrize("bodies", MEET.values(), ids=MEET)
def test_the_same_member_is_a_race(tmp_path, bodies, count):
    text = program(bodies, count=count).replace("int main()", "int main(int argc, char** argv)")
    assert [each.code for each in loud(text, tmp_path)] == ["SS109"]


@pytest.mark.parametrize("bodies", MEET.values(), ids=MEET)
def test_an_ordered_one_is_none(tmp_path, bodies):
    assert loud(program(bodies, WAIT), tmp_path) == []


@pytest.mark.parametrize("bodies", APART.values(), ids=APART)
def test_other_members_are_none(tmp_path, bodies):
    path = tmp_path / "program.cu"
    path.write_text(program(bodies))
    assert [each.code for each in check([path]).findings if each.code == "SS109"] == []


@pytest.mark.parametrize("bodies", UNCLEAR.values(), ids=UNCLEAR)
def test_what_is_not_sure_is_a_note(tmp_path, bodies):
    path = tmp_path / "program.cu"
    path.write_text(program(bodies))
    assert {each.severity for each in check([path]).findings if each.code == "SS109"} <= {"note"}


MANAGED = """#include <cuda_runtime.h>
struct Settings {{ {members} }};
__global__ void kick(float* x, int n, const Settings* settings) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = {kernel};
}}
int main() {{
  Settings* settings; float* x; cudaStream_t s;
  cudaStreamCreate(&s); cudaMallocManaged(&settings, sizeof(Settings)); cudaMalloc(&x, 4096);
  for (int step = 0; step < 3; ++step) {{
    settings->step = step;
    kick<<<4, 256, 0, s>>>(x, 1024, settings);
    {wait}
  }}
  cudaStreamSynchronize(s); cudaFree(settings); cudaFree(x); cudaStreamDestroy(s);
}}
"""
DATA = {"members": "int step, gain, offset;", "kernel": "settings->gain * x[i] + settings->step + settings->offset"}
FLAG = {"members": "int step, stop;", "kernel": "settings->stop ? 0 : settings->step"}


@pytest.mark.parametrize(
    ("parts", "wait", "codes"),
    [(DATA, "", ["SS108"]), (DATA, "cudaStreamSynchronize(s);", []), (FLAG, "", [])],
    ids=["wrong", "right", "may be a flag"],
)
def test_the_host_writes_what_a_kernel_takes(tmp_path, parts, wait, codes):
    assert [each.code for each in loud(MANAGED.format(**parts, wait=wait), tmp_path)] == codes
