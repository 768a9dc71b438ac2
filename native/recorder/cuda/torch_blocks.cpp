#include "recorder/cuda/torch_blocks.hpp"

#include <atomic>
#include <string>

#include "recorder/cuda/announced_blocks.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/run/omissions.hpp"

namespace streamsan::recorder::cuda {
namespace {

PoolWord block_of_torch{"CUDACachingAllocator::malloc", false, true};
PoolWord block_back_to_torch{"CUDACachingAllocator::free"};
std::atomic<bool> given_up{false};

std::uint64_t whole_block(std::uint64_t size) {
    constexpr std::uint64_t granule = 512;  // all blocks are multiples of it
    return (size + granule - 1) & ~(granule - 1);
}

}  // namespace

void give_up_torch_blocks(const char* why) {
    if (given_up.exchange(true, std::memory_order_relaxed)) return;
    note_omission("the blocks of PyTorch's allocator are not recorded" + std::string(why));
    blocks_no_longer_told(block_back_to_torch);
}

bool torch_blocks_are_told() { return blocks_are_heard() && !given_up.load(std::memory_order_relaxed); }

void torch_block_allocated(std::uint64_t address, std::uint64_t size, std::uint64_t stream) {
    block_handed_out(block_of_torch, address, whole_block(size), stream, size);
}

void torch_block_freed(std::uint64_t address) { block_taken_back(block_back_to_torch, address, 0); }

void torch_block_untold(std::uint64_t address, std::uint64_t size) {
    block_no_longer_told(block_back_to_torch, address, whole_block(size));
}

bool capture_ends_torch_blocks() {
    if (recorder()->captures.load(std::memory_order_relaxed) == 0) return false;
    give_up_torch_blocks(
        " from the first capture of a graph on: this version does not tell which of them are the graph's");
    return true;
}

}  // namespace streamsan::recorder::cuda
