// What programs call of the library that stands for PyTorch's allocator.
#pragma once
#include <cstddef>

#include "runtime.hpp"

/// From here on pools are those that a capture makes for itself; below are those that programs ask for, but for 0.
constexpr unsigned own_pools = 100;
void* torch_alloc(std::size_t size, cudaStream_t stream, unsigned pool = 0);
void torch_free(void* address);
void torch_record_stream(void* address, cudaStream_t stream);
