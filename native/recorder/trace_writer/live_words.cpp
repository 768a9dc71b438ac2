#include "recorder/trace_writer/live_words.hpp"

#include <new>
#include <pthread.h>
#include <sys/mman.h>

namespace streamsan::recorder {
namespace {

constexpr std::size_t words_bytes = 4096;

// Where the kernel cannot wipe (before 4.14, some sandboxes): all pages of the process, cleared by a handler of fork.
constexpr std::size_t most_unwiped = 16;
std::atomic<LiveWords*> unwiped[most_unwiped];

void clear_in_child() {
    for (auto& entry : unwiped)
        if (LiveWords* words = entry.load()) {
            words->generation.store(0);
            words->ours.store(0);
        }
}

bool clear_on_fork(LiveWords* words) {
    static const bool registered = pthread_atfork(nullptr, nullptr, clear_in_child) == 0;
    if (!registered) return false;
    for (auto& entry : unwiped) {
        LiveWords* none = nullptr;
        if (entry.compare_exchange_strong(none, words)) return true;
    }
    return false;
}

}  // namespace

LiveWords* make_live_words() {
    void* page = mmap(nullptr, words_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return nullptr;
    auto* words = new (page) LiveWords{};
    if (madvise(page, words_bytes, MADV_WIPEONFORK) != 0 && !clear_on_fork(words)) {
        munmap(page, words_bytes);
        return nullptr;
    }
    return words;
}

void unmake_live_words(LiveWords* words) {
    for (auto& entry : unwiped) {
        LiveWords* found = words;
        entry.compare_exchange_strong(found, nullptr);
    }
    munmap(words, words_bytes);
}

}  // namespace streamsan::recorder
