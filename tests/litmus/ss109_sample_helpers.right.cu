// The helper header of the vendor's samples, pasted in: its check depends on the header guard of driver_types.h.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#ifdef __DRIVER_TYPES_H__
static const char* _cudaGetErrorEnum(cudaError_t error) { return cudaGetErrorName(error); }
#endif
#ifdef CUBLAS_API_H_
static const char* _cudaGetErrorEnum(cublasStatus_t error) { return error ? "CUBLAS_STATUS" : "CUBLAS_STATUS_SUCCESS"; }
#endif

template <typename T>
void check(T result, char const* const func, const char* const file, int const line)
{
    if (result) {
        fprintf(stderr, "CUDA error at %s:%d code=%d(%s) \"%s\" \n", file, line, static_cast<unsigned int>(result),
                _cudaGetErrorEnum(result), func);
        exit(EXIT_FAILURE);
    }
}

#ifdef __DRIVER_TYPES_H__
#define checkCudaErrors(val) check((val), #val, __FILE__, __LINE__)
#define getLastCudaError(msg) __getLastCudaError(msg, __FILE__, __LINE__)
inline void __getLastCudaError(const char* errorMessage, const char* file, const int line)
{
    cudaError_t err = cudaGetLastError();
    if (cudaSuccess != err) {
        fprintf(stderr, "%s(%i) : %s : (%d) %s.\n", file, line, errorMessage, static_cast<int>(err),
                cudaGetErrorString(err));
        exit(EXIT_FAILURE);
    }
}
#endif

__global__ void increment(int* data, int value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] += value;
}

int main(int argc, char** argv)
{
    printf("[%s] - Starting...\n", argv[0]);
    const int n = 1 << 20;
    int *host = nullptr, *device = nullptr;
    cudaStream_t streams[2];
    cudaEvent_t stop;
    checkCudaErrors(cudaMallocHost((void**)&host, n * sizeof(int)));
    checkCudaErrors(cudaMalloc((void**)&device, n * sizeof(int)));
    for (int i = 0; i < 2; i++) checkCudaErrors(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    checkCudaErrors(cudaEventCreate(&stop));
    for (int i = 0; i < n; i++) host[i] = i;
    checkCudaErrors(cudaMemcpyAsync(device, host, n * sizeof(int), cudaMemcpyHostToDevice, streams[0]));
    increment<<<n / 512, 512, 0, streams[0]>>>(device, 26, n);
    getLastCudaError("increment failed");
    checkCudaErrors(cudaEventRecord(stop, streams[0]));
    checkCudaErrors(cudaEventSynchronize(stop));
    checkCudaErrors(cudaMemcpyAsync(host, device, n * sizeof(int), cudaMemcpyDeviceToHost, streams[1]));
    checkCudaErrors(cudaStreamSynchronize(streams[1]));
    printf("%d\n", host[n - 1]);
    checkCudaErrors(cudaEventDestroy(stop));
    for (int i = 0; i < 2; i++) checkCudaErrors(cudaStreamDestroy(streams[i]));
    checkCudaErrors(cudaFree(device));
    checkCudaErrors(cudaFreeHost(host));
    return 0;
}
