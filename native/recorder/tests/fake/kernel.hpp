// A kernel of the fake device: a name and the layout of its parameters; nothing runs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace fake {

struct Kernel {
    static constexpr std::uint64_t mark = 0x6c656e72656b2e31;

    /// `parameter_sizes` in bytes; each parameter is aligned to its size, at most 8.
    constexpr Kernel(const char* mangled_name, std::initializer_list<std::size_t> parameter_sizes)
        : mangled(mangled_name) {
        std::size_t at = 0;
        for (const std::size_t size : parameter_sizes) {
            const std::size_t alignment = size >= 8 ? 8 : size;
            at = (at + alignment - 1) / alignment * alignment;
            offsets[count] = at;
            sizes[count++] = size;
            at += size;
        }
        bytes = at;
    }

    std::uint64_t kind = mark;
    const char* mangled;
    std::size_t count = 0;
    std::size_t bytes = 0;
    std::size_t offsets[16]{};
    std::size_t sizes[16]{};
};

}  // namespace fake
