// The few words that every append looks at.
#pragma once
#include <atomic>
#include <cstdint>

namespace streamsan::recorder {

/// They lie in a page that the kernel gives a forked child as zeros (MADV_WIPEONFORK): generation 0 tells each lane
/// that it may not write, before any handler of ours has run, and also where a fork runs no handlers. A child by vfork
/// or posix_spawn has no memory of its own, so it changes nothing.
struct LiveWords {
    std::atomic<std::uint64_t>
        generation;                    ///< of the current file; 0: nobody may write (stopped, closed, a forked child)
    std::atomic<std::uint64_t> ours;   ///< 1 in the process that began the file, 0 in a child that it forked
    std::atomic<std::uint32_t> sites;  ///< ids that the tables have, the unknown one included
    std::atomic<std::uint32_t> apis;
};

/// Makes the page. Null when there is no memory.
LiveWords* make_live_words();
void unmake_live_words(LiveWords* words);

}  // namespace streamsan::recorder
