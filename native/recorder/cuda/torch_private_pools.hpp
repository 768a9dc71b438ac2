// Pools that PyTorch's allocator keeps apart from its general one: a graph's, and torch.cuda.MemPool.
#pragma once
#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace streamsan::recorder::cuda {

/// As PyTorch numbers them. The general pool is {0, 0}; one that a capture made for itself has the first number, one
/// that the program asked for (MemPool, graph_pool_handle) the second.
struct TorchPool {
    std::uint64_t of_capture = 0;
    std::uint64_t of_program = 0;

    [[nodiscard]] bool is_general() const { return (of_capture | of_program) == 0; }
};

/// What is to be told of a word about a block.
enum class Telling : std::uint8_t {
    block,   ///< the word: the block is its owner's alone
    nobody,  ///< nothing
    no_more  ///< that nobody knows who has these bytes, where somebody was known to have them
};

/// A pool that no capture allocates from is like the general one. What a capture allocates belongs to the graph,
/// whoever else has it: replays use it, in turns with other graphs of the pool, after its tensor was dropped, and
/// cudagraph trees free and allocate blocks that nobody touches. So from the first capture on nothing is told of such
/// a pool: the uses of its blocks are uses of the memory that it has from the driver. That a capture frees a block
/// shows it as well: cudagraph trees allocate the inputs of a graph before its capture, drop them in it, and fill them
/// by their addresses before each replay. Any thread may ask.
class TorchPrivatePools {
public:
    /// A block of a pool was allocated, or freed; `captured`: while its stream captures.
    Telling allocated(TorchPool pool, bool captured);
    Telling freed(TorchPool pool, bool captured);

private:
    struct Known {
        bool captured = false;
        bool told = false;  ///< of some block
    };
    std::mutex mutex_;
    std::unordered_map<std::uint64_t, Known> known_;  ///< those of the program
};

}  // namespace streamsan::recorder::cuda
