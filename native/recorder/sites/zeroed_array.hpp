// Tables that are large and mostly unused.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace streamsan::recorder::call_sites {

struct Freed {
    void operator()(void* memory) const noexcept { std::free(memory); }
};
/// An array whose elements are all zero bytes at first. The system gives its pages as they are touched.
template <class T> using ZeroedArray = std::unique_ptr<T[], Freed>;

template <class T> ZeroedArray<T> zeroed_array(std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    void* const memory = std::calloc(count, sizeof(T));
    if (memory == nullptr) throw std::bad_alloc();
    return ZeroedArray<T>(static_cast<T*>(memory));
}

}  // namespace streamsan::recorder::call_sites
