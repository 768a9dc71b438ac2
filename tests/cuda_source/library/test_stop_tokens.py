"""std::jthread and stop tokens: a worker goes on until it is asked to end, which its destructor does."""

from __future__ import annotations

import pytest
from reading import loud

PROGRAM = """#include <cuda_runtime.h>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
__global__ void use(const int* in, int* out) {{ out[threadIdx.x] += in[threadIdx.x]; }}
struct Writer {{
    std::mutex mutex;
    std::condition_variable_any condition;
    std::deque<int*> work;
    std::atomic<int> done{{0}};
    {members}
    void put(int* p) {{ {{ std::lock_guard<std::mutex> lock(mutex); work.push_back(p); }} condition.notify_one(); }}
    void write(int* p) {{ for (int i = 0; i < 256; ++i) p[i] = i; done.fetch_add(1); }}
}};
int main() {{
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    int *host, *in, *out;
    cudaMallocHost(&host, 1024);
    cudaMalloc(&in, 1024);
    cudaMalloc(&out, 1024);
    cudaMemsetAsync(out, 0, 1024, s);
    {{
        Writer writer;
        {begin}
        for (int round = 0; round < 10; ++round) {{
            writer.put(host);
            while (writer.done.load() <= round) std::this_thread::yield();
            cudaMemcpyAsync(in, host, 1024, cudaMemcpyHostToDevice, s);
            use<<<1, 256, 0, s>>>(in, out);
            {wait}
        }}
        {end}
    }}
    cudaStreamSynchronize(s);
    cudaFree(in);
    cudaFree(out);
    cudaFreeHost(host);
    cudaStreamDestroy(s);
}}
"""
TAKE = "int* p = work.front(); work.pop_front(); lock.unlock(); write(p);"
WAITS = (
    "void run(std::stop_token stop) { while (true) { std::unique_lock<std::mutex> lock(mutex); "
    f"condition.wait(lock, stop, [&] {{ return !work.empty(); }}); if (stop.stop_requested()) return; {TAKE} }} }}"
)
ASKS = (
    "void run(std::stop_token stop) { while (!stop.stop_requested()) { std::unique_lock<std::mutex> lock(mutex); "
    f"if (work.empty()) {{ lock.unlock(); std::this_thread::yield(); continue; }} {TAKE} }} }}"
)
WORKERS = {
    "a member that waits": (
        f"{WAITS} std::jthread worker{{[this](std::stop_token stop) {{ run(stop); }}}};",
        "",
        "",
    ),
    "a member that asks": (f"{ASKS} std::jthread worker{{[this](std::stop_token stop) {{ run(stop); }}}};", "", ""),
    "a variable": (ASKS, "std::jthread worker([&](std::stop_token stop) { writer.run(stop); });", ""),
    "a source of its own": (
        WAITS,
        "std::stop_source source; std::thread worker([&, stop = source.get_token()] { writer.run(stop); });",
        "source.request_stop(); worker.join();",
    ),
}


@pytest.mark.parametrize("worker", WORKERS.values(), ids=WORKERS)
@pytest.mark.parametrize(("wait", "found"), [("cudaStreamSynchronize(s);", False), ("", True)])
def test_a_worker_goes_on_until_it_is_asked_to_end(tmp_path, worker, wait, found):
    members, begin, end = worker
    program = PROGRAM.format(members=members, begin=begin, wait=wait, end=end)
    assert [each.code for each in loud(program, tmp_path)] == ["SS108"] * found


MAILBOX = """#include <cuda_runtime.h>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
constexpr int n = 1 << 16;
__global__ void fill(int* b, int v) {{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) b[i] = v; }}
__global__ void use(const int* b, int* o) {{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) o[i] += b[i]; }}
struct Slot {{ int* data; cudaEvent_t ready, read; }};
struct Box {{
    std::mutex mutex;
    Slot slots[2];
    Slot* latest = nullptr;
    void put(Slot& slot) {{ std::lock_guard<std::mutex> lock(mutex); latest = &slot; }}
    std::optional<Slot*> take() {{
        std::lock_guard<std::mutex> lock(mutex);
        if (!latest) return std::nullopt;
        Slot* slot = latest;
        latest = nullptr;
        return slot;
    }}
}};
void produce(Box& box, cudaStream_t s) {{
    for (int round = 0; round < 100; ++round) {{
        Slot& slot = box.slots[round % 2];
        cudaStreamWaitEvent(s, slot.{awaited}, 0);
        fill<<<n / 256, 256, 0, s>>>(slot.data, round);
        cudaEventRecord(slot.ready, s);
        box.put(slot);
    }}
}}
void consume(std::stop_token stop, Box& box, cudaStream_t s, int* out) {{
    while (!stop.stop_requested()) {{
        auto slot = box.take();
        if (!slot) {{ std::this_thread::yield(); continue; }}
        cudaStreamWaitEvent(s, (*slot)->ready, 0);
        use<<<n / 256, 256, 0, s>>>((*slot)->data, out);
        cudaEventRecord((*slot)->read, s);
    }}
}}
int main() {{
    cudaStream_t s, t;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    int* out;
    cudaMalloc(&out, n * sizeof(int));
    cudaMemsetAsync(out, 0, n * sizeof(int), t);
    Box box;
    for (auto& slot : box.slots) {{
        cudaMalloc(&slot.data, n * sizeof(int));
        cudaEventCreateWithFlags(&slot.ready, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&slot.read, cudaEventDisableTiming);
    }}
    {{
        std::jthread consumer(consume, std::ref(box), t, out);
        std::jthread producer(produce, std::ref(box), s);
        producer.join();
    }}
    cudaDeviceSynchronize();
    for (auto& slot : box.slots) cudaFree(slot.data);
    cudaFree(out);
    cudaStreamDestroy(s);
    cudaStreamDestroy(t);
}}
"""


@pytest.mark.parametrize(("awaited", "found"), [("read", False), ("ready", True)])
def test_who_asks_under_a_mutex_until_it_is_stopped_looks_again_when_work_was_put(tmp_path, awaited, found):
    assert {each.code for each in loud(MAILBOX.format(awaited=awaited), tmp_path)} == ({"SS109"} if found else set())
