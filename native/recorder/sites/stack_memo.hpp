// Recognises a stack without unwinding it.
#pragma once
#include <array>
#include <cstdint>
#include <utility>

#include "recorder/sites/memory_reading.hpp"
#include "recorder/sites/zeroed_array.hpp"

namespace streamsan::recorder::call_sites {

/// The words of a thread's stack that a walk depended on: return addresses, and saved rbp where a frame is found by it.
/// When all of them hold what they held then, and rsp and rbp at the start are the same, the walk would go the same
/// way: each frame's rule depends on its return address, and where the next one lies on the rule and these words only.
/// Reading them is many times faster than the walk, for no load waits for another.
class StackMemo {
public:
    static constexpr std::uint32_t no_site = 0xffffffff;

    /// Begins the list of a walk.
    void begin() noexcept {
        count_ = 0;
        first_visible_ = words_at_most;
        complete_ = true;
    }
    /// The walk depends on the word at `address`, which holds `value`. `visible`: it tells the program's own frames
    /// apart.
    void depends_on(std::uint64_t address, std::uint64_t value, bool visible) noexcept {
        if (count_ == words_at_most) {
            complete_ = false;
            return;
        }
        walked_[count_] = {address, value};
        // The program's own innermost frame first: most other stacks differ there.
        if (visible && first_visible_ >= count_) first_visible_ = count_;
        ++count_;
    }
    /// The walk depends on something else: it can't be remembered.
    void give_up() noexcept { complete_ = false; }

    void remember(std::uint64_t rsp, std::uint64_t rbp, std::uint32_t label, std::uint32_t site) noexcept {
        if (!complete_ || count_ == 0) return;
        if (first_visible_ < count_) std::swap(walked_[0], walked_[first_visible_]);
        Known& known = known_[set_of(rsp) + next_way_++ % ways];
        known.rsp = rsp;
        known.rbp = rbp;
        known.label = label;
        known.site = site;
        known.count = count_;
        for (std::size_t index = 0; index < count_; ++index) known.words[index] = walked_[index];
        complete_ = false;
        any_ = true;
    }

    /// Reads words of the calling thread's stack at addresses above `rsp` only.
    [[nodiscard]] __attribute__((no_sanitize("address", "thread"))) std::uint32_t find(
        std::uint64_t rsp, std::uint64_t rbp, std::uint32_t label) const noexcept {
        const std::size_t set = set_of(rsp);
        for (std::size_t way = 0; way < ways; ++way) {
            const Known& known = known_[set + way];
            if (known.rsp != rsp || known.rbp != rbp || known.label != label) continue;
            std::uint64_t different = 0;
            const Word* const end = known.words.data() + known.count;
            const Word* word = known.words.data();
            if (load<std::uint64_t>(word->address) != word->value) continue;
            while (++word < end) different |= load<std::uint64_t>(word->address) ^ word->value;
            if (different == 0) return known.site;
        }
        return no_site;
    }

    void clear() noexcept {
        // Not touched as long as nothing is there: the memory stays the system's.
        for (std::size_t index = 0; index < sets * ways && any_; ++index) known_[index].rsp = 0;
        any_ = false;
        complete_ = false;
    }

private:
    static constexpr std::size_t words_at_most = 64;
    static constexpr std::size_t ways = 8;
    static constexpr std::size_t sets = 64;
    struct Word {
        std::uint64_t address;
        std::uint64_t value;
    };
    struct Known {
        std::uint64_t rsp;
        std::uint64_t rbp;
        std::uint32_t label;
        std::uint32_t site;
        std::uint64_t count;
        std::array<Word, words_at_most> words;
    };
    static std::size_t set_of(std::uint64_t rsp) noexcept { return ((rsp * 0x9e3779b97f4a7c15) >> 58) * ways; }

    ZeroedArray<Known> known_ = zeroed_array<Known>(sets * ways);
    std::array<Word, words_at_most> walked_;
    std::size_t count_ = 0;
    std::size_t first_visible_ = words_at_most;
    bool complete_ = false;
    bool any_ = false;
    std::size_t next_way_ = 0;
};

}  // namespace streamsan::recorder::call_sites
