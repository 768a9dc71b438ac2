// What pools inside the program call, found by name in the library that the driver has loaded: streamsan.h for C and
// C++, streamsan.pools for Python.
#include <cstdint>

#include "recorder/cuda/announced_blocks.hpp"

namespace {

using namespace streamsan::recorder::cuda;

PoolWord hand_out{"streamsan_hand_out"};
PoolWord take_back{"streamsan_take_back"};
PoolWord cupy_hands_out{"cupy.cuda.MemoryPool.malloc"};
PoolWord cupy_takes_back{"cupy.cuda.PooledMemory.free"};

}  // namespace

#define STREAMSAN_FOR_POOLS extern "C" __attribute__((visibility("default")))

STREAMSAN_FOR_POOLS void streamsan_pool_hand_out_1(std::uint64_t address, std::uint64_t size) {
    block_handed_out(hand_out, address, size, 0);
}

STREAMSAN_FOR_POOLS void streamsan_pool_take_back_1(std::uint64_t address) { block_taken_back(take_back, address); }

// recorder/pool_adapters.py
STREAMSAN_FOR_POOLS void streamsan_cupy_hand_out_1(std::uint64_t address, std::uint64_t size) {
    block_handed_out(cupy_hands_out, address, size, 0);
}

STREAMSAN_FOR_POOLS void streamsan_cupy_take_back_1(std::uint64_t address) {
    block_taken_back(cupy_takes_back, address);
}
