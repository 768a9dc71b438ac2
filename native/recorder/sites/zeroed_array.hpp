// Tables that are large and mostly unused.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace streamsan::recorder::call_sites {

/// An array whose elements are all zero bytes at first. The system gives its pages as they are touched.
template <class T>
class ZeroedArray {
public:
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

    // calloc, alone, leaves fresh pages of the system untouched; it aligns to 16 bytes.
    explicit ZeroedArray(std::size_t count) : memory_(std::calloc(count * sizeof(T) + alignof(T), 1)) {
        if (memory_ == nullptr) throw std::bad_alloc();
        const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
        first_ = reinterpret_cast<T*>((address + alignof(T) - 1) / alignof(T) * alignof(T));
    }
    [[nodiscard]] T* get() const noexcept { return first_; }
    T& operator[](std::size_t index) const noexcept { return first_[index]; }

private:
    struct Freed {
        void operator()(void* memory) const noexcept { std::free(memory); }
    };
    std::unique_ptr<void, Freed> memory_;
    T* first_;
};

}  // namespace streamsan::recorder::call_sites
