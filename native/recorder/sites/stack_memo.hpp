// Recognises a stack without unwinding it.
#pragma once
#include <array>
#include <cstdint>
#include <new>
#include <utility>

#include "recorder/sites/memo_table.hpp"
#include "recorder/sites/memory_reading.hpp"

namespace streamsan::recorder::call_sites {

/// The words of a thread's stack that a walk depended on: return addresses, and saved rbp where a frame is found by it.
/// When all of them hold what they held then, and rsp at the start is the same (rbp too, where a frame was found by it), the
/// walk would go the same way: each frame's rule depends on its return address, and where the next one lies on the rule and
/// these words only. Reading them is many times faster than the walk, for no load waits for another.
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
        for (std::size_t index = 0; index < count_; ++index)
            if (walked_[index].address - rsp > furthest) return;
        if (first_visible_ < count_) std::swap(walked_[0], walked_[first_visible_]);
        auto& known = *new (table_.add(MemoTable::key(rsp, label), Known::size(count_))) Known;
        known.rsp = rsp;
        known.rbp = rbp;
        known.label = label;
        known.site = site;
        known.count = static_cast<std::uint32_t>(count_);
        known.needs_rbp = needs_rbp_ ? 1 : 0;
        for (std::size_t index = 0; index < count_; ++index) {
            known.values()[index] = walked_[index].value;
            known.distances()[index] = static_cast<std::uint32_t>(walked_[index].address - rsp);
        }
    }

    /// Reads words of the calling thread's stack at addresses above `rsp` only.
    [[nodiscard]] __attribute__((no_sanitize("address", "thread"))) std::uint32_t find(
        std::uint64_t rsp, std::uint64_t rbp, std::uint32_t label) const noexcept {
        const MemoTable::Key key = MemoTable::key(rsp, label);
        for (std::uint32_t candidates = table_.candidates(key); candidates != 0; candidates &= candidates - 1) {
            const auto& known = table_.record<Known>(key, candidates);
            if (known.rsp != rsp || known.label != label || (known.needs_rbp != 0 && known.rbp != rbp)) continue;
            const std::uint64_t* const values = known.values();
            const std::uint32_t* const distances = known.distances();
            if (load<std::uint64_t>(rsp + distances[0]) != values[0]) continue;
            std::uint64_t different = 0;
            for (std::size_t index = 1; index < known.count; ++index)
                different |= load<std::uint64_t>(rsp + distances[index]) ^ values[index];
            if (different == 0) return known.site;
        }
        return no_site;
    }

    void clear() noexcept {
        table_.clear();
        complete_ = false;
    }

private:
    static constexpr std::size_t words_at_most = 96;
    static constexpr std::uint64_t furthest = 0xffffffff;
    struct Word {
        std::uint64_t address;
        std::uint64_t value;
    };
    /// Behind it lie what the words hold, and their distances from rsp.
    struct Known {
        std::uint64_t rsp;
        std::uint64_t rbp;
        std::uint32_t label;
        std::uint32_t site;
        std::uint32_t count;
        std::uint32_t needs_rbp;

        [[nodiscard]] static std::size_t size(std::size_t count) noexcept { return sizeof(Known) + count * 12; }
        [[nodiscard]] std::uint64_t* values() noexcept { return reinterpret_cast<std::uint64_t*>(this + 1); }
        [[nodiscard]] std::uint32_t* distances() noexcept { return reinterpret_cast<std::uint32_t*>(values() + count); }
        [[nodiscard]] const std::uint64_t* values() const noexcept { return reinterpret_cast<const std::uint64_t*>(this + 1); }
        [[nodiscard]] const std::uint32_t* distances() const noexcept {
            return reinterpret_cast<const std::uint32_t*>(values() + count);
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
