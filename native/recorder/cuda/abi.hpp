// The types of the CUDA driver and of CUPTI that the recorder looks into, declared here: names, sizes and offsets are
// facts about the interface. So the package builds where no CUDA headers are. native/recorder/tests/cuda_abi.cpp
// compares them with the real headers. Handles and device addresses are 64-bit words, as in the trace; on the 64-bit
// systems that CUDA supports they are passed like pointers.
#pragma once
#include <cstddef>
#include <cstdint>

namespace streamsan::recorder::cuda::abi {

static_assert(sizeof(void*) == 8);

/// CUcontext, CUstream, CUevent, CUgraph, CUdeviceptr, ...
using Word = std::uint64_t;
/// CUresult and cudaError_t.
using Status = std::int32_t;

constexpr Status success = 0;

constexpr Word legacy_stream = 1;
constexpr Word per_thread_stream = 2;

// -- CUPTI ------------------------------------------------------------------------------------------------------------

/// CUptiResult.
using CuptiStatus = std::int32_t;
constexpr CuptiStatus cupti_success = 0;
constexpr CuptiStatus cupti_max_limit_reached = 12;  // before CUDA 12.x the answer when the slot is taken
constexpr CuptiStatus cupti_not_compatible = 14;
constexpr CuptiStatus cupti_insufficient_privileges = 35;
constexpr CuptiStatus cupti_multiple_subscribers = 39;

/// CUpti_SubscriberHandle.
using Subscriber = void*;

/// CUpti_CallbackDomain.
enum class Domain : std::int32_t { driver = 1, runtime = 2, resource = 3 };

/// CUpti_ApiCallbackSite.
enum class CallbackSite : std::int32_t { enter = 0, exit = 1 };

/// CUpti_CallbackIdResource.
enum class Resource : std::uint32_t {
    context_created = 1,
    context_destroy_starting = 2,
    init_finished = 5,
    module_loaded = 6,
    module_unload_starting = 7,
    graph_created = 9,
    graph_destroy_starting = 10,
    graph_cloned = 11,
    graph_node_created = 13,
    graph_exec_created = 18,
    graph_exec_destroy_starting = 19,
    graph_node_cloned = 20,
    graph_node_set_parameters = 23,
};

/// CUpti_CallbackData.
struct CallbackData {
    CallbackSite site;
    const char* function_name;
    const void* parameters;
    const Status* returned;
    const char* symbol;
    Word context;
    std::uint32_t context_uid;
    std::uint64_t* correlation_data;
    std::uint32_t correlation;
};

/// CUpti_ResourceData. `descriptor` is a GraphData for the graph resources, a ModuleData for those of modules.
struct ResourceData {
    Word context;
    Word stream;
    const void* descriptor;
};

/// CUpti_ModuleResourceData. The image is there during the callback only.
struct ModuleData {
    std::uint32_t module;
    std::size_t size;
    const unsigned char* image;
};

/// CUpti_GraphData.
struct GraphData {
    Word graph;
    Word original_graph;
    Word node;
    Word original_node;
    std::int32_t node_type;
    Word dependency;
    Word graph_exec;
};

/// CUpti_SubscriberParams, of CUDA 13.0.
struct SubscriberParameters {
    std::size_t size;
    const char* name;
    char* old_name;
    std::size_t old_name_size;
};
/// ... and of those in which several may subscribe (it is in 13.5).
struct SharedSubscriberParameters {
    SubscriberParameters first;
    std::uint8_t allow_multiple;
    std::uint8_t padding[7];
};
constexpr std::size_t least_old_name = 64;

using CallbackFunction = void (*)(void* data, Domain domain, std::uint32_t id, const void* callback_data);

// -- the driver -------------------------------------------------------------------------------------------------------

/// CUmemorytype.
enum class MemoryType : std::uint32_t { host = 1, device = 2, array = 3, unified = 4 };

/// CUDA_MEMCPY2D_v2: one side.
struct Side2D {
    std::size_t x;
    std::size_t y;
    MemoryType type;
    Word host;
    Word device;
    Word array;
    std::size_t pitch;
};

/// CUDA_MEMCPY2D_v2.
struct Copy2D {
    Side2D source;
    Side2D destination;
    std::size_t width;
    std::size_t height;
};

/// One side of CUDA_MEMCPY3D_v2 and of CUDA_MEMCPY3D_PEER_v1; `context` is the latter's, reserved in the former.
struct Side3D {
    std::size_t x;
    std::size_t y;
    std::size_t z;
    std::size_t lod;
    MemoryType type;
    Word host;
    Word device;
    Word array;
    Word context;
    std::size_t pitch;
    std::size_t height;
};

/// CUDA_MEMCPY3D_v2 and CUDA_MEMCPY3D_PEER_v1.
struct Copy3D {
    Side3D source;
    Side3D destination;
    std::size_t width;
    std::size_t height;
    std::size_t depth;
};

/// CUDA_ARRAY3D_DESCRIPTOR_v2.
struct ArrayDescriptor {
    std::size_t width;
    std::size_t height;
    std::size_t depth;
    std::uint32_t format;
    std::uint32_t channels;
    std::uint32_t flags;
};

/// CUlaunchAttribute: a value of 64 bytes, of which we read the first words.
struct LaunchAttribute {
    std::uint32_t id;
    std::uint32_t padding;
    std::uint64_t value[8];
};
constexpr std::uint32_t launch_attribute_cooperative = 2;
constexpr std::uint32_t launch_attribute_programmatic_serialization = 6;  // value: int
constexpr std::uint32_t launch_attribute_programmatic_event = 7;          // value: event, then flags
constexpr std::uint32_t launch_attribute_completion_event = 12;           // value: event, then flags
constexpr std::uint32_t launch_attribute_device_updatable = 13;

/// CUlaunchConfig.
struct LaunchConfig {
    std::uint32_t grid[3];
    std::uint32_t block[3];
    std::uint32_t shared_bytes;
    Word stream;
    const LaunchAttribute* attributes;
    std::uint32_t attribute_count;
};

/// CUDA_LAUNCH_PARAMS_v1, of cuLaunchCooperativeKernelMultiDevice.
struct LaunchParameters {
    Word function;
    std::uint32_t grid[3];
    std::uint32_t block[3];
    std::uint32_t shared_bytes;
    Word stream;
    void** arguments;
};

/// CUDA_KERNEL_NODE_PARAMS_v2 and _v3; _v1 ends before `kernel`.
struct KernelNode {
    Word function;
    std::uint32_t grid[3];
    std::uint32_t block[3];
    std::uint32_t shared_bytes;
    void** arguments;
    void** extra;
    Word kernel;
    Word context;
};

/// CUDA_MEMSET_NODE_PARAMS_v2; _v1 ends before `context`.
struct MemsetNode {
    Word destination;
    std::size_t pitch;
    std::uint32_t value;
    std::uint32_t element_size;
    std::size_t width;
    std::size_t height;
    Word context;
};

/// CUDA_MEMCPY_NODE_PARAMS.
struct CopyNode {
    std::int32_t flags;
    std::int32_t reserved;
    Word context;
    Copy3D copy;
};

/// CUDA_HOST_NODE_PARAMS_v1 and _v2.
struct HostNode {
    void (*function)(void*);
    void* user_data;
};

/// CUDA_CHILD_GRAPH_NODE_PARAMS; before CUDA 13 it ended before `ownership`.
struct ChildGraphNode {
    Word graph;
    std::int32_t ownership;
};

/// CUDA_EVENT_RECORD_NODE_PARAMS and CUDA_EVENT_WAIT_NODE_PARAMS.
struct EventNode {
    Word event;
};

/// CUmemLocation.
struct MemoryLocation {
    std::int32_t type;
    std::int32_t id;
};
constexpr std::int32_t location_device = 1;
constexpr std::int32_t location_host = 2;

/// CUmemAccessDesc.
struct AccessDescription {
    MemoryLocation location;
    std::int32_t flags;
};

/// CUmemPoolProps.
struct PoolProperties {
    std::int32_t allocation_type;
    std::int32_t handle_types;
    MemoryLocation location;
    void* security_attributes;
    std::size_t max_size;
    std::uint16_t usage;
    std::uint8_t reserved[54];
};

/// CUDA_MEM_ALLOC_NODE_PARAMS_v1 and _v2.
struct MemoryAllocNode {
    PoolProperties pool;
    const AccessDescription* access;
    std::size_t access_count;
    std::size_t bytes;
    Word address;
};

/// CUDA_MEM_FREE_NODE_PARAMS.
struct MemoryFreeNode {
    Word address;
};

/// CUstreamBatchMemOpType.
enum class MemoryOperation : std::uint32_t {
    wait_value_32 = 1,
    write_value_32 = 2,
    flush_remote_writes = 3,
    wait_value_64 = 4,
    write_value_64 = 5,
    barrier = 6,
    atomic_reduction = 8,
};

/// CUstreamBatchMemOpParams. `address` to `alias` count for waits and writes of values.
struct BatchMemoryOperation {
    MemoryOperation operation;
    Word address;
    std::uint64_t value;
    std::uint32_t flags;
    Word alias;
    std::uint64_t padding;
};

/// CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 and _v2.
struct BatchMemoryNode {
    Word context;
    std::uint32_t count;
    const BatchMemoryOperation* operations;
    std::uint32_t flags;
};

/// CUgraphNodeParams: what cuGraphAddNode and cuGraphNodeSetParams take.
struct NodeParameters {
    std::int32_t type;
    std::int32_t reserved[3];
    union {
        std::int64_t words[29];
        KernelNode kernel;
        CopyNode copy;
        MemsetNode memset;
        HostNode host;
        ChildGraphNode child;
        EventNode event;
        MemoryAllocNode alloc;
        MemoryFreeNode free;
        BatchMemoryNode memory_operations;
    };
    std::int64_t reserved_end;
};

/// CUgraphNodeType.
enum class NodeType : std::int32_t {
    kernel = 0,
    memcpy = 1,
    memset = 2,
    host = 3,
    graph = 4,
    empty = 5,
    wait_event = 6,
    event_record = 7,
    semaphores_signal = 8,
    semaphores_wait = 9,
    mem_alloc = 10,
    mem_free = 11,
    batch_mem_op = 12,
    conditional = 13,
};

/// CUstreamCaptureStatus.
enum class CaptureStatus : std::int32_t { none = 0, active = 1, invalidated = 2 };

/// CUlogLevel, and the callback of cuLogsRegisterCallback.
enum class LogLevel : std::int32_t { error = 0, warning = 1 };
using LogFunction = void (*)(void* data, LogLevel level, char* message, std::size_t length);

}  // namespace streamsan::recorder::cuda::abi
