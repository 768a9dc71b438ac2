"""Host threads stop where they wait for others, and go on: pools with a queue of tasks, producers and consumers."""

from __future__ import annotations

import pytest
from reading import kinds, operations, reading_of

from streamsan import check

POOL = """#include <cuda_runtime.h>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <vector>
__global__ void twice(const int* in, int* out, int n) { int i = threadIdx.x; if (i < n) out[i] = 2 * in[i]; }
class Pool {
public:
    explicit Pool(int n) { for (int i = 0; i < n; ++i) threads_.emplace_back([this] { loop(); }); }
    ~Pool() {
        { std::lock_guard<std::mutex> lock(mutex_); stop_ = true; }
        condition_.notify_all();
        for (auto& each : threads_) each.join();
    }
    std::future<void> run(std::function<void()> task) {
        auto packaged = std::make_shared<std::packaged_task<void()>>(std::move(task));
        auto future = packaged->get_future();
        { std::lock_guard<std::mutex> lock(mutex_); tasks_.emplace_back([packaged] { (*packaged)(); }); }
        condition_.notify_one();
        return future;
    }
private:
    void loop() {
        for (;;) {
            std::unique_lock<std::mutex> lock(mutex_);
            LOOK
            if (tasks_.empty()) return;
            auto task = std::move(tasks_.front());
            tasks_.pop_front();
            lock.unlock();
            task();
        }
    }
    std::mutex mutex_;
    std::condition_variable condition_;
    std::deque<std::function<void()>> tasks_;
    std::vector<std::thread> threads_;
    bool stop_ = false;
};
int main() {
    int *in, *out, *host;
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaMalloc(&in, 1024); cudaMalloc(&out, 1024); cudaMallocHost(&host, 1024);
    cudaMemsetAsync(in, 1, 1024, s);
    int sum = 0;
    {
        Pool pool(2);
        std::vector<std::future<void>> pending;
        for (int round = 0; round < 3; ++round) {
            pending.push_back(pool.run([=] {
                twice<<<1, 256, 0, s>>>(in, out, 256);
                cudaMemcpyAsync(host, out, 1024, cudaMemcpyDeviceToHost, s);
                WAIT
            }));
            pending[round].get();
            for (int i = 0; i < 256; ++i) sum += host[i];
        }
    }
    cudaStreamSynchronize(s);
    cudaFree(in); cudaFree(out); cudaFreeHost(host);
    return sum;
}
"""
LOOKS = {
    "with a condition": "condition_.wait(lock, [this] { return stop_ || !tasks_.empty(); });",
    "in a loop": "while (!stop_ && tasks_.empty()) condition_.wait(lock);",
}


def findings(text: str, folder) -> list[tuple[str, str]]:
    path = folder / "program.cu"
    path.write_text(text, encoding="utf-8")
    result = check([path])
    assert not any("waits here for another" in each.message for each in result.findings)
    return [(each.code, each.severity) for each in result.findings if each.severity != "note"]


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_the_tasks_of_a_pool_are_followed(look, tmp_path):
    program = POOL.replace("LOOK", look)
    assert findings(program.replace("WAIT", ""), tmp_path) == [("SS108", "error")]
    assert findings(program.replace("WAIT", "cudaStreamSynchronize(s);"), tmp_path) == []


CHANNEL = """#include <cuda_runtime.h>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <queue>
#include <thread>
__global__ void make(int* out, int n) { int i = threadIdx.x; if (i < n) out[i] = i; }
__global__ void use(const int* in, int n, int* sum) { int i = threadIdx.x; if (i < n) atomicAdd(sum, in[i]); }
struct Item { int* data; cudaEvent_t made; };
class Channel {
public:
    void push(Item item) { { std::lock_guard<std::mutex> l(m_); items_.push(item); } c_.notify_one(); }
    void close() { { std::lock_guard<std::mutex> l(m_); closed_ = true; } c_.notify_all(); }
    std::optional<Item> pop() {
        std::unique_lock<std::mutex> l(m_);
        c_.wait(l, [&] { return closed_ || !items_.empty(); });
        if (items_.empty()) return std::nullopt;
        Item item = items_.front();
        items_.pop();
        return item;
    }
private:
    std::mutex m_; std::condition_variable c_; std::queue<Item> items_; bool closed_ = false;
};
int main() {
    int *all, *sum;
    cudaMalloc(&all, 4 * 1024); cudaMalloc(&sum, 4);
    cudaMemset(sum, 0, 4);
    cudaDeviceSynchronize();
    Channel channel;
    std::thread maker([&] {
        cudaStream_t s;
        cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
        for (int k = 0; k < 4; ++k) {
            Item item{all + k * 256, nullptr};
            cudaEventCreateWithFlags(&item.made, cudaEventDisableTiming);
            make<<<1, 256, 0, s>>>(item.data, 256);
            BODY
        }
        channel.close();
        cudaStreamSynchronize(s);
        cudaStreamDestroy(s);
    });
    std::thread user([&] {
        cudaStream_t s;
        cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
        while (auto item = channel.pop()) {
            cudaStreamWaitEvent(s, item->made, 0);
            use<<<1, 256, 0, s>>>(item->data, 256, sum);
        }
        cudaStreamSynchronize(s);
        cudaStreamDestroy(s);
    });
    maker.join();
    user.join();
    cudaFree(all); cudaFree(sum);
}
"""


