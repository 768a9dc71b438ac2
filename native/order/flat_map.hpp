// A hash map from 64-bit keys to 32-bit indices: open addressing, linear probing, no node allocation.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "huge_pages.hpp"

namespace streamsan::order {

constexpr std::uint32_t none = 0xFFFFFFFFU;

/// Spreads a key over all bits, so that aligned addresses do not collide.
inline std::uint64_t spread(std::uint64_t key) {
    key ^= key >> 32;
    key *= 0x9E3779B97F4A7C15ULL;
    return key ^ (key >> 29);
}

class FlatMap {
public:
    FlatMap() : cells_(16) {}

    [[nodiscard]] std::uint32_t find(std::uint64_t key) const {
        for (std::size_t at = home(key);; at = (at + 1) & mask()) {
            const Cell& cell = cells_[at];
            if (cell.value == none) return none;
            if (cell.key == key) return cell.value;
        }
    }

    [[gnu::always_inline]] inline void prefetch(std::uint64_t key) const { __builtin_prefetch(&cells_[home(key)]); }

    /// Sets a key. `value` is never `none`.
    void set(std::uint64_t key, std::uint32_t value) {
        if ((used_ + 1) * 4 > cells_.size() * 3) grow();
        for (std::size_t at = home(key);; at = (at + 1) & mask()) {
            Cell& cell = cells_[at];
            if (cell.value == none) {
                cell = {key, value};
                ++used_;
                return;
            }
            if (cell.key == key) {
                cell.value = value;
                return;
            }
        }
    }

    /// The value of a key; a new key gets `next`, the number of the record that the caller makes for it.
    std::uint32_t number(std::uint64_t key, std::size_t next) {
        const std::uint32_t known = find(key);
        if (known != none) return known;
        set(key, static_cast<std::uint32_t>(next));
        return static_cast<std::uint32_t>(next);
    }

    void erase(std::uint64_t key) {
        std::size_t hole = home(key);
        while (cells_[hole].value != none && cells_[hole].key != key) hole = (hole + 1) & mask();
        if (cells_[hole].value == none) return;
        --used_;
        // Moves later cells of the run back, so that no tombstones are left behind.
        for (std::size_t at = (hole + 1) & mask(); cells_[at].value != none; at = (at + 1) & mask()) {
            const std::size_t wanted = home(cells_[at].key);
            if (((at - wanted) & mask()) >= ((at - hole) & mask())) {
                cells_[hole] = cells_[at];
                hole = at;
            }
        }
        cells_[hole].value = none;
    }

    void clear() {
        cells_.assign(16, Cell{});
        used_ = 0;
    }

    [[nodiscard]] std::size_t size() const { return used_; }

private:
    struct Cell {
        std::uint64_t key = 0;
        std::uint32_t value = none;
    };

    using Cells = std::vector<Cell, HugePages<Cell>>;

    [[nodiscard]] std::size_t mask() const { return cells_.size() - 1; }
    [[nodiscard]] std::size_t home(std::uint64_t key) const { return static_cast<std::size_t>(spread(key)) & mask(); }

    void grow() {
        Cells old(cells_.size() * 2);
        old.swap(cells_);
        used_ = 0;
        for (const Cell& cell : old) {
            if (cell.value != none) set(cell.key, cell.value);
        }
    }

    Cells cells_;
    std::size_t used_ = 0;
};

}  // namespace streamsan::order
