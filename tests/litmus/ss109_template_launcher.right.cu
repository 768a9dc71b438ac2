// Rounds of a tournament: scores are made on one stream and summed up on another, launched by a template that packs arguments.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                        \
    do {                                                                                   \
        const cudaError_t status_ = (call);                                                \
        if (status_ != cudaSuccess) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
            std::exit(EXIT_FAILURE);                                                       \
        }                                                                                  \
    } while (0)

constexpr int kPlayers = 1 << 16;

__global__ void play(unsigned *scores, int n, unsigned round)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) scores[i] = (i * 2654435761u) ^ round;
}

__global__ void tally(const unsigned *scores, unsigned long long *table, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) table[i] = table[i] * 3 + scores[i];
}

template <typename... Args>
void enqueue(cudaStream_t stream, void (*kernel)(Args...), Args... args)
{
    void *packed[] = {&args...};
    CHECK(cudaLaunchKernel(reinterpret_cast<const void *>(kernel), dim3(kPlayers / 256), dim3(256), packed, 0, stream));
}

class Tournament {
public:
    Tournament()
    {
        CHECK(cudaMalloc(&scores_, kPlayers * sizeof(unsigned)));
        CHECK(cudaMalloc(&table_, kPlayers * sizeof(unsigned long long)));
        CHECK(cudaMemset(table_, 0, kPlayers * sizeof(unsigned long long)));
        for (cudaStream_t *stream : {&games_, &tables_}) CHECK(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&played_, cudaEventDisableTiming));
        CHECK(cudaEventCreateWithFlags(&counted_, cudaEventDisableTiming));
        CHECK(cudaDeviceSynchronize());
    }
    ~Tournament()
    {
        cudaStreamDestroy(games_);
        cudaStreamDestroy(tables_);
        cudaEventDestroy(played_);
        cudaEventDestroy(counted_);
        cudaFree(scores_);
        cudaFree(table_);
    }
    Tournament(const Tournament &) = delete;
    void round(unsigned number)
    {
        CHECK(cudaStreamWaitEvent(games_, counted_, 0));
        enqueue<unsigned *, int, unsigned>(games_, play, scores_, kPlayers, number);
        CHECK(cudaEventRecord(played_, games_));
        CHECK(cudaStreamWaitEvent(tables_, played_, 0));
        enqueue<const unsigned *, unsigned long long *, int>(tables_, tally, scores_, table_, kPlayers);
        CHECK(cudaEventRecord(counted_, tables_));
    }
    void finish() { CHECK(cudaDeviceSynchronize()); }

private:
    unsigned *scores_ = nullptr;
    unsigned long long *table_ = nullptr;
    cudaStream_t games_{}, tables_{};
    cudaEvent_t played_{}, counted_{};
};

int main()
{
    Tournament tournament;
    for (unsigned i = 0; i < 6; ++i) tournament.round(i);
    tournament.finish();
    return 0;
}
