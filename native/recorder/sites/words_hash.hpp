// A hash of some dozen words, made while they are read.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace streamsan::recorder::call_sites {

/// Four chains side by side, for a multiplication takes longer than a load. Two lists of words that a program makes
/// agree by chance once in 2^64.
class WordsHash {
public:
    /// The word at `index` of the list: 0, 1, 2, ...
    void add(std::size_t index, std::uint64_t word) noexcept {
        std::uint64_t& chain = chains_[index % chains_.size()];
        chain = std::rotl((chain ^ word) * odd, 29);
    }
    [[nodiscard]] std::uint64_t value() const noexcept {
        std::uint64_t all = 0;
        for (const std::uint64_t chain : chains_) all = std::rotl((all ^ chain) * odd, 31);
        return all;
    }

private:
    static constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
    std::array<std::uint64_t, 4> chains_{1, 2, 3, 4};
};

}  // namespace streamsan::recorder::call_sites
