#include "buffers.h"

Buffer::Buffer(size_t bytes, cudaStream_t stream) : stream_(stream)
{
    cudaMallocAsync(reinterpret_cast<void**>(&data_), bytes, stream_);
}

Buffer::~Buffer()
{
    cudaFreeAsync(data_, stream_);  // expect: SS102
}
