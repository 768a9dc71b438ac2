// What pools inside the program call, found by name in the library that the driver has loaded: streamsan.h for C and
// C++, streamsan.pools for Python. A number in a name is the version of the interface.
#include <cstdint>

#include "recorder/cuda/announced_blocks.hpp"

namespace {

using namespace streamsan::recorder::cuda;

PoolWord hand_out{"streamsan_hand_out"};
PoolWord take_back{"streamsan_take_back"};
PoolWord record_stream{"streamsan_record_stream"};
PoolWord rmm_hands_out{"rmm.mr.DeviceMemoryResource.allocate"};
PoolWord rmm_takes_back{"rmm.mr.DeviceMemoryResource.deallocate"};

}  // namespace

#define STREAMSAN_FOR_POOLS extern "C" __attribute__((visibility("default")))

// A stream as CUDA names it, but 0 is none: the default stream is 1, that of each thread 2.
STREAMSAN_FOR_POOLS void streamsan_pool_hand_out_1(std::uint64_t address, std::uint64_t size, std::uint64_t stream) {
    block_handed_out(hand_out, address, size, stream);
}

STREAMSAN_FOR_POOLS void streamsan_pool_take_back_1(std::uint64_t address, std::uint64_t stream) {
    block_taken_back(take_back, address, stream);
}

STREAMSAN_FOR_POOLS void streamsan_pool_record_stream_1(std::uint64_t address, std::uint64_t stream) {
    if (stream != 0) block_used_on(record_stream, address, stream);
}

// recorder/pool_adapters.py
STREAMSAN_FOR_POOLS void streamsan_rmm_hand_out_1(std::uint64_t address, std::uint64_t size, std::uint64_t stream) {
    block_handed_out(rmm_hands_out, address, size, stream);
}

STREAMSAN_FOR_POOLS void streamsan_rmm_take_back_1(std::uint64_t address, std::uint64_t stream) {
    block_taken_back(rmm_takes_back, address, stream);
}
