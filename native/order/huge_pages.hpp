// An allocator for the large tables that are met in random order.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace streamsan::order {

/// Asks for huge pages where a table is large enough to fill them. With 100,000 allocations nearly every look-up would
/// otherwise miss the translation cache too, which costs as much as the look-up.
template <class T>
struct HugePages {
    using value_type = T;

    HugePages() = default;
    template <class U>
    HugePages(const HugePages<U>&) noexcept {}

    T* allocate(std::size_t count) {
        if (count > static_cast<std::size_t>(-1) / 2 / sizeof(T)) throw std::bad_alloc();
        const std::size_t bytes = count * sizeof(T);
        const std::size_t unit = bytes >= huge ? huge : alignof(T) > line ? alignof(T) : line;
        const std::size_t rounded = (bytes + unit - 1) / unit * unit;
        void* memory = std::aligned_alloc(unit, rounded);
        if (memory == nullptr) throw std::bad_alloc();
#if defined(__linux__)
        if (unit == huge) (void)madvise(memory, rounded, MADV_HUGEPAGE);
#endif
        return static_cast<T*>(memory);
    }

    void deallocate(T* memory, std::size_t) noexcept { std::free(memory); }

    friend bool operator==(const HugePages&, const HugePages&) { return true; }

private:
    static constexpr std::size_t huge = std::size_t{2} << 20;
    static constexpr std::size_t line = 64;
};

}  // namespace streamsan::order
