// Replays a captured parameter sweep; the parameters travel through one pinned block.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

static inline void throwOn(cudaError_t e, const char* where) {
    if (e != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", where, cudaGetErrorString(e));
        std::exit(1);
    }
}
#define STR2(x) #x
#define STR(x) STR2(x)
#define CHECK(x) throwOn((x), __FILE__ ":" STR(__LINE__))

struct SweepParams {
    int slot;
    int scale;
    int offset;
    int reserved;
};

__global__ void evaluate(const SweepParams* p, int* grid, int n, long long cycles) {
    const SweepParams local = *p;
    const long long t0 = clock64();
    while (clock64() - t0 < cycles) {}
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) grid[i] = i * local.scale + local.offset;
}
__global__ void store(const SweepParams* p, const int* grid, long long* results, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(reinterpret_cast<unsigned long long*>(results + p->slot), (unsigned long long)grid[i]);
}

class Sweep {
public:
    Sweep(int n, int points) : n_(n), points_(points) {
        CHECK(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&replayed_, cudaEventDisableTiming));
        CHECK(cudaMallocHost(&staged_, sizeof(SweepParams)));
        CHECK(cudaMalloc(&params_, sizeof(SweepParams)));
        CHECK(cudaMalloc(&grid_, n * sizeof(int)));
        CHECK(cudaMalloc(&results_, points * sizeof(long long)));
        CHECK(cudaMemsetAsync(results_, 0, points * sizeof(long long), s_));
        CHECK(cudaStreamSynchronize(s_));
        cudaGraph_t g;
        CHECK(cudaStreamBeginCapture(s_, cudaStreamCaptureModeGlobal));
        CHECK(cudaMemcpyAsync(params_, staged_, sizeof(SweepParams), cudaMemcpyHostToDevice, s_));
        evaluate<<<(n + 255) / 256, 256, 0, s_>>>(params_, grid_, n, 30'000'000LL);
        store<<<(n + 255) / 256, 256, 0, s_>>>(params_, grid_, results_, n);
        CHECK(cudaStreamEndCapture(s_, &g));
        cudaGraphExec_t exec;
        CHECK(cudaGraphInstantiate(&exec, g, 0));
        exec_.reset(exec);
        CHECK(cudaGraphDestroy(g));
    }
    ~Sweep() {
        cudaStreamSynchronize(s_);
        exec_.reset();
        cudaFree(results_);
        cudaFree(grid_);
        cudaFree(params_);
        cudaFreeHost(staged_);
        cudaEventDestroy(replayed_);
        cudaStreamDestroy(s_);
    }
    void point(const SweepParams& p) {
        CHECK(cudaEventSynchronize(replayed_));
        std::memcpy(staged_, &p, sizeof(p));
        CHECK(cudaGraphLaunch(exec_.get(), s_));
        CHECK(cudaEventRecord(replayed_, s_));
    }
    std::vector<long long> results() {
        std::vector<long long> h(points_);
        CHECK(cudaMemcpyAsync(h.data(), results_, points_ * sizeof(long long), cudaMemcpyDeviceToHost, s_));
        CHECK(cudaStreamSynchronize(s_));
        return h;
    }

private:
    struct ExecDelete { void operator()(cudaGraphExec_t e) const { cudaGraphExecDestroy(e); } };
    int n_, points_;
    cudaStream_t s_{};
    cudaEvent_t replayed_{};
    SweepParams *staged_{}, *params_{};
    int* grid_{};
    long long* results_{};
    std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, ExecDelete> exec_;
};

int main() {
    const int n = 4096, points = 8;
    std::vector<long long> got;
    {
        Sweep sweep(n, points);
        for (int k = 0; k < points; ++k) sweep.point({k, k + 2, 100 * k, 0});
        got = sweep.results();
    }
    int bad = 0;
    for (int k = 0; k < points; ++k) {
        long long want = 0;
        for (int i = 0; i < n; ++i) want += (long long)i * (k + 2) + 100 * k;
        bad += want != got[k];
    }
    std::printf("sweep: %d of %d points wrong\n", bad, points);
    return bad ? 1 : 0;
}
