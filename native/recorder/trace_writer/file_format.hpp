// The bytes of an .sst file around the slots, as docs/trace-format.md specifies them: the C++ face of
// src/streamsan/trace/file_layout.py.
#pragma once
#include <cstddef>
#include <cstdint>

namespace streamsan::recorder {

constexpr std::uint32_t byte_order_mark = 0x01020304;
constexpr std::uint16_t major_version = 1;
constexpr std::uint16_t minor_version = 6;

// What a reader accepts of one file.
constexpr std::uint64_t most_metadata = 1u << 20;
constexpr std::uint32_t most_segments = 1u << 18;
constexpr std::uint32_t most_threads = 1u << 16;
constexpr std::uint32_t most_apis = 1u << 16;
constexpr std::uint64_t most_table_bytes = 1u << 27;
constexpr std::uint32_t most_strings = 1u << 22;
constexpr std::uint32_t most_string_bytes = 1u << 16;
constexpr std::uint32_t most_modules = 1u << 16;
constexpr std::uint32_t most_module_bytes = 4096;
constexpr std::uint32_t most_launch_shapes = 1u << 17;

// What a recorder keeps of launch shapes in one process: this many whole, then those without arguments, grid and block.
constexpr std::uint32_t most_whole_shapes = 1u << 16;
constexpr std::uint64_t most_shape_bytes = 24u << 20;
constexpr std::uint64_t most_whole_shape_bytes = 16u << 20;
// Of one kernel so many whole that are met once; four times as many that are met again.
constexpr std::uint32_t most_new_shapes_of_kernel = 1u << 10;
constexpr std::uint64_t most_new_shape_bytes_of_kernel = 256u << 10;

struct FileHeader {
    char magic[8];
    std::uint32_t byte_order;
    std::uint16_t major;
    std::uint16_t minor;
    std::uint32_t header_size;
    std::uint32_t metadata_size;
    std::uint32_t slot_size;
    std::uint8_t spare[36];
};
static_assert(sizeof(FileHeader) == 64);

enum class SegmentType : std::uint16_t {
    operations = 1,
    strings = 2,
    sites = 3,
    threads = 4,
    apis = 5,
    metadata = 6,
    end = 7,
    modules = 8,
    launch_shapes = 12,
};

constexpr std::uint16_t segment_flag_snapshot = 1;

struct SegmentHeader {
    char magic[8];
    std::uint16_t type;
    std::uint16_t flags;
    std::uint32_t lane;
    std::uint64_t offset;
    std::uint64_t capacity;
    std::uint64_t first;
    std::uint8_t spare[16];
    std::uint64_t commit;
};
static_assert(sizeof(SegmentHeader) == 64 && offsetof(SegmentHeader, commit) == 56);

/// What `commit` holds for so many committed bytes.
constexpr std::uint64_t commit_mark(std::uint64_t bytes) { return std::uint64_t{0x5353} << 48 | bytes; }

struct PackedSite {
    std::uint32_t file;
    std::uint32_t function;
    std::uint32_t text;
    std::uint32_t label;
    std::uint32_t line;
    std::uint32_t column;
    std::uint32_t end_line;
    std::uint32_t end_column;
    std::uint32_t caller;
    std::uint32_t module;
    std::uint64_t offset;
    std::uint8_t spare[16];
};
static_assert(sizeof(PackedSite) == 64 && offsetof(PackedSite, module) == 36 && offsetof(PackedSite, offset) == 40);

struct PackedThread {
    std::uint32_t process;
    std::uint32_t name;
    std::uint8_t spare[8];
};
static_assert(sizeof(PackedThread) == 16);

/// Places (PackedPlace) and arguments follow it.
struct PackedLaunchShape {
    std::uint32_t symbol;
    std::uint32_t code;
    std::uint32_t grid[3];
    std::uint32_t block[3];
    std::uint32_t shared;
    std::uint16_t places;
    std::uint16_t arguments;
};
static_assert(sizeof(PackedLaunchShape) == 40 && offsetof(PackedLaunchShape, places) == 36);

/// Where a memory reference stands in a kernel's argument buffer; or, two in a row, where bytes begin and end that are
/// not told (`not_told`).
struct PackedPlace {
    std::uint16_t reference;
    std::uint16_t offset;
};
static_assert(sizeof(PackedPlace) == 4);
constexpr std::uint16_t not_told = 0xffff;  // in the place of a reference's index

struct PackedEnd {
    std::uint64_t operations;
    std::uint64_t slots;
    std::uint8_t spare[48];
};
static_assert(sizeof(PackedEnd) == 64);

}  // namespace streamsan::recorder
