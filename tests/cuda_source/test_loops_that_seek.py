"""Loops without calls of CUDA whose result calls depend on: which slot is free, or the oldest one."""

from __future__ import annotations

import pytest
from reading import loud

PROGRAM = """#include <cuda_runtime.h>
__global__ void use(float* p) { p[threadIdx.x] += 1; }
struct Slot { float* memory; cudaEvent_t loaded, used; long tick; int owner; };
struct Cache {
    Slot slots[3];
    long clock = 0;
    Cache() {
        for (auto& s : slots) {
            cudaMalloc(&s.memory, 4096);
            cudaEventCreate(&s.loaded);
            cudaEventCreate(&s.used);
            s.tick = 0;
            s.owner = -1;
        }
    }
    int pick(int owner) {
        SEEK
    }
};
int main() {
    cudaStream_t copies, work;
    cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking);
    Cache cache;
    for (int round = 0; round < 7; ++round) {
        Slot& s = cache.slots[cache.pick(round % 5)];
        s.tick = ++cache.clock;
        s.owner = round % 5;
        cudaStreamWaitEvent(copies, s.WAITED, 0);
        cudaMemsetAsync(s.memory, 0, 4096, copies);
        cudaEventRecord(s.loaded, copies);
        cudaStreamWaitEvent(work, s.loaded, 0);
        use<<<1, 256, 0, work>>>(s.memory);
        cudaEventRecord(s.used, work);
    }
    cudaDeviceSynchronize();
}
"""
SEEKS = {
    "the oldest": "int at = 0; for (int i = 1; i < 3; ++i) if (slots[i].tick < slots[at].tick) at = i; return at;",
    "the oldest, chosen": "int at = 0; "
    "for (int i = 1; i < 3; ++i) at = slots[i].tick < slots[at].tick ? i : at; return at;",
    "its own, or the oldest": "int at = -1, old = 0; "
    "for (int i = 0; i < 3; ++i) { if (slots[i].owner == owner) at = i; "
    "if (slots[i].tick < slots[old].tick) old = i; } return at >= 0 ? at : old;",
    "going on while": "int at = 0; while (at < 2 && slots[at].tick > slots[at + 1].tick) ++at; return at;",
    "a count": "int n = 0; for (int i = 0; i < 3; ++i) n += slots[i].tick > 0; return n == 3 ? owner % 3 : n;",
    "the next power": "int n = 1, at = 0; while (n <= clock) { n *= 2; at = (at + 1) % 3; } return at;",
}


@pytest.mark.parametrize("seek", SEEKS.values(), ids=SEEKS)
@pytest.mark.parametrize(("waited", "found"), [("used", False), ("loaded", True)])
def test_what_a_loop_finds_is_known(tmp_path, seek, waited, found):
    program = PROGRAM.replace("SEEK", seek).replace("WAITED", waited)
    assert [each.code for each in loud(program, tmp_path)] == ["SS109"] * found
