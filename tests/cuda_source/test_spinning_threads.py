"""Host threads that wait for each other by atomic variables: by loops that turn, by `wait`, by locks that are flags."""

# ruff: noqa: E501 - programs under test stay as a person would type them

from __future__ import annotations

import pytest
from reading import loud

PROGRAM = """#include <atomic>
#include <cuda_runtime.h>
#include <thread>
constexpr int n = 1 << 16;
__global__ void fill(float* b, float v) {{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) b[i] = v; }}
__global__ void twice(const float* b, float* o) {{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) o[i] = 2 * b[i]; }}
{shared}
int main() {{
    float *b, *o;
    cudaStream_t s, t;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    cudaMalloc(&b, n * sizeof(float));
    cudaMalloc(&o, n * sizeof(float));
    auto write = [&] {{ fill<<<n / 256, 256, 0, s>>>(b, 1); {wait} }};
    auto read = [&] {{ twice<<<n / 256, 256, 0, t>>>(b, o); }};
    {body}
    cudaDeviceSynchronize();
    cudaFree(b);
    cudaFree(o);
    cudaStreamDestroy(s);
    cudaStreamDestroy(t);
}}
"""
FLAG = "std::atomic<bool> ready{false};"
RING = """struct Ring {
    int slots[4]; std::atomic<unsigned> head{0}, tail{0};
    bool push(int v) {
        unsigned t = tail.load(std::memory_order_relaxed);
        if (t - head.load(std::memory_order_acquire) == 4) return false;
        slots[t % 4] = v; tail.store(t + 1, std::memory_order_release); return true;
    }
    bool pop(int& v) {
        unsigned h = head.load(std::memory_order_relaxed);
        if (h == tail.load(std::memory_order_acquire)) return false;
        v = slots[h % 4]; head.store(h + 1, std::memory_order_release); return true;
    }
} ring;"""
LOCK = """std::atomic_flag lock = ATOMIC_FLAG_INIT; bool there = false;
struct Guard {
    Guard() { while (lock.test_and_set(std::memory_order_acquire)) std::this_thread::yield(); }
    ~Guard() { lock.clear(std::memory_order_release); }
};
bool look() { Guard g; return there; }"""
UNDER = """#include <chrono>
#include <mutex>
std::mutex mutex; bool there = false;
bool look() { std::lock_guard<std::mutex> lock(mutex); return there; }
void tell() { std::lock_guard<std::mutex> lock(mutex); there = true; }"""
WAYS = {
    "a flag under a mutex": (UNDER, "std::thread w([&] { while (!look()) std::this_thread::yield(); read(); }); write(); tell(); w.join();"),
    "a flag under a mutex, and a sleep": (UNDER, "std::thread w([&] { while (true) { { std::unique_lock<std::mutex> lock(mutex); if (there) break; }"
                                          " std::this_thread::sleep_for(std::chrono::microseconds(50)); } read(); }); write(); tell(); w.join();"),
    "a few looks that are counted": (UNDER, "std::thread w([&] { int looks = 0; while (looks < 3) { look(); std::this_thread::yield(); ++looks; }"
                                     " if (looks == 3) { while (!look()) std::this_thread::yield(); read(); } }); write(); tell(); w.join();"),
    "a loop that yields": (FLAG, "std::thread w([&] { while (!ready.load(std::memory_order_acquire)) std::this_thread::yield(); read(); });"
                           " write(); ready.store(true, std::memory_order_release); w.join();"),
    "an empty loop, and conversions": (FLAG, "std::thread w([&] { while (!ready) {} read(); }); write(); ready = true; w.join();"),
    "a break": (FLAG, "std::thread w([&] { for (;;) { if (ready.load()) break; std::this_thread::yield(); } read(); });"
                " write(); ready.store(true); w.join();"),
    "a do loop": (FLAG, "std::thread w([&] { bool r; do { r = ready.load(); } while (!r); read(); }); write(); ready.store(true); w.join();"),
    "wait and notify": (FLAG, "std::thread w([&] { ready.wait(false); read(); }); write(); ready.store(true); ready.notify_all(); w.join();"),
    "main waits": ("std::atomic_int done{0};", "std::thread w([&] { write(); done.fetch_add(1); }); while (done < 1) {} read(); w.join();"),
    "a flag": ("std::atomic_flag up;", "std::thread w([&] { while (!up.test()); read(); }); write(); up.test_and_set(); w.join();"),
    "a flag's wait": ("std::atomic_flag up;", "std::thread w([&] { up.wait(false); read(); }); write(); up.test_and_set(); up.notify_one(); w.join();"),
    "a ring": (RING, "std::thread w([&] { int v; while (!ring.pop(v)) std::this_thread::yield(); read(); });"
               " write(); while (!ring.push(1)) std::this_thread::yield(); w.join();"),
    "a lock of one's own": (LOCK, "std::thread w([&] { while (!look()) std::this_thread::yield(); read(); });"
                            " write(); { Guard g; there = true; } w.join();"),
    "a swap": ("std::atomic<int> turn{0};", "std::thread w([&] { int mine = 1; while (!turn.compare_exchange_weak(mine, 2)) mine = 1; read(); });"
               " write(); turn = 1; w.join();"),
    "two workers": (FLAG, "std::thread w([&] { while (!ready.load()) {} read(); }), v([&] { write(); ready.store(true); }); w.join(); v.join();"),
}  # fmt: skip


