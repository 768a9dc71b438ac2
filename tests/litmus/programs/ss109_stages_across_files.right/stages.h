#pragma once
#include <cuda_runtime.h>

struct Stage {
    cudaStream_t stream;
    void (*run)(float* x, int n, cudaStream_t stream);
};

extern Stage stages[2];
void open_stages();
void close_stages();
