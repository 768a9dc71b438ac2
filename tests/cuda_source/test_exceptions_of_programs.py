"""A program that catches its own exception in a loop and goes on must be right when it is thrown."""

from __future__ import annotations

import pytest
from reading import loud

from streamsan import check

PROGRAM = """#include <cuda_runtime.h>
#include <stdexcept>
struct BadFrame : std::runtime_error {{ using std::runtime_error::runtime_error; }};
__global__ void brighten(const float* in, float* out) {{ out[threadIdx.x] = 2 * in[threadIdx.x]; }}
void judge(const float* in) {{
    float sum = 0;
    for (int i = 0; i < 64; ++i) sum += in[i];
    if (sum > 100) throw {thrown};
}}
int main() {{
    float *in, *out; cudaMallocHost(&in, 256); cudaMalloc(&out, 256);
    cudaStream_t s; cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    int bad = 0;
    for (int frame = 0; frame < 4; ++frame) {{
        for (int i = 0; i < 64; ++i) in[i] = frame;
        try {{
            brighten<<<1, 64, 0, s>>>(in, out);
            judge(in);
            cudaStreamSynchronize(s);
        }} {handlers}
    }}
    cudaStreamSynchronize(s);
    cudaStreamDestroy(s); cudaFree(out); cudaFreeHost(in);
    return bad;
}}
"""
OWN = 'BadFrame("bad")'


def test_the_handler_must_wait_as_well(tmp_path):
    wrong = PROGRAM.format(thrown=OWN, handlers="catch (const BadFrame&) { ++bad; }")
    assert [finding.code for finding in loud(wrong, tmp_path)] == ["SS108"]
    right = PROGRAM.format(thrown=OWN, handlers="catch (const BadFrame&) { ++bad; cudaStreamSynchronize(s); }")
    assert not loud(right, tmp_path)


@pytest.mark.parametrize(
    ("thrown", "handlers"),
    [
        ('std::runtime_error("bad")', "catch (const std::exception&) { ++bad; }"),
        (OWN, "catch (const std::bad_alloc&) { ++bad; } catch (const BadFrame&) { ++bad; cudaStreamSynchronize(s); }"),
    ],
)
def test_what_may_be_no_outcome_but_a_failure_is_a_note(thrown, handlers, tmp_path):
    text = PROGRAM.format(thrown=thrown, handlers=handlers)
    assert not loud(text, tmp_path)
    assert "SS108" in {finding.code for finding in check([tmp_path / "program.cu"]).findings}


def test_a_handler_that_ends_the_loop_goes_on_from_nothing(tmp_path):
    assert not loud(PROGRAM.format(thrown=OWN, handlers="catch (const BadFrame&) { break; }"), tmp_path)