def program(way, wait=""):
    shared, body = way
    return PROGRAM.format(shared=shared, body=body, wait=wait)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_what_is_told_before_it_is_done_is_a_race(tmp_path, way):
    found = loud(program(way), tmp_path)
    assert [(each.code, each.message.split("`")[1]) for each in found] == [("SS109", "twice")]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_what_is_told_when_it_is_done_is_none(tmp_path, way):
    assert loud(program(way, "cudaStreamSynchronize(s);"), tmp_path) == []


STOPS = {
    "a token": "std::jthread w([&](std::stop_token stop) { while (!stop.stop_requested()) std::this_thread::yield(); read(); });"
               " write(); w.request_stop(); w.join();",
    "a source": "std::stop_source source; std::thread w([&] { while (!source.stop_requested()) {} read(); });"
                " write(); source.request_stop(); w.join();",
    "a token without its type": "std::stop_source source; auto stop = source.get_token();"
                                " std::thread w([&] { while (!stop.stop_requested()) {} read(); });"
                                " write(); source.request_stop(); w.join();",
}  # fmt: skip


@pytest.mark.parametrize("body", STOPS.values(), ids=STOPS)
@pytest.mark.parametrize(
    ("wait", "codes"), [("cudaStreamSynchronize(s);", []), ("", ["SS109"])], ids=["right", "wrong"]
)
def test_a_program_without_atomics_waits_for_a_stop_token(tmp_path, body, wait, codes):
    text = program(("", body), wait).replace("#include <atomic>\n", "")
    assert "atomic" not in text
    assert [each.code for each in loud(text, tmp_path)] == codes


def test_what_nobody_tells_is_not_waited_for(tmp_path):
    """Code that is not seen may set the flag: what stands behind the loop is looked at all the same."""
    way = FLAG, "std::thread w([&] { while (!ready.load()) {} write(); read(); }); w.join();"
    assert [each.code for each in loud(program(way), tmp_path)] == ["SS109"]


ROUNDS = """#include <atomic>
#include <cuda_runtime.h>
#include <thread>
#include <vector>
constexpr int n = 1 << 16, many = 3;
__global__ void fill(float* b, float v) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) b[i] = v; }
__global__ void add(const float* b, float* o) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) o[i] += b[i]; }
struct Barrier {
    std::atomic<int> waiting{0};
    std::atomic<bool> sense{false};
    void arrive(bool& mine) {
        mine = !mine;
        if (waiting.fetch_add(1) == many - 1) { waiting.store(0); sense.store(mine); }
        else while (sense.load() != mine) std::this_thread::yield();
    }
};
struct Tickets {
    std::atomic<unsigned> next{0}, now{0};
    void lock() { unsigned mine = next.fetch_add(1); while (now.load() != mine) {} }
    void unlock() { now.fetch_add(1); }
};
int main() {
    float *b[many], *o;
    cudaStream_t s[many];
    for (int i = 0; i < many; ++i) { cudaMalloc(&b[i], n * sizeof(float)); cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking); }
    cudaMalloc(&o, n * sizeof(float));
    cudaMemset(o, 0, n * sizeof(float));
    cudaDeviceSynchronize();
    Barrier barrier; Tickets tickets;
    std::vector<std::thread> threads;
    for (int i = 0; i < many; ++i) threads.emplace_back([&, i] {
        bool mine = false;
        for (int round = 0; round < 4; ++round) {
            fill<<<n / 256, 256, 0, s[i]>>>(b[i], round);
            FILLED
            barrier.arrive(mine);
            tickets.lock();
            add<<<n / 256, 256, 0, s[i]>>>(b[(i + 1) % many], o);
            ADDED
            tickets.unlock();
            barrier.arrive(mine);
        }
    });
    for (auto& thread : threads) thread.join();
    cudaDeviceSynchronize();
    cudaFree(o);
    for (int i = 0; i < many; ++i) { cudaFree(b[i]); cudaStreamDestroy(s[i]); }
}
"""
SYNC = "cudaStreamSynchronize(s[i]);"


