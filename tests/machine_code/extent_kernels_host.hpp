// The kernels on the host: pointers that log what is touched through them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

using std::max;
using std::min;

struct Index {
    unsigned x, y, z;
};
inline Index blockIdx, threadIdx, gridDim, blockDim;
inline void __syncthreads() {}

struct float4 {
    float x, y, z, w;
};

inline std::uint64_t seed;
// Word and mode ('r', 'w', 'u') -> begins and ends of accesses.
inline std::map<std::pair<int, char>, std::vector<std::pair<long long, long long>>> touched;

// A pointer: the word of the parameters plus one above, a distance below (from the middle of 48 bits).
constexpr int word_shift = 48;
constexpr std::uint64_t middle = std::uint64_t(1) << 47;

inline void touch(std::uint64_t bits, char mode, int size) {
    const int word = int(bits >> word_shift) - 1;
    const auto offset = (long long)(bits & ((std::uint64_t(1) << word_shift) - 1)) - (long long)middle;
    touched[{word, mode}].emplace_back(offset, offset + size);
}

template <class T>
T value_at(std::uint64_t bits) {
    std::uint64_t mixed = (bits ^ seed) * 0x9E3779B97F4A7C15ull;
    mixed ^= mixed >> 29;
    if constexpr (std::is_arithmetic_v<T>)
        return T((mixed >> 7) % 9);
    else
        return T{};
}

template <class T>
struct Reference {
    std::uint64_t bits;
    using Plain = std::remove_const_t<T>;
    operator Plain() const {
        touch(bits, 'r', sizeof(T));
        return value_at<Plain>(bits);
    }
    Reference& operator=(Plain) {
        touch(bits, 'w', sizeof(T));
        return *this;
    }
    Reference& operator=(const Reference& other) { return *this = Plain(other); }
    Reference& operator+=(Plain more) { return *this = Plain(Plain(*this) + more); }
};

template <class T>
struct P {
    std::uint64_t bits;
    template <class I>
    P operator+(I count) const {
        return {bits + std::uint64_t((long long)(count)) * sizeof(T)};
    }
    template <class I>
    Reference<T> operator[](I at) const {
        return {(*this + at).bits};
    }
};

template <class U, class T>
P<U> cast(P<T> p) {
    return {p.bits};
}

template <class T, class V>
void atomicAdd(P<T> p, V) {
    touch(p.bits, 'u', sizeof(T));
}
