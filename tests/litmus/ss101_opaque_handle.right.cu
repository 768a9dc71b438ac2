/* A C library's face: an opaque handle with create, run and destroy. The result is fetched after the handle is gone. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                   \
    do {                                                              \
        cudaError_t e = (call);                                       \
        if (e != cudaSuccess) {                                       \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e)); \
            exit(EXIT_FAILURE);                                       \
        }                                                             \
    } while (0)

typedef struct engine {
    float* state;
    int size;
    cudaStream_t stream;
} engine_t;

__global__ void tick(float* state, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) state[i] = state[i] + 1.0f;
}

static int engine_create(engine_t** out, int size)
{
    engine_t* made = (engine_t*)calloc(1, sizeof *made);
    if (made == NULL) return -1;
    made->size = size;
    CHECK(cudaStreamCreate(&made->stream));
    CHECK(cudaMalloc((void**)&made->state, size * sizeof(float)));
    CHECK(cudaMemsetAsync(made->state, 0, size * sizeof(float), made->stream));
    *out = made;
    return 0;
}

static void engine_run(engine_t* engine, int steps)
{
    while (steps-- > 0) tick<<<engine->size / 256, 256, 0, engine->stream>>>(engine->state, engine->size);
}

static float* engine_state(engine_t* engine) { return engine->state; }

static void engine_destroy(engine_t* engine)
{
    CHECK(cudaStreamSynchronize(engine->stream));
    CHECK(cudaFree(engine->state));
    CHECK(cudaStreamDestroy(engine->stream));
    free(engine);
}

int main(void)
{
    engine_t* engine;
    float host[16];
    if (engine_create(&engine, 4096) != 0) return 1;
    engine_run(engine, 3);
    float* state = engine_state(engine);
    CHECK(cudaStreamSynchronize(engine->stream));
    CHECK(cudaMemcpy(host, state, sizeof host, cudaMemcpyDeviceToHost));
    engine_destroy(engine);
    printf("%f\n", host[0]);
    return 0;
}
