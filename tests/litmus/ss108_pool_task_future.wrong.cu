// Thread pool whose tasks run on the per-thread default stream.
#include <cuda_runtime.h>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#define MUST(x)                                                                       \
    do {                                                                              \
        cudaError_t r = (x);                                                          \
        if (r != cudaSuccess) {                                                       \
            std::fprintf(stderr, "%s failed: %s\n", #x, cudaGetErrorString(r));       \
            std::_Exit(1);                                                            \
        }                                                                             \
    } while (0)

__global__ void blend(const int* a, const int* b, int* out, int n, int w, long long cycles) {
    long long t0 = clock64();
    while (clock64() - t0 < cycles) {}
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] * w + b[i] * (16 - w);
}

class ThreadPool {
public:
    explicit ThreadPool(int n) {
        for (int i = 0; i < n; ++i) threads_.emplace_back([this] { loop(); });
    }
    ~ThreadPool() {
        {
            std::lock_guard<std::mutex> l(m_);
            stop_ = true;
        }
        cv_.notify_all();
        for (auto& t : threads_) t.join();
    }
    std::future<void> run(std::function<void()> fn) {
        auto task = std::make_shared<std::packaged_task<void()>>(std::move(fn));
        auto fut = task->get_future();
        {
            std::lock_guard<std::mutex> l(m_);
            q_.emplace_back([task] { (*task)(); });
        }
        cv_.notify_one();
        return fut;
    }

private:
    void loop() {
        for (;;) {
            std::unique_lock<std::mutex> l(m_);
            cv_.wait(l, [this] { return stop_ || !q_.empty(); });
            if (q_.empty()) return;
            auto fn = std::move(q_.front());
            q_.pop_front();
            l.unlock();
            fn();
        }
    }
    std::mutex m_;
    std::condition_variable cv_;
    std::deque<std::function<void()>> q_;
    std::vector<std::thread> threads_;
    bool stop_ = false;
};

struct Frame {
    static constexpr int kPixels = 1 << 14;
    int *a, *b, *out, *host;
    Frame() {
        for (int** p : {&a, &b, &out}) MUST(cudaMalloc(p, kPixels * sizeof(int)));
        MUST(cudaMallocHost(&host, kPixels * sizeof(int)));
        for (int i = 0; i < kPixels; ++i) host[i] = -1;
        std::vector<int> ha(kPixels), hb(kPixels);
        for (int i = 0; i < kPixels; ++i) { ha[i] = i % 251; hb[i] = i % 127; }
        MUST(cudaMemcpy(a, ha.data(), kPixels * sizeof(int), cudaMemcpyHostToDevice));
        MUST(cudaMemcpy(b, hb.data(), kPixels * sizeof(int), cudaMemcpyHostToDevice));
    }
    ~Frame() {
        cudaFree(a); cudaFree(b); cudaFree(out);
        cudaFreeHost(host);
    }
    Frame(const Frame&) = delete;
};

static void render(Frame& f, int weight) {
    const int n = Frame::kPixels;
    blend<<<n / 256, 256, 0, cudaStreamPerThread>>>(f.a, f.b, f.out, n, weight, 50'000'000LL);
    MUST(cudaGetLastError());
    MUST(cudaMemcpyAsync(f.host, f.out, n * sizeof(int), cudaMemcpyDeviceToHost, cudaStreamPerThread));
}

int main() {
    const int frames = 4;
    int bad = 0;
    {
        std::vector<std::unique_ptr<Frame>> set;
        for (int f = 0; f < frames; ++f) set.push_back(std::make_unique<Frame>());
        MUST(cudaDeviceSynchronize());
        ThreadPool pool(2);
        std::vector<std::future<void>> pending;
        for (int f = 0; f < frames; ++f) pending.push_back(pool.run([&set, f] { render(*set[f], f + 3); }));
        for (int f = 0; f < frames; ++f) {
            pending[f].get();
            MUST(cudaStreamSynchronize(cudaStreamPerThread));
            for (int i = 0; i < Frame::kPixels; ++i)
                bad += set[f]->host[i] != (i % 251) * (f + 3) + (i % 127) * (13 - f);  // expect: SS108
        }
        MUST(cudaDeviceSynchronize());
    }
    std::printf("blend farm: %d wrong pixels\n", bad);
    return bad ? 1 : 0;
}
