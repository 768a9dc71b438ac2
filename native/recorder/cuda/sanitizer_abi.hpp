// The types of NVIDIA's Sanitizer API that the recorder looks into, declared here as those of CUPTI are in
// cuda/abi.hpp. native/recorder/tests/sanitizer_abi.cpp compares them with the real headers.
#pragma once
#include <cstddef>
#include <cstdint>

#include "recorder/cuda/abi.hpp"

namespace streamsan::recorder::cuda::abi {

/// SanitizerResult.
using SanitizerStatus = std::int32_t;
constexpr SanitizerStatus sanitizer_success = 0;
constexpr SanitizerStatus sanitizer_max_limit_reached = 10;

/// Sanitizer_SubscriberHandle, Sanitizer_StreamHandle, Sanitizer_LaunchHandle.
using SanitizerSubscriber = void*;
using SanitizerStream = void*;
using SanitizerLaunch = void*;

/// Sanitizer_CallbackDomain.
enum class SanitizerDomain : std::int32_t { driver = 1, runtime = 2, resource = 3, launch = 5, graphs = 10 };

/// Sanitizer_CallbackIdResource.
enum class SanitizerResource : std::uint32_t {
    init_finished = 1,
    context_creation_finished = 3,
    context_destroy_starting = 4,
    module_loaded = 9,
    module_unload_starting = 10,
};

/// Sanitizer_CallbackIdLaunch.
constexpr std::uint32_t sanitizer_launch_begin = 1;

/// Sanitizer_CallbackIdGraphs.
constexpr std::uint32_t sanitizer_node_launch_begin = 4;

/// Sanitizer_InstructionId.
enum class PatchedInstruction : std::int32_t {
    block_enter = 1,
    global_memory = 3,
    memcpy_async = 14,
    bulk_copy_global_to_shared = 30,
    bulk_copy_shared_to_global = 35,
    bulk_reduction_shared_to_global = 37,
};

/// Sanitizer_CallbackData.
struct SanitizerCallbackData {
    CallbackSite site;
    const char* function_name;
    const void* parameters;
    const Status* returned;
    const char* symbol;
    Word context;
};

/// Sanitizer_ResourceContextData begins so, in all versions.
struct SanitizerContextData {
    Word context;
};

/// Sanitizer_ResourceModuleData begins so.
struct SanitizerModuleData {
    Word context;
    Word module;
    std::size_t cubin_size;
    const char* cubin;
};

/// Sanitizer_LaunchData begins so.
struct SanitizerLaunchData {
    Word context;
    Word stream;
    SanitizerStream stream_handle;
    Word module;
    Word function;
    const char* function_name;
    std::uint32_t grid[3];
    std::uint32_t block[3];
    std::uint32_t cluster[3];
    std::uint64_t grid_id;
    SanitizerLaunch launch;
};

/// Sanitizer_GraphNodeLaunchData begins so; `kernel` counts where the node is one.
struct SanitizerNodeLaunchData {
    Word graph_exec;
    std::uint32_t launch_id;
    Word node;
    NodeType node_type;
    SanitizerLaunchData kernel;
};

using SanitizerCallback = void (*)(void* data, SanitizerDomain domain, std::uint32_t id, const void* callback_data);

}  // namespace streamsan::recorder::cuda::abi
