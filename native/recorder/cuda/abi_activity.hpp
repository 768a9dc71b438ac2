// CUPTI's records of what the device did: as far as they are read, which is alike in CUDA 12 and 13. They are longer;
// later versions append members.
#pragma once
#include <cstdint>

#include "recorder/cuda/abi.hpp"

namespace streamsan::recorder::cuda::abi {

/// CUpti_ActivityKind.
enum class Activity : std::uint32_t {
    memcpy = 1,
    memset = 2,
    concurrent_kernel = 10,
    memcpy_peer = 22,
    graph_trace = 51,
};

/// CUpti_Activity: how each record begins.
struct ActivityRecord {
    Activity kind;
};

/// CUpti_ActivityKernel9 and 10.
struct ActivityKernel {
    Activity kind;
    std::uint8_t cache_configuration;
    std::uint8_t shared_configuration;
    std::uint16_t registers;  ///< of a thread
    std::uint32_t global_cache_requested;
    std::uint32_t global_cache_executed;
    std::uint64_t start;
    std::uint64_t end;
    std::uint64_t completed;
    std::uint32_t device;
    std::uint32_t context;
    std::uint32_t stream;
    std::int32_t grid[3];
    std::int32_t block[3];
    std::int32_t static_shared;
    std::int32_t dynamic_shared;
    std::uint32_t local_per_thread;
    std::uint32_t local_total;
    std::uint32_t correlation;
};

/// CUpti_ActivityMemcpyKind.
enum class CopyKind : std::uint8_t {
    host_to_device = 1,
    device_to_host = 2,
    host_to_array = 3,
    array_to_host = 4,
    array_to_array = 5,
    array_to_device = 6,
    device_to_array = 7,
    device_to_device = 8,
    host_to_host = 9,
    peer_to_peer = 10,
};

/// CUpti_ActivityMemcpy5 and 6.
struct ActivityCopy {
    Activity kind;
    CopyKind copy_kind;
    std::uint8_t source;
    std::uint8_t destination;
    std::uint8_t flags;
    std::uint64_t bytes;
    std::uint64_t start;
    std::uint64_t end;
    std::uint32_t device;
    std::uint32_t context;
    std::uint32_t stream;
    std::uint32_t correlation;
};

/// CUpti_ActivityMemcpyPtoP3 and 4.
struct ActivityPeerCopy {
    Activity kind;
    CopyKind copy_kind;
    std::uint8_t source;
    std::uint8_t destination;
    std::uint8_t flags;
    std::uint64_t bytes;
    std::uint64_t start;
    std::uint64_t end;
    std::uint32_t device;
    std::uint32_t context;
    std::uint32_t stream;
    std::uint32_t source_device;
    std::uint32_t source_context;
    std::uint32_t destination_device;
    std::uint32_t destination_context;
    std::uint32_t correlation;
};

/// CUpti_ActivityMemset3 and 4.
struct ActivityFill {
    Activity kind;
    std::uint32_t value;
    std::uint64_t bytes;
    std::uint64_t start;
    std::uint64_t end;
    std::uint32_t device;
    std::uint32_t context;
    std::uint32_t stream;
    std::uint32_t correlation;
};

/// CUpti_ActivityGraphTrace and 2.
struct ActivityGraph {
    Activity kind;
    std::uint32_t correlation;
    std::uint64_t start;
    std::uint64_t end;
};

constexpr std::uint32_t flush_unfinished = 1;  // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED

using BufferRequested = void (*)(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records);
using BufferCompleted = void (*)(Word context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                                 std::size_t valid_bytes);
using Timestamp = std::uint64_t (*)();

/// CUdevice_attribute.
enum class DeviceAttribute : std::int32_t {
    multiprocessors = 16,
    threads_per_multiprocessor = 39,
    shared_bytes_per_multiprocessor = 81,
    registers_per_multiprocessor = 82,
    blocks_per_multiprocessor = 106,
    reserved_shared_bytes_per_block = 111,
};

}  // namespace streamsan::recorder::cuda::abi
