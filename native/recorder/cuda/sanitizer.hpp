// NVIDIA's Sanitizer API: found and loaded at run time like CUPTI, which it stands in for, because only one of the two
// can be told of calls. Its callbacks have CUPTI's numbers and parameters.
#pragma once
#include <cstddef>
#include <string>

#include "recorder/cuda/sanitizer_abi.hpp"

namespace streamsan::recorder::cuda {

// X(name of the member, name of the function without `sanitizer`, parameter types)
#define STREAMSAN_SANITIZER_FUNCTIONS(X)                                                                               \
    X(subscribe, Subscribe, (abi::SanitizerSubscriber*, abi::SanitizerCallback, void*))                                \
    X(enable_callback, EnableCallback, (std::uint32_t, abi::SanitizerSubscriber, abi::SanitizerDomain, std::uint32_t)) \
    X(result_string, GetResultString, (abi::SanitizerStatus, const char**))                                            \
    X(add_patches, AddPatchesFromFile, (const char*, abi::Word))                                                       \
    X(patch_instructions, PatchInstructions, (abi::PatchedInstruction, abi::Word, const char*))                        \
    X(patch_module, PatchModule, (abi::Word))                                                                          \
    X(set_launch_data, SetLaunchCallbackData, (abi::SanitizerLaunch, abi::Word, abi::SanitizerStream, const void*))    \
    X(stream_handle, GetStreamHandle, (abi::Word, abi::Word, abi::SanitizerStream*))                                   \
    X(stream_synchronize, StreamSynchronize, (abi::SanitizerStream))                                                   \
    X(allocate, Alloc, (abi::Word, void**, std::size_t))                                                               \
    X(allocate_host, AllocHost, (abi::Word, void**, std::size_t))                                                      \
    X(fill, Memset, (void*, int, std::size_t, abi::SanitizerStream))                                                   \
    X(copy_to_device, MemcpyHostToDeviceAsync, (void*, void*, std::size_t, abi::SanitizerStream))                      \
    X(copy_to_host, MemcpyDeviceToHost, (void*, void*, std::size_t, abi::SanitizerStream))

/// The functions that are used; all are there.
struct Sanitizer {
#define STREAMSAN_MEMBER(member, name, parameters) abi::SanitizerStatus(*member) parameters = nullptr;
    STREAMSAN_SANITIZER_FUNCTIONS(STREAMSAN_MEMBER)
#undef STREAMSAN_MEMBER
    /// Since CUDA 13.2: whether an access is ordered like atomic operations (`volatile`, cuda::atomic).
    bool tells_order = false;
};

/// Loads the first of the files in `places` (':' between them) that works with this driver, and subscribes to it.
/// Returns "", or why none does.
std::string subscribe_to_sanitizer(const std::string& places);

/// Null where the process records through CUPTI.
const Sanitizer* sanitizer();

}  // namespace streamsan::recorder::cuda
