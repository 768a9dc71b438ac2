// What a thread launched before: as long as nothing of a kernel changes, its next launch takes no lock and looks
// nothing up. That is more than half of what a launch would cost.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "recorder/opencl/abi.hpp"
#include "recorder/trace_writer/references.hpp"

namespace streamsan::recorder::opencl {

/// How many work-items a launch without an offset has, as the program said it.
struct WorkLists {
    std::uint32_t dimensions;  ///< 0: a task
    bool grouped;              ///< how many a group has was said, too
    std::array<abi::Word, 3> items;
    std::array<abi::Word, 3> group;
};

/// What a launch without an offset is written with, on whatever queue.
struct PreparedLaunch {
    static constexpr std::size_t most_references = 6;

    abi::Word kernel;
    abi::Word object;      ///< of its operation
    std::uint32_t change;  ///< `changes_of` the kernel before it was looked at
    std::uint32_t name;    ///< string id
    std::uint32_t count;
    WorkLists lists;
    std::array<Reference, most_references> references;
};

/// Counts what happens to a kernel: it is made, an argument is set, it is released. Others may share the count.
std::uint32_t changes_of(abi::Word kernel);
void kernel_changed(abi::Word kernel);
/// In a forked child: ids of the parent's file mean nothing there.
void forget_prepared_launches();

/// The calling thread's; null: it has none, or the kernel has changed.
const PreparedLaunch* prepared_launch(abi::Word kernel);
/// Where to write one, in place of another.
PreparedLaunch& place_for_launch(abi::Word kernel);

}  // namespace streamsan::recorder::opencl
