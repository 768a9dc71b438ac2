// Layouts of CPython 3.13 and 3.14 from blocks of published offsets made here, with numbers that tell where each came
// from.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "recorder/sites/python_layout.hpp"

using namespace streamsan::recorder::call_sites;

namespace {

struct Shape {
    unsigned interpreter;
    unsigned frame;
    unsigned code;
};

std::vector<std::uint64_t> block(std::uint64_t version, std::uint64_t free_threaded, Shape shape) {
    std::vector<std::uint64_t> words(3);
    std::memcpy(words.data(), "xdebugpy", 8);
    words[1] = version;
    words[2] = free_threaded;
    const auto group = [&](std::uint64_t size, unsigned count, std::vector<std::uint64_t> members) {
        members.resize(count - 1, 0);
        words.push_back(size);
        words.insert(words.end(), members.begin(), members.end());
    };
    group(1000, 3, {11, 12});
    group(3000, shape.interpreter, {21, 22, 23, 24, 25});
    group(400, 9, {8, 16, 24, 72, 88});          // thread: frame at 72
    group(96, shape.frame, {8, 0, 56, 80, 74});  // previous, code, instruction, local variables, owner
    group(208, shape.code, {112, 120, 128, 136, 68, 52, 96, 104, 200});
    group(16, 2, {8});
    group(400, 4, {24, 88, 168});
    words.resize(words.size() + 60, 8);
    return words;
}

bool right(const std::vector<std::uint64_t>& words, std::uint32_t version, unsigned kind_bit, std::uint64_t mask) {
    const auto layout = python_layout(version, reinterpret_cast<std::uint64_t>(words.data()));
    return layout && layout->state_frame == 72 && layout->frame_previous == 8 && layout->frame_code == 0 &&
           layout->frame_instruction == 56 && layout->frame_owner == 74 && layout->code_file == 112 &&
           layout->code_name == 128 && layout->code_lines == 136 && layout->code_first_line == 68 &&
           layout->code_instructions == 200 && layout->code_version == (kind_bit == 2 ? 92 : PythonLayout::absent) &&
           layout->text_kind_bit == kind_bit && layout->code_mask == mask;
}

int failures = 0;
void require(bool good, const char* what) {
    if (good) return;
    std::printf("failed: %s\n", what);
    ++failures;
}

}  // namespace

int main() {
    constexpr std::uint32_t v13 = 0x030d00f0;
    constexpr std::uint32_t v14 = 0x030e02f0;
    constexpr std::uint64_t all = ~std::uint64_t{0};
    require(right(block(v13, 0, {13, 6, 10}), v13, 2, all), "3.13");
    for (const Shape shape : {Shape{13, 6, 10}, Shape{14, 7, 10}, Shape{16, 8, 11}})
        require(right(block(v14, 0, shape), v14, 16, all - 3), "3.14");
    const auto none = [](const std::vector<std::uint64_t>& words, std::uint32_t version) {
        return !python_layout(version, reinterpret_cast<std::uint64_t>(words.data()));
    };
    require(none(block(v13, 1, {13, 6, 10}), v13), "a free-threaded build");
    require(none(block(v13, 0, {13, 6, 10}), v13 + 0x100), "another version than the library's");
    require(none(block(v13, 0, {15, 6, 10}), v13), "another shape");
    std::vector<std::uint64_t> other = block(v13, 0, {13, 6, 10});
    other[0] ^= 1;
    require(none(other, v13), "another cookie");
    other = block(v13, 0, {13, 6, 10});
    other[3 + 3 + 13 + 9 + 6 + 7] = 104;  // the names of variables lie elsewhere
    const auto unlike = python_layout(v13, reinterpret_cast<std::uint64_t>(other.data()));
    require(unlike && unlike->code_version == PythonLayout::absent,
            "numbers in other places than those that are known");
    require(none(block(0x030f00f0, 0, {13, 6, 10}), 0x030f00f0), "a version that is not known");
    require(!python_layout(v13, 0), "no runtime");
    require(!python_layout(0x03080000, 0) && !python_layout(0x02071200, 0) && !python_layout(0, 0), "old versions");
    for (const std::uint32_t version : {0x03090000u, 0x030a0000u, 0x030b0000u, 0x030c0000u})
        require(python_layout(version, 0).has_value(), "own tables");
    return failures == 0 ? 0 : 1;
}
