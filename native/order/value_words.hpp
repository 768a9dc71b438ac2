// Words of memory that stream memory operations write, and that streams wait for.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "clock.hpp"
#include "flat_map.hpp"
#include "generated/vocabulary.hpp"

namespace streamsan::order {

constexpr std::uint8_t wide_word = 16;  ///< the bit of a ValueOperation that is about 64 bits

constexpr ValueOperation narrow(std::uint8_t detail) {
    return static_cast<ValueOperation>(detail & static_cast<std::uint8_t>(~wide_word));
}
constexpr bool names_value(std::uint8_t detail) {
    return narrow(detail) >= ValueOperation::WRITE && narrow(detail) <= ValueOperation::WAIT_NOR;
}

/// Whether a word that is `found` meets what a wait for `value` asks for.
constexpr bool is_met(std::uint8_t detail, std::uint64_t found, std::uint64_t value) {
    const bool wide = (detail & wide_word) != 0;
    const std::uint64_t mask = wide ? UINT64_MAX : UINT32_MAX;
    const std::uint64_t sign = wide ? std::uint64_t{1} << 63 : std::uint64_t{1} << 31;
    switch (narrow(detail)) {
        case ValueOperation::WAIT_GEQ: return ((found - value) & sign) == 0;
        case ValueOperation::WAIT_EQ: return ((found ^ value) & mask) == 0;
        case ValueOperation::WAIT_AND: return (found & value & mask) != 0;
        case ValueOperation::WAIT_NOR: return (~(found | value) & mask) != 0;
        default: return false;
    }
}

/// A write of a known value: where it is, and all that its stream had behind it then, itself included.
struct ValueWrite {
    Epoch at;
    Clock known;
    std::uint64_t value = 0;
};

/// A word. `vague`: others write it too, or may, so that nobody knows which write a wait is for.
struct ValueWord {
    std::uint64_t made = 0;  ///< the number of its allocation's making
    bool wide = false;
    bool vague = false;
    std::vector<ValueWrite> writes;
};

/// A wait that no write in view has satisfied: a later one does, or what nobody sees.
struct PendingWait {
    std::uint32_t process = 0;
    std::uint32_t stream = 0;
    std::uint64_t address = 0;  ///< 0: not known
    std::uint64_t value = 0;
    std::uint8_t detail = 0;
};

/// What one process' streams wait for is nobody else's.
class ValueWords {
public:
    [[nodiscard]] bool any() const { return !words_.empty(); }
    [[nodiscard]] bool pending() const { return !pending_.empty(); }

    /// The word of an allocation that was made then; a new one where there is none, or it was another allocation's.
    ValueWord& at(std::uint32_t process, std::uint32_t allocation, std::uint64_t made, std::uint64_t address,
                  bool wide) {
        const std::uint32_t index = index_.number(key(process, address), words_.size());
        if (index == words_.size()) words_.push_back({made, wide, false, {}});
        ValueWord& word = words_[index];
        if (word.made != made) word = {made, wide, false, {}};
        Of& of = of_allocation(process, allocation, made);
        if (std::find(of.words.begin(), of.words.end(), index) == of.words.end()) of.words.push_back(index);
        word.vague |= word.wide != wide || overlaps(process, made, address, wide);
        return word;
    }

    /// Something else uses the allocation, and may write its words; whether there are any that this makes vague.
    bool spoil(std::uint32_t process, std::uint32_t allocation, std::uint64_t made) {
        const std::uint32_t at = allocations_.find(std::uint64_t{process} << 32 | allocation);
        if (at == none || of_[at].made != made) return false;
        for (const std::uint32_t index : of_[at].words) words_[index].vague = true;
        return !of_[at].words.empty();
    }

    static void write(ValueWord& word, ValueWrite&& write) {
        constexpr std::size_t most_writes = 64;  // of older ones nothing is said any more
        if (word.writes.size() >= most_writes) word.writes.erase(word.writes.begin());
        word.writes.push_back(std::move(write));
    }

    /// What is behind every write that may have satisfied a wait: false where none can have. A write that another one
    /// has followed, before the wait, is gone by then.
    static bool awaited(const ValueWord& word, std::uint8_t detail, std::uint64_t value, const Clock& waiter,
                        Clock& into) {
        bool found = false;
        for (const ValueWrite& each : word.writes) {
            if (!is_met(detail, each.value, value)) continue;
            const auto follows = [&](const ValueWrite& other) {
                return &other != &each && other.known.knows(each.at, visible) && waiter.knows(other.at, visible);
            };
            if (std::any_of(word.writes.begin(), word.writes.end(), follows)) continue;
            if (found) into.meet(each.known);
            else into.assign(each.known);
            found = true;
        }
        return found;
    }

    void wait(const PendingWait& wait) { pending_.push_back(wait); }
    /// Takes away, and hands over, the pending waits that `satisfied` says so of.
    template <class Satisfied, class Take>
    void settle(Satisfied&& satisfied, Take&& take) {
        const auto is_over = [&](const PendingWait& wait) {
            if (!satisfied(wait)) return false;
            take(wait);
            return true;
        };
        pending_.erase(std::remove_if(pending_.begin(), pending_.end(), is_over), pending_.end());
    }
    /// Who has waited for the stream, or has destroyed it, need not know any more what satisfied its waits.
    void settle(std::uint32_t stream) {
        settle([stream](const PendingWait& wait) { return wait.stream == stream; }, [](const PendingWait&) {});
    }

private:
    struct Of {
        std::uint64_t made = 0;
        std::vector<std::uint32_t> words;
    };

    /// Words have few processes, and addresses below 2^48.
    static std::uint64_t key(std::uint32_t process, std::uint64_t address) {
        return address ^ std::uint64_t{process} << 48;
    }
    Of& of_allocation(std::uint32_t process, std::uint32_t allocation, std::uint64_t made) {
        const std::uint32_t at = allocations_.number(std::uint64_t{process} << 32 | allocation, of_.size());
        if (at == of_.size()) of_.emplace_back();
        if (of_[at].made != made) of_[at] = {made, {}};
        return of_[at];
    }
    /// Whether a word with another address has some of the same bytes: then both are vague.
    bool overlaps(std::uint32_t process, std::uint64_t made, std::uint64_t address, bool wide) {
        bool any = false;
        for (const std::uint64_t other : {address - 4, address + 4}) {
            const std::uint32_t at = index_.find(key(process, other));
            if (at == none || words_[at].made != made || !(other < address ? words_[at].wide : wide)) continue;
            words_[at].vague = any = true;
        }
        return any;
    }

    FlatMap index_;
    std::vector<ValueWord> words_;
    FlatMap allocations_;
    std::vector<Of> of_;
    std::vector<PendingWait> pending_;
};

}  // namespace streamsan::order
