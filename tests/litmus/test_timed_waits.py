"""A wait for an event whose time is read is needed, also where all work before the record is known to be complete."""

from __future__ import annotations

from pathlib import Path

from expectations import check_text

PROGRAM = """#include <cuda_runtime.h>
#include <cstdio>
__global__ void work(float* p) { p[0] += 1.0f; }
int main() {
    float *p, ms, host;
    cudaMalloc(&p, 64);
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    cudaEventRecord(begin);
    work<<<1, 1>>>(p);
    cudaMemcpy(&host, p, 4, cudaMemcpyDeviceToHost);
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    %s
    cudaEventElapsedTime(&ms, begin, end);
    printf("%%f %%f", ms, host);
    cudaFree(p);
    return 0;
}
"""


def redundant_lines(text: str, folder: Path) -> list[int]:
    return [finding.location.line for finding in check_text(text, folder) if finding.code == "SS504"]


def test_the_only_wait_for_a_timed_event_is_needed(tmp_path: Path) -> None:
    assert redundant_lines(PROGRAM % "", tmp_path) == []


def test_a_second_wait_for_it_is_not(tmp_path: Path) -> None:
    second = 15
    assert redundant_lines(PROGRAM % "cudaEventSynchronize(end);", tmp_path) == [second]
