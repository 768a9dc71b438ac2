// What programs call of the library that stands for PyTorch's allocator.
#pragma once
#include <cstddef>

#include "runtime.hpp"

/// `pool`: 0, or that of a graph.
void* torch_alloc(std::size_t size, cudaStream_t stream, unsigned pool = 0);
void torch_free(void* address);
void torch_record_stream(void* address, cudaStream_t stream);
