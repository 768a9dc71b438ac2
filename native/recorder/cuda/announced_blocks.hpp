// Blocks that pools inside the program hand out of memory that they got from the driver, as the pools say it.
#pragma once
#include <atomic>
#include <cstdint>
#include <string_view>

namespace streamsan::recorder {
class Lane;
}

namespace streamsan::recorder::cuda {

/// What a pool says, as the trace's table of APIs has it; static.
struct PoolWord {
    std::string_view name;
    bool promises_contents = false;       ///< of a hand-out: the pool may say what the bytes hold
    bool tells_all = false;               ///< ... and no other block of the same allocation of the driver is untold
    std::atomic<std::uint32_t> known{0};  ///< its number there
};

/// `size` bytes at `address` are somebody's from here on. `stream`: the one whose order the pool relies on when it
/// gives the bytes to the next owner, as the trace names it; 0 where it has none. Any thread, at any moment, the
/// inside of an API's call included. Calls nobody back and takes no lock of the program's. `asked`: how many of them
/// the owner asked for; 0: all.
void block_handed_out(PoolWord& word, std::uint64_t address, std::uint64_t size, std::uint64_t stream,
                      std::uint64_t asked = 0);
/// ... and are the pool's again. `stream`: in whose order they were given back, as above.
void block_taken_back(PoolWord& word, std::uint64_t address, std::uint64_t stream);
/// The pool was told that what was issued to `stream` until now uses the block at `address`.
void block_used_on(PoolWord& word, std::uint64_t address, std::uint64_t stream);
/// Of the `size` bytes at `address` it will not be told who has them, until they are handed out again.
void block_no_longer_told(PoolWord& word, std::uint64_t address, std::uint64_t size);
/// Of none of the blocks that were told of until now it will be told who has them.
void blocks_no_longer_told(PoolWord& word);

/// What is handed out when a new file begins.
void restate_blocks(Lane& lane);
/// Whether a recorder is there to hear of blocks.
bool blocks_are_heard();
/// In a forked child: its pools have nothing to tell.
void blocks_after_fork();

}  // namespace streamsan::recorder::cuda
