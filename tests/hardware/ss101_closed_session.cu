/* session_close() frees the counts; they are read afterwards.
 * On hardware the log, allocated in between, has their address: the log's words are read. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

static void check(cudaError_t status, int line)
{
    if (status == cudaSuccess) return;
    printf("error: %s, line %d\n", cudaGetErrorName(status), line);
    exit(1);
}
#define CK(x) check((x), __LINE__)

struct Session {
    int* counts;
    int size;
};

__global__ void put(int* words, int value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) words[i] = value + i;
}

static void session_open(struct Session* session, int size)
{
    session->size = size;
    CK(cudaMalloc((void**)&session->counts, size * sizeof(int)));
    put<<<size / 256, 256>>>(session->counts, 1, size);
    CK(cudaDeviceSynchronize());
}

static void session_close(struct Session* session)
{
    CK(cudaFree(session->counts));
}

int main(void)
{
    struct Session session;
    int* log;
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    session_open(&session, 1 << 20);
    int* host = (int*)malloc(session.size * sizeof(int));

    session_close(&session);
    CK(cudaMalloc((void**)&log, session.size * sizeof(int)));
    put<<<session.size / 256, 256>>>(log, -session.size, session.size);
    CK(cudaMemcpy(host, session.counts, session.size * sizeof(int), cudaMemcpyDeviceToHost)); // expect: SS101

    int wrong = 0;
    for (int i = 0; i < session.size; ++i) wrong += host[i] != 1 + i;
    printf("wrong words: %d\n", wrong);
    CK(cudaFree(log));
    free(host);
    return wrong ? 1 : 0;
}
