// Sums and products of bytes that a program may have got wrong: they stop at a limit instead of wrapping.
#pragma once
#include <cstdint>

namespace streamsan::recorder::cuda {

constexpr std::uint64_t largest_extent = std::uint64_t{1} << 62;

constexpr std::uint64_t product(std::uint64_t one, std::uint64_t other) {
    std::uint64_t bytes = 0;
    return __builtin_mul_overflow(one, other, &bytes) || bytes > largest_extent ? largest_extent : bytes;
}

constexpr std::uint64_t sum(std::uint64_t one, std::uint64_t other) {
    std::uint64_t bytes = 0;
    return __builtin_add_overflow(one, other, &bytes) || bytes > largest_extent ? largest_extent : bytes;
}

}  // namespace streamsan::recorder::cuda