def test_an_item_that_is_put_before_its_event_is_recorded(tmp_path):
    wrong = CHANNEL.replace("BODY", "channel.push(item); cudaEventRecord(item.made, s);")
    right = CHANNEL.replace("BODY", "cudaEventRecord(item.made, s); channel.push(item);")
    assert findings(wrong, tmp_path) == [("SS109", "error")]
    assert findings(right, tmp_path) == []


def test_no_event_is_declared_around_two_threads(tmp_path):
    path = tmp_path / "program.cu"
    path.write_text(CHANNEL.replace("BODY", "channel.push(item); cudaEventRecord(item.made, s);"), encoding="utf-8")
    (found,) = (each for each in check([path]).findings if each.code == "SS109")
    assert found.fix is not None
    assert found.fix.summary == "after line 37: cudaStreamSynchronize(s)"


def test_a_thread_goes_on_only_when_the_mutex_is_free(tmp_path):
    body = """std::mutex m; std::condition_variable c; bool ready = false; float* d; cudaMalloc(&d, 4);
    std::thread t([&] { std::unique_lock<std::mutex> l(m); c.wait(l, [&] { return ready; }); cudaFree(d); });
    { std::lock_guard<std::mutex> l(m); ready = true; c.notify_one(); cudaMemset(d, 0, 4); }
    t.join();"""
    for world in reading_of(f"int main() {{ {body} }}", tmp_path).worlds:
        assert [kind for kind in kinds(operations(world)) if kind in ("MEMSET", "FREE")] == ["MEMSET", "FREE"]


def test_what_a_waiting_thread_holds_is_not_lost_and_its_variables_stay_its_own(tmp_path):
    before = "thread_local float* own; std::mutex m; std::condition_variable c; bool ready = false;"
    body = """float* d; cudaMalloc(&d, 8); own = d;
    std::thread t([&] {
      cudaMalloc(&own, 4); float* mine = own;
      { std::unique_lock<std::mutex> l(m); c.wait(l, [&] { return ready; }); }
      cudaFree(mine);
    });
    cudaFree(own);
    { std::lock_guard<std::mutex> l(m); ready = true; }
    c.notify_one();
    t.join();"""
    worlds = reading_of(f"{before}\nint main() {{ {body} }}", tmp_path).worlds
    for ops in map(operations, worlds):
        made = {op.object: op.size for op in ops if op.kind == "ALLOC"}
        assert [made[op.object] for op in ops if op.kind == "FREE"] == [8, 4]
        assert "POINTER_LOST" not in kinds(ops)


def test_the_path_of_a_thread_that_never_goes_on_ends_quietly(tmp_path):
    before = "struct Guard { float* d; Guard() { cudaMalloc(&d, 4); } ~Guard() { cudaFree(d); } };"
    body = """std::mutex m; std::condition_variable c; bool ready = false;
    std::thread t([&] { Guard guard; std::unique_lock<std::mutex> l(m); c.wait(l, [&] { return ready; }); });
    t.detach();"""
    worlds = reading_of(f"{before}\nint main() {{ {body} }}", tmp_path).worlds
    for ops in (operations(world) for world in worlds if world.entry == "main"):
        assert "FREE" not in kinds(ops)
        assert [op.line for op in ops if op.kind == "NOT_UNDERSTOOD"] == [3]


def test_a_thread_does_all_of_the_work_that_it_is_given(tmp_path):
    program = POOL.replace("LOOK", "condition_.wait(lock, [&] { return stop_ || !tasks_.empty(); });")
    program = (
        program.replace("WAIT", "cudaStreamSynchronize(s);")
        .replace("round < 3", "round < 20")
        .replace("pool(2)", "pool(1)")
    )
    program = program.replace("pending[round].get();", "").replace("for (int i = 0; i < 256; ++i) sum += host[i];", "")
    reading = reading_of(program, tmp_path)
    for world in (each for each in reading.worlds if each.entry == "main" and not each.contrary):
        assert kinds(operations(world)).count("LAUNCH") == 20