@pytest.mark.parametrize(
    ("filled", "added", "codes"),
    [(SYNC, SYNC, set()), ("", SYNC, {"SS109"}), (SYNC, "", {"SS109"})],
    ids=["right", "b", "o"],
)
def test_rounds_of_threads_with_a_barrier_and_tickets_of_their_own(tmp_path, filled, added, codes):
    found = loud(ROUNDS.replace("FILLED", filled).replace("ADDED", added), tmp_path)
    assert {each.code for each in found} == codes


QUEUES = """#include <cuda_runtime.h>
#include <chrono>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>
constexpr int n = 1 << 16;
__global__ void use(const float* b, float* o) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) o[i] += b[i]; }
struct Block { float *host, *device; };
template <class T> struct Queue {
    std::mutex mutex; std::deque<T> held; bool over = false;
    void push(T v) { std::lock_guard<std::mutex> lock(mutex); held.push_back(v); }
    bool pop(T& v) {
        std::lock_guard<std::mutex> lock(mutex);
        if (held.empty()) return false;
        v = held.front(); held.pop_front(); return true;
    }
    void close() { std::lock_guard<std::mutex> lock(mutex); over = true; }
    bool closed() { std::lock_guard<std::mutex> lock(mutex); return over && held.empty(); }
};
int main() {
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    float* o;
    cudaMalloc(&o, n * sizeof(float));
    std::vector<Block> blocks(3);
    Queue<Block*> spare, full;
    for (auto& b : blocks) { cudaMallocHost(&b.host, n * sizeof(float)); cudaMalloc(&b.device, n * sizeof(float)); spare.push(&b); }
    auto read = [&] {
        for (int k = 0; k < 20; ++k) {
            Block* b = nullptr;
            while (!spare.pop(b)) std::this_thread::sleep_for(std::chrono::microseconds(20));
            for (int i = 0; i < n; ++i) b->host[i] = k;
            full.push(b);
        }
        full.close();
    };
    auto work = [&] {
        Block* b = nullptr;
        while (!full.closed()) {
            if (!full.pop(b)) { std::this_thread::yield(); continue; }
            cudaMemcpyAsync(b->device, b->host, n * sizeof(float), cudaMemcpyHostToDevice, s);
            use<<<n / 256, 256, 0, s>>>(b->device, o);
            WAIT
            spare.push(b);
        }
    };
    THREADS
    cudaDeviceSynchronize();
    for (auto& b : blocks) { cudaFreeHost(b.host); cudaFree(b.device); }
    cudaFree(o);
    cudaStreamDestroy(s);
}
"""
THREADS = {
    "two": "std::thread r(read), w(work); r.join(); w.join();",
    "two, the worker first": "std::thread w(work), r(read); r.join(); w.join();",
    "main works": "std::thread r(read); work(); r.join();",
    "main reads": "std::thread w(work); read(); w.join();",
}


@pytest.mark.parametrize("threads", THREADS.values(), ids=THREADS)
@pytest.mark.parametrize(
    ("wait", "codes"), [("cudaStreamSynchronize(s);", []), ("", ["SS108"])], ids=["right", "wrong"]
)
def test_queues_under_mutexes_that_threads_look_into(tmp_path, threads, wait, codes):
    found = loud(QUEUES.replace("THREADS", threads).replace("WAIT", wait), tmp_path)
    assert [each.code for each in found] == codes
