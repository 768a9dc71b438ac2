// Compares the types of recorder/cuda/abi_activity.hpp with those of the real headers, in all versions that CUDA 12 and
// 13 use. It is compiled, not run; see tests/recorder/test_cuda_abi.py.
#include <cuda.h>
#include <cupti.h>

#include <cstddef>

#include "recorder/cuda/abi_activity.hpp"

namespace abi = streamsan::recorder::cuda::abi;

#define SIZE_OF_BEGINNING(ours, theirs) static_assert(sizeof(ours) <= sizeof(theirs))  // later versions append members
#define SAME_PLACE(ours, own_member, theirs, member)                       \
    static_assert(offsetof(ours, own_member) == offsetof(theirs, member)); \
    static_assert(sizeof(((ours*)nullptr)->own_member) == sizeof(((theirs*)nullptr)->member))
#define SAME_VALUE(ours, theirs) static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs))

SAME_PLACE(abi::ActivityRecord, kind, CUpti_Activity, kind);
SAME_VALUE(abi::Activity::memcpy, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME_VALUE(abi::Activity::memset, CUPTI_ACTIVITY_KIND_MEMSET);
SAME_VALUE(abi::Activity::concurrent_kernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME_VALUE(abi::Activity::memcpy_peer, CUPTI_ACTIVITY_KIND_MEMCPY2);
SAME_VALUE(abi::Activity::graph_trace, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
SAME_VALUE(abi::flush_unfinished, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);

#define SAME_KERNEL(theirs)                                                       \
    SIZE_OF_BEGINNING(abi::ActivityKernel, theirs);                               \
    SAME_PLACE(abi::ActivityKernel, registers, theirs, registersPerThread);       \
    SAME_PLACE(abi::ActivityKernel, start, theirs, start);                        \
    SAME_PLACE(abi::ActivityKernel, end, theirs, end);                            \
    SAME_PLACE(abi::ActivityKernel, device, theirs, deviceId);                    \
    SAME_PLACE(abi::ActivityKernel, grid[0], theirs, gridX);                      \
    SAME_PLACE(abi::ActivityKernel, grid[2], theirs, gridZ);                      \
    SAME_PLACE(abi::ActivityKernel, block[0], theirs, blockX);                    \
    SAME_PLACE(abi::ActivityKernel, block[2], theirs, blockZ);                    \
    SAME_PLACE(abi::ActivityKernel, static_shared, theirs, staticSharedMemory);   \
    SAME_PLACE(abi::ActivityKernel, dynamic_shared, theirs, dynamicSharedMemory); \
    SAME_PLACE(abi::ActivityKernel, correlation, theirs, correlationId)
SAME_KERNEL(CUpti_ActivityKernel9);

#define SAME_COPY(ours, theirs)                    \
    SIZE_OF_BEGINNING(ours, theirs);               \
    SAME_PLACE(ours, copy_kind, theirs, copyKind); \
    SAME_PLACE(ours, start, theirs, start);        \
    SAME_PLACE(ours, end, theirs, end);            \
    SAME_PLACE(ours, correlation, theirs, correlationId)
SAME_COPY(abi::ActivityCopy, CUpti_ActivityMemcpy5);
SAME_COPY(abi::ActivityPeerCopy, CUpti_ActivityMemcpyPtoP3);
SAME_VALUE(abi::CopyKind::host_to_device, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
SAME_VALUE(abi::CopyKind::device_to_host, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
SAME_VALUE(abi::CopyKind::host_to_array, CUPTI_ACTIVITY_MEMCPY_KIND_HTOA);
SAME_VALUE(abi::CopyKind::array_to_host, CUPTI_ACTIVITY_MEMCPY_KIND_ATOH);
SAME_VALUE(abi::CopyKind::array_to_array, CUPTI_ACTIVITY_MEMCPY_KIND_ATOA);
SAME_VALUE(abi::CopyKind::array_to_device, CUPTI_ACTIVITY_MEMCPY_KIND_ATOD);
SAME_VALUE(abi::CopyKind::device_to_array, CUPTI_ACTIVITY_MEMCPY_KIND_DTOA);
SAME_VALUE(abi::CopyKind::device_to_device, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
SAME_VALUE(abi::CopyKind::host_to_host, CUPTI_ACTIVITY_MEMCPY_KIND_HTOH);
SAME_VALUE(abi::CopyKind::peer_to_peer, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);

#define SAME_FILL(theirs)                                \
    SIZE_OF_BEGINNING(abi::ActivityFill, theirs);        \
    SAME_PLACE(abi::ActivityFill, start, theirs, start); \
    SAME_PLACE(abi::ActivityFill, end, theirs, end);     \
    SAME_PLACE(abi::ActivityFill, correlation, theirs, correlationId)
SAME_FILL(CUpti_ActivityMemset3);
SAME_FILL(CUpti_ActivityMemset4);

#define SAME_GRAPH(theirs)                                \
    SIZE_OF_BEGINNING(abi::ActivityGraph, theirs);        \
    SAME_PLACE(abi::ActivityGraph, start, theirs, start); \
    SAME_PLACE(abi::ActivityGraph, end, theirs, end);     \
    SAME_PLACE(abi::ActivityGraph, correlation, theirs, correlationId)
SAME_GRAPH(CUpti_ActivityGraphTrace);

#if CUDA_VERSION >= 13000
SAME_KERNEL(CUpti_ActivityKernel10);
SAME_COPY(abi::ActivityCopy, CUpti_ActivityMemcpy6);
SAME_COPY(abi::ActivityPeerCopy, CUpti_ActivityMemcpyPtoP4);
SAME_GRAPH(CUpti_ActivityGraphTrace2);
#endif

SAME_VALUE(abi::DeviceAttribute::multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME_VALUE(abi::DeviceAttribute::threads_per_multiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
SAME_VALUE(abi::DeviceAttribute::shared_bytes_per_multiprocessor,
           CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
SAME_VALUE(abi::DeviceAttribute::registers_per_multiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
SAME_VALUE(abi::DeviceAttribute::blocks_per_multiprocessor, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
SAME_VALUE(abi::DeviceAttribute::reserved_shared_bytes_per_block, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
