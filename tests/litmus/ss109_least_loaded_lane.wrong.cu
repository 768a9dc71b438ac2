#include <cuda_runtime.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#define CUDA_DO(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
    std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); std::exit(1); } } while (0)

__global__ void scale(int* p, int n, int base, int f, long long cycles) {
    for (long long t = clock64(); clock64() - t < cycles;) {}
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = (base + i) * f;
}
__global__ void zip(const int* a, const int* b, int* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

class Scheduler {
public:
    using Work = std::function<void(cudaStream_t)>;
    using TaskId = size_t;

    explicit Scheduler(int width) : lanes_(width) {
        for (auto& l : lanes_) CUDA_DO(cudaStreamCreateWithFlags(&l.stream, cudaStreamNonBlocking));
    }
    Scheduler(const Scheduler&) = delete;
    ~Scheduler() {
        wait_all();
        for (auto& t : tasks_) cudaEventDestroy(t.done);
        for (auto& l : lanes_) cudaStreamDestroy(l.stream);
    }
    TaskId submit(int cost, const std::vector<TaskId>& deps, const Work& work) {
        const int lane = pick();
        cudaStream_t s = lanes_[lane].stream;
        for (TaskId d : deps) {
            if (tasks_[d].lane != lane) continue;
            CUDA_DO(cudaStreamWaitEvent(s, tasks_[d].done, 0));
        }
        work(s);
        Task t{lane, nullptr};
        CUDA_DO(cudaEventCreateWithFlags(&t.done, cudaEventDisableTiming));
        CUDA_DO(cudaEventRecord(t.done, s));
        lanes_[lane].load += cost;
        tasks_.push_back(t);
        return tasks_.size() - 1;
    }
    void wait_all() { for (auto& l : lanes_) CUDA_DO(cudaStreamSynchronize(l.stream)); }
private:
    struct Lane { cudaStream_t stream{}; long load = 0; };
    struct Task { int lane; cudaEvent_t done; };
    int pick() const {
        auto it = std::min_element(lanes_.begin(), lanes_.end(), [](auto& a, auto& b) { return a.load < b.load; });
        return int(it - lanes_.begin());
    }
    std::vector<Lane> lanes_;
    std::vector<Task> tasks_;
};

int main() {
    const int n = 6000, grid = (n + 255) / 256, jobs = 5;
    int* mem;
    int* host;
    CUDA_DO(cudaMalloc(&mem, sizeof(int) * 3 * n * jobs));
    CUDA_DO(cudaMallocHost(&host, sizeof(int) * n * jobs));
    CUDA_DO(cudaMemset(mem, 0, sizeof(int) * 3 * n * jobs));
    CUDA_DO(cudaDeviceSynchronize());
    {
        Scheduler sched(3);
        for (int j = 0; j < jobs; ++j) {
            int* a = mem + size_t(3) * n * j;
            int *b = a + n, *c = b + n;
            auto ta = sched.submit(50, {}, [=](cudaStream_t s) { scale<<<grid, 256, 0, s>>>(a, n, j, 2, 30000000LL); });
            auto tb = sched.submit(40, {}, [=](cudaStream_t s) { scale<<<grid, 256, 0, s>>>(b, n, j, 3, 20000000LL); });
            auto tc = sched.submit(5, {ta, tb}, [=](cudaStream_t s) {
                zip<<<grid, 256, 0, s>>>(a, b, c, n);  // expect: SS109
            });
            sched.submit(5, {tc}, [=](cudaStream_t s) {
                CUDA_DO(cudaMemcpyAsync(host + size_t(n) * j, c, n * sizeof(int), cudaMemcpyDeviceToHost, s));
            });
        }
        CUDA_DO(cudaGetLastError());
        sched.wait_all();
    }
    int bad = 0;
    for (int j = 0; j < jobs; ++j)
        for (int i = 0; i < n; ++i) bad += host[size_t(n) * j + i] != (j + i) * 5;
    CUDA_DO(cudaFree(mem));
    CUDA_DO(cudaFreeHost(host));
    std::printf("scheduled jobs: %d wrong values\n", bad);
    return bad ? 1 : 0;
}
