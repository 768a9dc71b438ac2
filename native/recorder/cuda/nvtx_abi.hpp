// What NVTX's extension for memory gives a tool, version 3 of NVTX, 1.2 of the extension, as its headers document it.
// Nothing of NVTX is needed to build this.
#pragma once
#include <cstddef>
#include <cstdint>

namespace streamsan::recorder::nvtx {

constexpr std::uint16_t memory_module = 1;
constexpr std::uint16_t memory_version = 0x0102;

/// The program's functions go through places of one word, in this order.
enum class Slot : std::size_t {
    heap_register = 0,
    heap_unregister = 1,
    heap_reset = 2,
    regions_register = 3,
    regions_resize = 4,
    regions_unregister = 5,
};

struct Segment {
    std::size_t id;
    std::size_t count;
    std::intptr_t* slots;
};

/// One copy of NVTX in the program, and its extension that asks for a tool.
struct Module {
    std::uint16_t nvtx_version;
    std::uint16_t size;
    std::uint16_t module;
    std::uint16_t version;
    std::size_t segment_count;
    Segment* segments;
    void* export_function;
    const void* info;
};

using Domain = const void*;
/// A heap and a region are named by where they begin.
using Handle = std::uintptr_t;
constexpr Handle process_wide = 0;
constexpr Handle no_tool = UINTPTR_MAX;

struct Range {
    std::size_t size;
    std::uintptr_t address;
};

constexpr std::uint32_t virtual_addresses = 1;  ///< the type of a heap, and of regions
constexpr std::uint32_t sub_allocator = 1;      ///< the usage of a heap

struct Heap {
    std::uint16_t version;
    std::uint16_t size;
    std::uint32_t spare;
    std::uint32_t usage;
    std::uint32_t type;
    std::size_t description_size;
    const void* description;  ///< a Range
};

struct NewRegions {
    std::uint16_t version;
    std::uint16_t size;
    std::uint32_t type;
    Handle heap;
    std::size_t count;
    std::size_t element_size;
    const void* elements;  ///< Ranges
    Handle* handles;       ///< for each its name; null where the program does not ask
};

struct ResizedRegions {
    std::uint16_t version;
    std::uint16_t size;
    std::uint32_t type;
    std::size_t count;
    std::size_t element_size;
    const void* elements;  ///< Ranges
};

struct OldRegions {
    std::uint16_t version;
    std::uint16_t size;
    std::uint32_t reference;  ///< 1: by pointer, 2: by handle
    std::size_t count;
    std::size_t element_size;
    const void* elements;  ///< Handles, or pointers to where they begin
};

static_assert(sizeof(Module) == 40 && offsetof(Module, segments) == 16 && sizeof(Segment) == 24);
static_assert(offsetof(Heap, usage) == 8 && offsetof(Heap, description) == 24);
static_assert(offsetof(NewRegions, heap) == 8 && offsetof(NewRegions, handles) == 40 && sizeof(NewRegions) == 48);
static_assert(offsetof(ResizedRegions, count) == 8 && sizeof(ResizedRegions) == 32);
static_assert(offsetof(OldRegions, elements) == 24 && sizeof(OldRegions) == 32);

}  // namespace streamsan::recorder::nvtx
