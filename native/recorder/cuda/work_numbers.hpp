// Which operation a call wrote, by the number that CUPTI gave the call.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "recorder/sites/zeroed_array.hpp"

namespace streamsan::recorder::cuda {

/// Without locks: threads that launch write it, whoever is given CUPTI's records reads it. The last million calls are
/// known, older ones are not mistaken for others.
class WorkNumbers {
public:
    /// In place of a number: the call waits, and its operation is numbered when it returns.
    static constexpr std::uint64_t awaited = (std::uint64_t{1} << 52) - 1;

    void note(std::uint32_t correlation, std::uint64_t sequence) noexcept {
        entry(correlation).store(sequence << tag_bits | tag(correlation), std::memory_order_release);
    }
    /// 0: not known; or `awaited`.
    [[nodiscard]] std::uint64_t sequence_of(std::uint32_t correlation) const noexcept {
        const std::uint64_t found = entry(correlation).load(std::memory_order_acquire);
        return (found & ((std::uint64_t{1} << tag_bits) - 1)) == tag(correlation) ? found >> tag_bits : 0;
    }

private:
    static constexpr unsigned index_bits = 20;
    static constexpr unsigned tag_bits = 32 - index_bits;
    static_assert(awaited == ~std::uint64_t{0} >> tag_bits);

    static std::uint64_t tag(std::uint32_t correlation) { return correlation >> index_bits; }
    [[nodiscard]] std::atomic_ref<std::uint64_t> entry(std::uint32_t correlation) const noexcept {
        return std::atomic_ref(entries_[correlation & ((std::uint32_t{1} << index_bits) - 1)]);
    }

    call_sites::ZeroedArray<std::uint64_t> entries_{std::size_t{1} << index_bits};
};

}  // namespace streamsan::recorder::cuda
