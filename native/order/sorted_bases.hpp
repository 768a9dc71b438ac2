// Base addresses in order, in short sorted blocks: finds the range that an interior address lies in.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "flat_map.hpp"

namespace streamsan::order {

class SortedBases {
public:
    void insert(std::uint64_t base, std::uint32_t index) {
        if (blocks_.empty()) {
            blocks_.push_back({{base, index}});
            firsts_.push_back(base);
            return;
        }
        const std::size_t which = block_of(base);
        std::vector<Entry>& block = blocks_[which];
        block.insert(std::lower_bound(block.begin(), block.end(), base, before), {base, index});
        firsts_[which] = block.front().base;
        if (block.size() > largest_block) split(which);
    }

    void erase(std::uint64_t base) {
        if (blocks_.empty()) return;
        const std::size_t which = block_of(base);
        std::vector<Entry>& block = blocks_[which];
        const auto at = std::lower_bound(block.begin(), block.end(), base, before);
        if (at == block.end() || at->base != base) return;
        block.erase(at);
        if (block.empty()) {
            blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(which));
            firsts_.erase(firsts_.begin() + static_cast<std::ptrdiff_t>(which));
        } else {
            firsts_[which] = block.front().base;
        }
    }

    /// The index whose base is the greatest not above `address`, or `none`.
    [[nodiscard]] std::uint32_t last_not_above(std::uint64_t address) const {
        if (blocks_.empty() || address < firsts_.front()) return none;
        const std::vector<Entry>& block = blocks_[block_of(address)];
        auto at = std::lower_bound(block.begin(), block.end(), address, before);
        if (at != block.end() && at->base == address) return at->index;
        return at == block.begin() ? none : (--at)->index;
    }

private:
    struct Entry {
        std::uint64_t base;
        std::uint32_t index;
    };
    static constexpr std::size_t largest_block = 256;

    static bool before(const Entry& entry, std::uint64_t value) { return entry.base < value; }

    [[nodiscard]] std::size_t block_of(std::uint64_t address) const {
        const auto after = std::upper_bound(firsts_.begin(), firsts_.end(), address);
        return after == firsts_.begin() ? 0 : static_cast<std::size_t>(after - firsts_.begin()) - 1;
    }

    void split(std::size_t which) {
        const auto middle = static_cast<std::ptrdiff_t>(blocks_[which].size() / 2);
        std::vector<Entry> upper(blocks_[which].begin() + middle, blocks_[which].end());
        blocks_[which].erase(blocks_[which].begin() + middle, blocks_[which].end());
        const std::uint64_t first = upper.front().base;
        blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(which) + 1, std::move(upper));
        firsts_.insert(firsts_.begin() + static_cast<std::ptrdiff_t>(which) + 1, first);
    }

    std::vector<std::vector<Entry>> blocks_;
    std::vector<std::uint64_t> firsts_;
};

}  // namespace streamsan::order
