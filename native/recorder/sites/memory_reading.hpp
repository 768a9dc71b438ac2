// Reading memory of this process by address: other people's structures, whose C types we do not have.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace streamsan::recorder::call_sites {

/// The value of type T at `address`; the caller knows that it is mapped. Never a call, and never instrumented: what is
/// read belongs to others (stacks with a sanitizer's red zones, say).
template <class T>
[[gnu::always_inline]] inline T load(std::uint64_t address) noexcept {
    T value;
    __builtin_memcpy(&value, reinterpret_cast<const void*>(address), sizeof(T));
    return value;
}

}  // namespace streamsan::recorder::call_sites
