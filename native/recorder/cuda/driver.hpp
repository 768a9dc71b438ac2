// The driver's functions that the recorder calls itself. They are looked up in the libcuda that is loaded already; each
// may be missing (null) in an older driver. Call them inside an `OwnCalls` only, and not before `Recorder::ready`.
#pragma once
#include <cstddef>
#include <cstdint>

#include "recorder/cuda/abi.hpp"

namespace streamsan::recorder::cuda {

// X(name of the member and of the exported function, parameter types)
#define STREAMSAN_DRIVER_FUNCTIONS(X)                                                                              \
    X(cuDriverGetVersion, (int*))                                                                                  \
    X(cuDeviceGetCount, (int*))                                                                                    \
    X(cuDeviceGetAttribute, (int*, std::int32_t, std::int32_t))                                                    \
    X(cuCtxGetCurrent, (abi::Word*))                                                                               \
    X(cuCtxGetDevice, (std::int32_t*))                                                                             \
    X(cuDevicePrimaryCtxGetState, (std::int32_t, std::uint32_t*, std::int32_t*))                                   \
    X(cuStreamIsCapturing, (abi::Word, abi::CaptureStatus*))                                                       \
    X(cuStreamGetCaptureInfo_v2,                                                                                   \
      (abi::Word, abi::CaptureStatus*, std::uint64_t*, abi::Word*, const abi::Word**, std::size_t*))               \
    X(cuStreamGetCaptureInfo_v3,                                                                                   \
      (abi::Word, abi::CaptureStatus*, std::uint64_t*, abi::Word*, const abi::Word**, const void**, std::size_t*)) \
    X(cuStreamCreate, (abi::Word*, std::uint32_t))                                                                 \
    X(cuStreamDestroy_v2, (abi::Word))                                                                             \
    X(cuStreamQuery, (abi::Word))                                                                                  \
    X(cuStreamWaitEvent, (abi::Word, abi::Word, std::uint32_t))                                                    \
    X(cuEventCreate, (abi::Word*, std::uint32_t))                                                                  \
    X(cuEventRecord, (abi::Word, abi::Word))                                                                       \
    X(cuEventQuery, (abi::Word))                                                                                   \
    X(cuEventDestroy_v2, (abi::Word))                                                                              \
    X(cuMemsetD8Async, (abi::Word, unsigned char, std::size_t, abi::Word))                                         \
    X(cuStreamGetFlags, (abi::Word, std::uint32_t*))                                                               \
    X(cuStreamGetCtx, (abi::Word, abi::Word*))                                                                     \
    X(cuFuncGetParamInfo, (abi::Word, std::size_t, std::size_t*, std::size_t*))                                    \
    X(cuKernelGetParamInfo, (abi::Word, std::size_t, std::size_t*, std::size_t*))                                  \
    X(cuKernelGetFunction, (abi::Word*, abi::Word))                                                                \
    X(cuLibraryGetGlobal, (abi::Word*, std::size_t*, abi::Word, const char*))                                      \
    X(cuLibraryGetManaged, (abi::Word*, std::size_t*, abi::Word, const char*))                                     \
    X(cuModuleGetGlobal_v2, (abi::Word*, std::size_t*, abi::Word, const char*))                                    \
    X(cuFuncGetModule, (abi::Word*, abi::Word))                                                                    \
    X(cuKernelGetLibrary, (abi::Word*, abi::Word))                                                                 \
    X(cuLibraryGetModule, (abi::Word*, abi::Word))                                                                 \
    X(cuFuncGetName, (const char**, abi::Word))                                                                    \
    X(cuKernelGetName, (const char**, abi::Word))                                                                  \
    X(cuPointerGetAttribute, (void*, std::int32_t, abi::Word))                                                     \
    X(cuPointerGetAttributes, (std::uint32_t, const std::int32_t*, void**, abi::Word))                             \
    X(cuMemGetAddressRange_v2, (abi::Word*, std::size_t*, abi::Word))                                              \
    X(cuMemGetInfo_v2, (std::size_t*, std::size_t*))                                                               \
    X(cuMemHostGetFlags, (std::uint32_t*, void*))                                                                  \
    X(cuMemHostGetDevicePointer_v2, (abi::Word*, void*, std::uint32_t))                                            \
    X(cuArray3DGetDescriptor_v2, (abi::ArrayDescriptor*, abi::Word))                                               \
    X(cuGraphGetNodes, (abi::Word, abi::Word*, std::size_t*))                                                      \
    X(cuGraphGetEdges, (abi::Word, abi::Word*, abi::Word*, std::size_t*))                                          \
    X(cuGraphGetEdges_v2, (abi::Word, abi::Word*, abi::Word*, void*, std::size_t*))                                \
    X(cuGraphNodeGetType, (abi::Word, abi::NodeType*))                                                             \
    X(cuGraphKernelNodeGetParams, (abi::Word, abi::KernelNode*))                                                   \
    X(cuGraphKernelNodeGetParams_v2, (abi::Word, abi::KernelNode*))                                                \
    X(cuGraphMemcpyNodeGetParams, (abi::Word, abi::Copy3D*))                                                       \
    X(cuGraphMemsetNodeGetParams, (abi::Word, abi::MemsetNode*))                                                   \
    X(cuGraphHostNodeGetParams, (abi::Word, abi::HostNode*))                                                       \
    X(cuGraphChildGraphNodeGetGraph, (abi::Word, abi::Word*))                                                      \
    X(cuGraphEventRecordNodeGetEvent, (abi::Word, abi::Word*))                                                     \
    X(cuGraphEventWaitNodeGetEvent, (abi::Word, abi::Word*))                                                       \
    X(cuGraphMemAllocNodeGetParams, (abi::Word, abi::MemoryAllocNode*))                                            \
    X(cuGraphMemFreeNodeGetParams, (abi::Word, abi::Word*))                                                        \
    X(cuGraphBatchMemOpNodeGetParams, (abi::Word, abi::BatchMemoryNode*))                                          \
    X(cuGraphNodeGetEnabled, (abi::Word, abi::Word, std::uint32_t*))                                               \
    X(cuThreadExchangeStreamCaptureMode, (int*))                                                                   \
    X(cuLaunchHostFunc, (abi::Word, void (*)(void*), void*))                                                       \
    X(cuLogsRegisterCallback, (abi::LogFunction, void*, abi::Word*))

/// One member for each function, null where the driver has none.
struct Driver {
#define STREAMSAN_MEMBER(name, parameters) abi::Status(*name) parameters = nullptr;
    STREAMSAN_DRIVER_FUNCTIONS(STREAMSAN_MEMBER)
#undef STREAMSAN_MEMBER
};

/// Fills the table from the libcuda that the process has loaded; null when none is.
const Driver* find_driver();

}  // namespace streamsan::recorder::cuda
