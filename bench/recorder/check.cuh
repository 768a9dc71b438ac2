// Ends a benchmark whose CUDA calls fail: what it measured then means nothing.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                                          \
    do {                                                                                     \
        const cudaError_t status = (call);                                                   \
        if (status != cudaSuccess) {                                                         \
            std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(status));     \
            std::exit(1);                                                                    \
        }                                                                                    \
    } while (0)
