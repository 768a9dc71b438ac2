"""Semaphores, latches and barriers: who waits for whom, and what comes first when a thread lets main go on."""

from __future__ import annotations

import pytest
from reading import kinds, loud, operations, reading_of

HEAD = """#include <cuda_runtime.h>
#include <barrier>
#include <future>
#include <latch>
#include <semaphore>
#include <thread>
#include <vector>
__global__ void make(int* out, int n) { int i = threadIdx.x; if (i < n) out[i] = i; }
__global__ void use(const int* in, int n, int* sum) { int i = threadIdx.x; if (i < n) atomicAdd(sum, in[i]); }
"""
MAIN = """int main() {
  int *d, *sum; cudaMalloc(&d, 1024); cudaMalloc(&sum, 4); cudaMemset(sum, 0, 4); cudaMemset(d, 0, 1024);
  cudaStream_t s, p; cudaEvent_t made;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking); cudaStreamCreateWithFlags(&p, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&made, cudaEventDisableTiming);
  cudaDeviceSynchronize();
  OBJECT
  std::thread maker([&] { make<<<1, 256, 0, s>>>(d, 256); BODY });
  WAIT
  cudaStreamWaitEvent(p, made, 0);
  use<<<1, 256, 0, p>>>(d, 256, sum);
  maker.join();
  cudaStreamSynchronize(s); cudaStreamSynchronize(p);
  cudaFree(d); cudaFree(sum);
}
"""
RECORD = "cudaEventRecord(made, s);"
WAYS = {
    "a latch": ("std::latch ready(1);", "ready.count_down();", "ready.wait();"),
    "a semaphore": ("std::binary_semaphore ready(0);", "ready.release();", "ready.acquire();"),
    "a counting semaphore": ("std::counting_semaphore<8> ready{0};", "ready.release(2);", "ready.acquire();"),
    "a barrier": ("std::barrier<> ready(2);", "(void)ready.arrive();", "ready.arrive_and_wait();"),
    "a promise": ("std::promise<void> ready; auto done = ready.get_future();", "ready.set_value();", "done.wait();"),
}


def said(program: str, folder) -> list[tuple[str, str]]:
    return [(each.code, each.severity) for each in loud(HEAD + program, folder)]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_main_may_go_on_before_the_thread_that_let_it(way, tmp_path):
    made, tells, waits = way
    program = MAIN.replace("OBJECT", made).replace("WAIT\n", f"{waits}\n")
    assert said(program.replace("BODY", f"{tells} {RECORD}"), tmp_path) == [("SS109", "error")]
    assert said(program.replace("BODY", f"{RECORD} {tells}"), tmp_path) == []


def test_a_thread_waits_for_a_place_that_main_gives_back(tmp_path):
    body = """float* d; cudaMalloc(&d, 4); std::counting_semaphore<2> places(1);
    std::thread t([&] { for (int i = 0; i < 2; ++i) { places.acquire(); cudaMemset(d, i, 4); } });
    cudaDeviceSynchronize(); places.release(); t.join(); cudaFree(d);"""
    for world in reading_of(f"int main() {{ {body} }}", tmp_path).worlds:
        ops = operations(world)
        assert kinds(ops).count("MEMSET") == 2
        assert "NOT_UNDERSTOOD" not in kinds(ops)


def test_threads_that_meet_again_and_again(tmp_path):
    body = """float* d; cudaMalloc(&d, 4); std::barrier<> together(3); std::vector<std::thread> team;
    for (int k = 0; k < 3; ++k) team.emplace_back([&, k] {
      for (int i = 0; i < 2; ++i) { cudaMemset(d, 10 * i + k, 4); together.arrive_and_wait(); }
    });
    for (auto& each : team) each.join();
    cudaFree(d);"""
    for world in reading_of(f"int main() {{ {body} }}", tmp_path).worlds:
        ops = operations(world)
        threads = [op.thread for op in ops if op.kind == "MEMSET"]
        assert len(threads) == 6
        assert len(set(threads[:3])) == len(set(threads[3:])) == 3, "all of a round before any of the next"
        assert "NOT_UNDERSTOOD" not in kinds(ops)


def test_a_count_that_is_not_known_lets_all_pass(tmp_path):
    body = """float* d; cudaMalloc(&d, 4); int n = count_of_threads(); std::latch ready(n);
    std::thread t([&] { ready.wait(); cudaMemset(d, 0, 4); }); t.join(); cudaFree(d);"""
    for world in reading_of(f"int main() {{ {body} }}", tmp_path).worlds:
        assert "MEMSET" in kinds(operations(world))
