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
        chains_[index % chains_.size()] = longer(chains_[index % chains_.size()], word);
    }
    [[nodiscard]] std::uint64_t value() const noexcept {
        std::uint64_t all = 0;
        for (const std::uint64_t chain : chains_) all = std::rotl((all ^ chain) * odd, 31);
        return all;
    }
    /// One chain with one more word.
    [[nodiscard]] static std::uint64_t longer(std::uint64_t chain, std::uint64_t word) noexcept {
        return std::rotl((chain ^ word) * odd, 29);
    }
    /// Of a whole list, in less than half the time: the chains stay in registers.
    template <class WordAt>
    [[nodiscard, gnu::always_inline]] static std::uint64_t of(std::size_t count, WordAt word_at) noexcept {
        WordsHash hash;
        auto& [first, second, third, fourth] = hash.chains_;
        std::size_t index = 0;
        for (; count - index >= 4; index += 4) {
            first = longer(first, word_at(index));
            second = longer(second, word_at(index + 1));
            third = longer(third, word_at(index + 2));
            fourth = longer(fourth, word_at(index + 3));
        }
        if (index < count) first = longer(first, word_at(index));
        if (index + 1 < count) second = longer(second, word_at(index + 1));
        if (index + 2 < count) third = longer(third, word_at(index + 2));
        return hash.value();
    }

private:
    static constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
    std::array<std::uint64_t, 4> chains_{1, 2, 3, 4};
};

}  // namespace streamsan::recorder::call_sites
