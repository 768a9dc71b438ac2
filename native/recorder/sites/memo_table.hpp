// Where a thread keeps the stacks that it recognises: a cache of eight ways, whose records lie one behind the other.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "recorder/sites/zeroed_array.hpp"

namespace streamsan::recorder::call_sites {

/// A program's calls come back to each stack only after it has used the caches for itself. So a look-up touches little:
/// one line for the keys of a set, then the lines of one record; and few pages, for records are as long as they need to
/// be.
class MemoTable {
public:
    struct Key {
        std::size_t set;
        std::uint32_t word;  ///< never 0
    };
    [[nodiscard]] static Key key(std::uint64_t hash, std::uint32_t label) noexcept {
        const std::uint64_t mixed = (hash ^ std::uint64_t{label} << 40) * 0x9e3779b97f4a7c15;
        return {mixed >> (64 - set_bits), static_cast<std::uint32_t>(mixed >> 20) | 1};
    }

    /// The ways of the key's set that have it, as bits. What they lead to must be compared whole.
    [[nodiscard]] std::uint32_t candidates(Key key) const noexcept {
        const std::uint32_t* const words = table_.get()->sets[key.set].words.data();
#if defined(__SSE2__)
        const __m128i wanted = _mm_set1_epi32(static_cast<int>(key.word));
        const auto same = [&](std::size_t first) {
            const __m128i four = _mm_load_si128(reinterpret_cast<const __m128i*>(words + first));
            return static_cast<std::uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(four, wanted))));
        };
        static_assert(ways == 8);
        return same(0) | same(4) << 4;
#else
        std::uint32_t found = 0;
        for (unsigned way = 0; way < ways; ++way) found |= (words[way] == key.word ? 1U : 0U) << way;
        return found;
#endif
    }
    /// The record of the first of the candidates.
    template <class Record>
    [[nodiscard]] const Record& record(Key key, std::uint32_t candidates) const noexcept {
        Table* const table = table_.get();
        const std::uint32_t line = table->sets[key.set].lines[static_cast<unsigned>(std::countr_zero(candidates))];
        return *reinterpret_cast<const Record*>(table->lines[line].bytes);
    }
    /// Memory for one more record of so many bytes with this key. When there is no more, all are forgotten. It stays
    /// the record's until then, also when its key has made room for another.
    void* add(Key key, std::size_t bytes) noexcept {
        const std::uint32_t needed = lines_of(bytes);
        if (!has_room(bytes)) clear();
        Set& set = table_.get()->sets[key.set];
        const unsigned way = next_++ % ways;
        set.words[way] = key.word;
        set.lines[way] = used_;
        used_ += needed;
        return table_.get()->lines[set.lines[way]].bytes;
    }
    /// Whether a further record can be added to those that are here.
    [[nodiscard]] bool has_room(std::size_t bytes) const noexcept { return used_ + lines_of(bytes) <= lines_at_most; }
    void clear() noexcept {
        // Not touched as long as nothing is there: the memory stays the system's.
        if (used_ != 0) std::memset(static_cast<void*>(table_.get()->sets.data()), 0, sizeof(Table::sets));
        used_ = 0;
    }

private:
    static constexpr std::size_t ways = 8;
    static constexpr unsigned set_bits = 6;
    static constexpr std::uint32_t lines_at_most = 4096 - (1U << set_bits);

    struct alignas(64) Set {
        std::array<std::uint32_t, ways> words;
        std::array<std::uint32_t, ways> lines;
    };
    struct alignas(64) Line {
        std::byte bytes[64];
    };
    struct alignas(4096) Table {
        std::array<Set, std::size_t{1} << set_bits> sets;
        std::array<Line, lines_at_most> lines;
    };
    static constexpr std::uint32_t lines_of(std::size_t bytes) noexcept {
        return static_cast<std::uint32_t>((bytes + sizeof(Line) - 1) / sizeof(Line));
    }

    ZeroedArray<Table> table_{1};
    std::uint32_t used_ = 0;
    std::uint32_t next_ = 0;
};

}  // namespace streamsan::recorder::call_sites
