// Compares the types of recorder/cuda/sanitizer_abi.hpp with those of the real headers of the Sanitizer API. It is
// compiled, not run; see tests/recorder/test_cuda_abi.py.
#include <cuda.h>
#include <sanitizer.h>

#include <cstddef>

#include "recorder/cuda/sanitizer_abi.hpp"

namespace abi = streamsan::recorder::cuda::abi;

#define SAME_PLACE(ours, own_member, theirs, member)                       \
    static_assert(offsetof(ours, own_member) == offsetof(theirs, member)); \
    static_assert(sizeof(((ours*)nullptr)->own_member) == sizeof(((theirs*)nullptr)->member))
#define SAME_BEGIN(ours, own_member, theirs, member) \
    static_assert(offsetof(ours, own_member) == offsetof(theirs, member))
#define SAME_VALUE(ours, theirs) static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs))

SAME_VALUE(abi::sanitizer_success, SANITIZER_SUCCESS);
SAME_VALUE(abi::sanitizer_max_limit_reached, SANITIZER_ERROR_MAX_LIMIT_REACHED);
SAME_VALUE(abi::SanitizerDomain::driver, SANITIZER_CB_DOMAIN_DRIVER_API);
SAME_VALUE(abi::SanitizerDomain::runtime, SANITIZER_CB_DOMAIN_RUNTIME_API);
SAME_VALUE(abi::SanitizerDomain::resource, SANITIZER_CB_DOMAIN_RESOURCE);
SAME_VALUE(abi::SanitizerDomain::launch, SANITIZER_CB_DOMAIN_LAUNCH);
SAME_VALUE(abi::SanitizerDomain::graphs, SANITIZER_CB_DOMAIN_GRAPHS);
SAME_VALUE(abi::CallbackSite::enter, SANITIZER_API_ENTER);
SAME_VALUE(abi::CallbackSite::exit, SANITIZER_API_EXIT);
SAME_VALUE(abi::SanitizerResource::init_finished, SANITIZER_CBID_RESOURCE_INIT_FINISHED);
SAME_VALUE(abi::SanitizerResource::context_creation_finished, SANITIZER_CBID_RESOURCE_CONTEXT_CREATION_FINISHED);
SAME_VALUE(abi::SanitizerResource::context_destroy_starting, SANITIZER_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
SAME_VALUE(abi::SanitizerResource::module_loaded, SANITIZER_CBID_RESOURCE_MODULE_LOADED);
SAME_VALUE(abi::SanitizerResource::module_unload_starting, SANITIZER_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
SAME_VALUE(abi::sanitizer_launch_begin, SANITIZER_CBID_LAUNCH_BEGIN);
SAME_VALUE(abi::sanitizer_node_launch_begin, SANITIZER_CBID_GRAPHS_NODE_LAUNCH_BEGIN);
SAME_VALUE(abi::PatchedInstruction::block_enter, SANITIZER_INSTRUCTION_BLOCK_ENTER);
SAME_VALUE(abi::PatchedInstruction::global_memory, SANITIZER_INSTRUCTION_GLOBAL_MEMORY_ACCESS);
SAME_VALUE(abi::PatchedInstruction::memcpy_async, SANITIZER_INSTRUCTION_MEMCPY_ASYNC);
SAME_VALUE(abi::PatchedInstruction::bulk_copy_global_to_shared, SANITIZER_INSTRUCTION_BULK_COPY_GLOBAL_TO_SHARED);
SAME_VALUE(abi::PatchedInstruction::bulk_copy_shared_to_global, SANITIZER_INSTRUCTION_BULK_COPY_SHARED_TO_GLOBAL);
SAME_VALUE(abi::PatchedInstruction::bulk_reduction_shared_to_global,
           SANITIZER_INSTRUCTION_BULK_REDUCTION_SHARED_TO_GLOBAL);

SAME_PLACE(abi::SanitizerCallbackData, site, Sanitizer_CallbackData, callbackSite);
SAME_PLACE(abi::SanitizerCallbackData, function_name, Sanitizer_CallbackData, functionName);
SAME_PLACE(abi::SanitizerCallbackData, parameters, Sanitizer_CallbackData, functionParams);
SAME_PLACE(abi::SanitizerCallbackData, returned, Sanitizer_CallbackData, functionReturnValue);
SAME_PLACE(abi::SanitizerCallbackData, symbol, Sanitizer_CallbackData, symbolName);
SAME_PLACE(abi::SanitizerCallbackData, context, Sanitizer_CallbackData, context);
SAME_PLACE(abi::SanitizerContextData, context, Sanitizer_ResourceContextData, context);
SAME_PLACE(abi::SanitizerModuleData, context, Sanitizer_ResourceModuleData, context);
SAME_PLACE(abi::SanitizerModuleData, module, Sanitizer_ResourceModuleData, module);
SAME_PLACE(abi::SanitizerModuleData, cubin_size, Sanitizer_ResourceModuleData, cubinSize);
SAME_PLACE(abi::SanitizerModuleData, cubin, Sanitizer_ResourceModuleData, pCubin);
SAME_PLACE(abi::SanitizerLaunchData, context, Sanitizer_LaunchData, context);
SAME_PLACE(abi::SanitizerLaunchData, stream, Sanitizer_LaunchData, stream);
SAME_PLACE(abi::SanitizerLaunchData, stream_handle, Sanitizer_LaunchData, hStream);
SAME_PLACE(abi::SanitizerLaunchData, module, Sanitizer_LaunchData, module);
SAME_PLACE(abi::SanitizerLaunchData, function, Sanitizer_LaunchData, function);
SAME_PLACE(abi::SanitizerLaunchData, function_name, Sanitizer_LaunchData, functionName);
SAME_BEGIN(abi::SanitizerLaunchData, grid, Sanitizer_LaunchData, gridDim_x);
SAME_BEGIN(abi::SanitizerLaunchData, block, Sanitizer_LaunchData, blockDim_x);
SAME_BEGIN(abi::SanitizerLaunchData, cluster, Sanitizer_LaunchData, clusterDim_x);
SAME_PLACE(abi::SanitizerLaunchData, grid_id, Sanitizer_LaunchData, gridId);
SAME_PLACE(abi::SanitizerLaunchData, launch, Sanitizer_LaunchData, hLaunch);
SAME_PLACE(abi::SanitizerNodeLaunchData, graph_exec, Sanitizer_GraphNodeLaunchData, graphExec);
SAME_PLACE(abi::SanitizerNodeLaunchData, launch_id, Sanitizer_GraphNodeLaunchData, launchId);
SAME_PLACE(abi::SanitizerNodeLaunchData, node, Sanitizer_GraphNodeLaunchData, node);
SAME_PLACE(abi::SanitizerNodeLaunchData, node_type, Sanitizer_GraphNodeLaunchData, nodeType);
SAME_BEGIN(abi::SanitizerNodeLaunchData, kernel, Sanitizer_GraphNodeLaunchData, launchData);
