// A solver that reads its options, looks for its input, and has two ways to keep its scratch memory.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

__global__ void smooth(const float* in, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i + 1 < n) out[i] = (in[i - 1] + in[i] + in[i + 1]) / 3.0f;
}

void solve(const char* input, int steps, bool pooled = false);

static void usage(const char* program)
{
    std::fprintf(stderr, "%s [-s STEPS] [-p] INPUT\n", program);
    std::exit(2);
}

static char* find_input(const char* name)
{
    const char* folders[] = {"./", "./data/", "../data/"};
    for (int i = 0; i < 3; ++i) {
        char* path = static_cast<char*>(std::malloc(256));
        std::snprintf(path, 256, "%s%s", folders[i], name);
        FILE* file = std::fopen(path, "rb");
        if (file != NULL) {
            std::fclose(file);
            return path;
        }
        std::free(path);
    }
    return NULL;
}

int main(int argc, char** argv)
{
    int steps = 10;
    bool pooled = false;
    int i = 1;
    for (; i < argc; ++i) {
        if (argv[i][0] != '-') break;
        if (std::strcmp(argv[i], "-p") == 0) {
            pooled = true;
        } else {
            if (i + 1 >= argc) usage(argv[0]);
            steps = std::atoi(argv[++i]);
        }
    }
    if (i >= argc) usage(argv[0]);
    char* input = find_input(argv[i]);
    if (input == NULL) {
        std::fprintf(stderr, "no input\n");
        return 1;
    }
    solve(input, steps, pooled);
    std::free(input);
    return 0;
}

void solve(const char* input, int steps, bool pooled)
{
    const int n = 1 << 20;
    float* host;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    FILE* file = std::fopen(input, "rb");
    if (file == NULL || std::fread(host, sizeof(float), n, file) == 0) std::exit(1);
    std::fclose(file);
    cudaStream_t compute, transfer;
    CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&transfer, cudaStreamNonBlocking));
    cudaEvent_t computed;
    CHECK(cudaEventCreateWithFlags(&computed, cudaEventDisableTiming));
    float *field, *scratch;
    CHECK(cudaMalloc(&field, n * sizeof(float)));
    CHECK(cudaMemcpy(field, host, n * sizeof(float), cudaMemcpyHostToDevice));
    for (int step = 0; step < steps; ++step) {
        if (pooled) {
            CHECK(cudaMallocAsync(&scratch, n * sizeof(float), compute));
            smooth<<<n / 256, 256, 0, compute>>>(field, scratch, n);
            CHECK(cudaFreeAsync(scratch, compute));
        } else {
            CHECK(cudaMallocAsync(&scratch, n * sizeof(float), compute));
            smooth<<<n / 256, 256, 0, compute>>>(field, scratch, n);
            CHECK(cudaMemcpyAsync(host, scratch, n * sizeof(float), cudaMemcpyDeviceToHost, compute));
            CHECK(cudaEventRecord(computed, compute));
            CHECK(cudaStreamWaitEvent(transfer, computed, 0));
            CHECK(cudaFreeAsync(scratch, transfer));
        }
    }
    CHECK(cudaDeviceSynchronize());
    std::printf("%f\n", host[n / 2]);
    CHECK(cudaFreeHost(host));
    CHECK(cudaFree(field));
    CHECK(cudaEventDestroy(computed));
    CHECK(cudaStreamDestroy(compute));
    CHECK(cudaStreamDestroy(transfer));
}
