// Kernels: what each holds when it is enqueued.
#pragma once
#include <cstdint>
#include <mutex>
#include <vector>

#include "recorder/opencl/kernel_shapes.hpp"
#include "recorder/opencl/live_objects.hpp"
#include "recorder/opencl/program_images.hpp"

namespace streamsan::recorder::opencl {

/// What the program has set for one argument.
struct KernelArgument {
    /// Where the argument can name memory, and how the kernel uses that.
    enum class Sort : std::uint8_t { not_asked, value, memory, pointer, not_told };
    Sort sort = Sort::not_asked;
    std::uint8_t mode = static_cast<std::uint8_t>(AccessMode::OPAQUE);
    bool set = false;
    bool changed = false;           ///< its number, since it was first set
    std::uint8_t number_bytes = 0;  ///< 0: it has no number, or that is left out
    std::uint64_t number = 0;
    Word sub_buffer = 0;  ///< its handle, where that is what was set
    Reference reference{};
};

/// What clSetKernelExecInfo told: pointers of one sort.
struct HeldPointers {
    std::uint32_t sort = 0;
    std::vector<Word> places;
};

/// Arguments are kept by what they named when they were set: a kernel holds no reference to them (5.9.2).
struct Kernel {
    std::mutex mutex;
    std::uint32_t name = 0;  ///< string id of its function
    std::vector<KernelArgument> arguments;
    std::vector<HeldPointers> pointers;  ///< of clSetKernelExecInfo
    ProgramBuilds builds;                ///< of its program, when it was made
    KernelShapes shapes;
};

/// What a kernel holds when it is recorded into a command buffer.
struct HeldMemory {
    std::uint32_t name = 0;  ///< string id of the kernel's function
    std::uint64_t shape = 0;
    std::vector<Reference> references;
    std::vector<Word> sub_buffers;
};
HeldMemory held_by(Word kernel, Word queue, const GlobalOffset& offset, const LaunchSizes& sizes);

/// Where the indices of the work-items begin; `offset`: of the program's list.
GlobalOffset offset_at(Word offset, Word dimensions);

/// How many there are, in all and in a group, of the program's lists.
LaunchSizes sizes_at(Word items, Word group, Word dimensions);

/// Whether an NDRange has no work-item: such a command does nothing but wait for its wait list (since 2.1).
bool is_empty(Word sizes, Word dimensions);

}  // namespace streamsan::recorder::opencl
