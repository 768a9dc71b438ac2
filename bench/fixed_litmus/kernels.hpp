#pragma once
#include <cuda_runtime.h>

/** Begin to sum up `size` bytes in a stream. `slot`: pinned memory that gets the sum, never 0. */
void begin_sum(const void* bytes, size_t size, volatile unsigned long long* slot, cudaStream_t stream);

/** Begin a kernel that takes time and does nothing else. */
void begin_delay(unsigned microseconds, cudaStream_t stream);
