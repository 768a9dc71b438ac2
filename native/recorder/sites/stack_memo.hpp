// Recognises a stack without unwinding it.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>

#include "recorder/sites/memo_table.hpp"
#include "recorder/sites/memory_reading.hpp"
#include "recorder/sites/words_hash.hpp"

namespace streamsan::recorder::call_sites {

/// The words of a thread's stack that a walk depended on: return addresses, and saved rbp where a frame is found by it.
/// When all of them hold what they held then, and rsp at the start is the same (rbp too, where a frame was found by
/// it), the walk would go the same way: each frame's rule depends on its return address, and where the next one lies on
/// the rule and these words only. Reading them is many times faster than the walk, for no load waits for another. What
/// they held is kept as a hash: the record of a deep stack is then a few lines, where the words themselves would push a
/// dozen of the program's lines out of the cache.
class StackMemo {
public:
    static constexpr std::uint32_t no_site = 0xffffffff;

    /// Begins the list of a walk.
    void begin() noexcept {
        count_ = 0;
        first_visible_ = words_at_most;
        needs_rbp_ = false;
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
    /// The walk depends on what rbp held at its start.
    void depends_on_rbp() noexcept { needs_rbp_ = true; }
    /// The walk depends on something else: it can't be remembered.
    void give_up() noexcept { complete_ = false; }

    void remember(std::uint64_t rsp, std::uint64_t rbp, std::uint32_t label, std::uint32_t site) noexcept {
        if (!complete_ || count_ == 0) return;
        complete_ = false;
        std::uint64_t furthest = 0;
        for (std::size_t index = 0; index < count_; ++index)
            furthest = std::max(furthest, walked_[index].address - rsp);
        if (furthest > furthest_at_all) return;
        if (first_visible_ < count_) std::swap(walked_[0], walked_[first_visible_]);
        const bool wide = furthest / word > std::numeric_limits<std::uint16_t>::max();
        const std::size_t size = sizeof(Known) + count_ * (wide ? sizeof(std::uint32_t) : sizeof(std::uint16_t));
        auto& known = *new (table_.add(MemoTable::key(rsp, label), size)) Known;
        known.rsp = rsp;
        known.rbp = rbp;
        known.first = walked_[0].value;
        known.label = label;
        known.site = site;
        known.count = static_cast<std::uint16_t>(count_);
        known.needs_rbp = needs_rbp_;
        known.wide = wide;
        known.hash = WordsHash::of(count_, [&](std::size_t index) { return walked_[index].value; });
        for (std::size_t index = 0; index < count_; ++index) {
            const std::uint64_t distance = (walked_[index].address - rsp) / word;
            if (wide) known.distances<std::uint32_t>()[index] = static_cast<std::uint32_t>(distance);
            else known.distances<std::uint16_t>()[index] = static_cast<std::uint16_t>(distance);
        }
    }

    /// Reads words of the calling thread's stack at addresses above `rsp` only.
    [[nodiscard]] __attribute__((no_sanitize("address", "thread"))) std::uint32_t find(
        std::uint64_t rsp, std::uint64_t rbp, std::uint32_t label) const noexcept {
        const MemoTable::Key key = MemoTable::key(rsp, label);
        for (std::uint32_t candidates = table_.candidates(key); candidates != 0; candidates &= candidates - 1) {
            const auto& known = table_.record<Known>(key, candidates);
            if (known.rsp != rsp || known.label != label || (known.needs_rbp && known.rbp != rbp)) continue;
            if (known.wide ? known.is_here<std::uint32_t>() : known.is_here<std::uint16_t>()) return known.site;
        }
        return no_site;
    }

    void clear() noexcept {
        table_.clear();
        complete_ = false;
    }

private:
    static constexpr std::size_t words_at_most = 96;
    static constexpr std::uint64_t word = 8;
    static constexpr std::uint64_t furthest_at_all = 0xffffffff;
    struct Word {
        std::uint64_t address;
        std::uint64_t value;
    };
    /// Behind it lie the words' distances from rsp, in words: of 32 bits where a frame is as large as that.
    struct Known {
        std::uint64_t rsp;
        std::uint64_t rbp;
        std::uint64_t hash;   ///< of what the words hold
        std::uint64_t first;  ///< what the first of them holds: most other stacks differ there
        std::uint32_t label;
        std::uint32_t site;
        std::uint16_t count;
        bool needs_rbp;
        bool wide;

        template <class Distance>
        [[nodiscard]] Distance* distances() noexcept {
            return reinterpret_cast<Distance*>(this + 1);
        }
        template <class Distance>
        [[nodiscard]] __attribute__((no_sanitize("address", "thread"))) bool is_here() const noexcept {
            const auto* const distances = reinterpret_cast<const Distance*>(this + 1);
            if (load<std::uint64_t>(rsp + distances[0] * word) != first) return false;
            return hash ==
                   WordsHash::of(count, [&](std::size_t index) __attribute__((no_sanitize("address", "thread"))) {
                       return load<std::uint64_t>(rsp + distances[index] * word);
                   });
        }
    };

    MemoTable table_;
    std::size_t count_ = 0;
    std::size_t first_visible_ = words_at_most;
    bool complete_ = false;
    bool needs_rbp_ = false;
    std::array<Word, words_at_most> walked_;
};

}  // namespace streamsan::recorder::call_sites
