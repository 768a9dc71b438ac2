// A worker thread takes tasks from a queue. main waits on the device for an event that the worker may not have recorded yet.
#include <cuda_runtime.h>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <mutex>
#include <queue>
#include <thread>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

__global__ void produce(int* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = 3 * i;
}

__global__ void consume(const int* p, long long* total, int n)
{
    long long sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += p[i];
    atomicAdd((unsigned long long*)total, (unsigned long long)sum);
}

class Worker {
public:
    Worker() : thread_([this] { loop(); }) {}
    ~Worker()
    {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            stop_ = true;
        }
        wake_.notify_all();
        thread_.join();
    }
    std::future<void> submit(std::function<void()> work)
    {
        auto done = std::make_shared<std::promise<void>>();
        std::future<void> result = done->get_future();
        {
            std::lock_guard<std::mutex> lock(mutex_);
            tasks_.push([work = std::move(work), done] {
                work();
                done->set_value();
            });
        }
        wake_.notify_one();
        return result;
    }

private:
    void loop()
    {
        for (;;) {
            std::function<void()> task;
            {
                std::unique_lock<std::mutex> lock(mutex_);
                wake_.wait(lock, [this] { return stop_ || !tasks_.empty(); });
                if (tasks_.empty()) return;
                task = std::move(tasks_.front());
                tasks_.pop();
            }
            task();
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_;
    std::queue<std::function<void()>> tasks_;
    bool stop_ = false;
    std::thread thread_;
};

int main()
{
    const int n = 1 << 16;
    int* data;
    long long* total;
    cudaStream_t upstream, downstream;
    cudaEvent_t ready;
    CHECK(cudaStreamCreateWithFlags(&upstream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&downstream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    CHECK(cudaMalloc(&data, n * sizeof(int)));
    CHECK(cudaMalloc(&total, sizeof(long long)));
    CHECK(cudaMemset(total, 0, sizeof(long long)));
    CHECK(cudaDeviceSynchronize());
    {
        Worker worker;
        std::future<void> issued = worker.submit([&] {
            produce<<<n / 256, 256, 0, upstream>>>(data, n);  // expect: SS109
            CHECK(cudaEventRecord(ready, upstream));
        });
        CHECK(cudaStreamWaitEvent(downstream, ready, 0));
        consume<<<1, 256, 0, downstream>>>(data, total, n);
        issued.wait();
    }
    CHECK(cudaStreamSynchronize(upstream));
    CHECK(cudaStreamSynchronize(downstream));
    CHECK(cudaFree(total));
    CHECK(cudaFree(data));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaStreamDestroy(downstream));
    CHECK(cudaStreamDestroy(upstream));
    return 0;
}
