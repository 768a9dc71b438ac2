// Compares the types of recorder/cuda/abi.hpp with those of the real headers. It is compiled, not run; see
// tests/recorder/test_cuda_abi.py.
#include <cuda.h>
#include <cupti.h>

#include <cstddef>

#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/abi_graphs.hpp"

namespace abi = streamsan::recorder::cuda::abi;

#define SAME_SIZE(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs))
#define SIZE_OF_BEGINNING(ours, theirs) static_assert(sizeof(ours) <= sizeof(theirs))  // later versions append members
#define SAME_PLACE(ours, own_member, theirs, member)                       \
    static_assert(offsetof(ours, own_member) == offsetof(theirs, member)); \
    static_assert(sizeof(((ours*)nullptr)->own_member) == sizeof(((theirs*)nullptr)->member))
#define SAME_VALUE(ours, theirs) static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs))

// -- CUPTI
SAME_SIZE(abi::CuptiStatus, CUptiResult);
SAME_VALUE(abi::cupti_success, CUPTI_SUCCESS);
SAME_VALUE(abi::cupti_max_limit_reached, CUPTI_ERROR_MAX_LIMIT_REACHED);
SAME_VALUE(abi::cupti_not_compatible, CUPTI_ERROR_NOT_COMPATIBLE);
SAME_VALUE(abi::cupti_insufficient_privileges, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
SAME_VALUE(abi::cupti_multiple_subscribers, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME_VALUE(abi::Domain::driver, CUPTI_CB_DOMAIN_DRIVER_API);
SAME_VALUE(abi::Domain::runtime, CUPTI_CB_DOMAIN_RUNTIME_API);
SAME_VALUE(abi::Domain::resource, CUPTI_CB_DOMAIN_RESOURCE);
SAME_VALUE(abi::CallbackSite::enter, CUPTI_API_ENTER);
SAME_VALUE(abi::CallbackSite::exit, CUPTI_API_EXIT);
SAME_VALUE(abi::Resource::context_created, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
SAME_VALUE(abi::Resource::context_destroy_starting, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
SAME_VALUE(abi::Resource::init_finished, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED);
SAME_VALUE(abi::Resource::module_loaded, CUPTI_CBID_RESOURCE_MODULE_LOADED);
SAME_VALUE(abi::Resource::module_unload_starting, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
SAME_VALUE(abi::Resource::graph_created, CUPTI_CBID_RESOURCE_GRAPH_CREATED);
SAME_VALUE(abi::Resource::graph_destroy_starting, CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING);
SAME_VALUE(abi::Resource::graph_cloned, CUPTI_CBID_RESOURCE_GRAPH_CLONED);
SAME_VALUE(abi::Resource::graph_node_created, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
SAME_VALUE(abi::Resource::graph_exec_created, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED);
SAME_VALUE(abi::Resource::graph_exec_destroy_starting, CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING);
SAME_VALUE(abi::Resource::graph_node_cloned, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
#if CUDA_VERSION >= 13000
SAME_VALUE(abi::Resource::graph_node_set_parameters, CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS);
#endif

SAME_SIZE(abi::CallbackData, CUpti_CallbackData);
SAME_PLACE(abi::CallbackData, site, CUpti_CallbackData, callbackSite);
SAME_PLACE(abi::CallbackData, function_name, CUpti_CallbackData, functionName);
SAME_PLACE(abi::CallbackData, parameters, CUpti_CallbackData, functionParams);
SAME_PLACE(abi::CallbackData, returned, CUpti_CallbackData, functionReturnValue);
SAME_PLACE(abi::CallbackData, symbol, CUpti_CallbackData, symbolName);
SAME_PLACE(abi::CallbackData, context, CUpti_CallbackData, context);
SAME_PLACE(abi::CallbackData, context_uid, CUpti_CallbackData, contextUid);
SAME_PLACE(abi::CallbackData, correlation_data, CUpti_CallbackData, correlationData);
SAME_PLACE(abi::CallbackData, correlation, CUpti_CallbackData, correlationId);
SAME_SIZE(abi::ResourceData, CUpti_ResourceData);
SAME_PLACE(abi::ResourceData, context, CUpti_ResourceData, context);
SAME_PLACE(abi::ResourceData, stream, CUpti_ResourceData, resourceHandle);
SAME_PLACE(abi::ResourceData, descriptor, CUpti_ResourceData, resourceDescriptor);
SAME_SIZE(abi::ModuleData, CUpti_ModuleResourceData);
SAME_PLACE(abi::ModuleData, module, CUpti_ModuleResourceData, moduleId);
SAME_PLACE(abi::ModuleData, size, CUpti_ModuleResourceData, cubinSize);
SAME_PLACE(abi::ModuleData, image, CUpti_ModuleResourceData, pCubin);
SAME_SIZE(abi::GraphData, CUpti_GraphData);
SAME_PLACE(abi::GraphData, graph, CUpti_GraphData, graph);
SAME_PLACE(abi::GraphData, original_graph, CUpti_GraphData, originalGraph);
SAME_PLACE(abi::GraphData, node, CUpti_GraphData, node);
SAME_PLACE(abi::GraphData, original_node, CUpti_GraphData, originalNode);
SAME_PLACE(abi::GraphData, node_type, CUpti_GraphData, nodeType);
SAME_PLACE(abi::GraphData, dependency, CUpti_GraphData, dependency);
SAME_PLACE(abi::GraphData, graph_exec, CUpti_GraphData, graphExec);
#if CUDA_VERSION >= 13000
SIZE_OF_BEGINNING(abi::SubscriberParameters, CUpti_SubscriberParams);
SAME_PLACE(abi::SubscriberParameters, size, CUpti_SubscriberParams, structSize);
SAME_PLACE(abi::SubscriberParameters, name, CUpti_SubscriberParams, subscriberName);
SAME_PLACE(abi::SubscriberParameters, old_name, CUpti_SubscriberParams, oldSubscriberName);
SAME_PLACE(abi::SubscriberParameters, old_name_size, CUpti_SubscriberParams, oldSubscriberSize);
SAME_VALUE(abi::least_old_name, CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN);
#endif

// -- the driver
SAME_SIZE(abi::Status, CUresult);
SAME_SIZE(abi::Word, CUdeviceptr);
SAME_VALUE(abi::MemoryType::host, CU_MEMORYTYPE_HOST);
SAME_VALUE(abi::MemoryType::device, CU_MEMORYTYPE_DEVICE);
SAME_VALUE(abi::MemoryType::array, CU_MEMORYTYPE_ARRAY);
SAME_VALUE(abi::MemoryType::unified, CU_MEMORYTYPE_UNIFIED);

SAME_SIZE(abi::Copy2D, CUDA_MEMCPY2D);
SAME_PLACE(abi::Copy2D, source.x, CUDA_MEMCPY2D, srcXInBytes);
SAME_PLACE(abi::Copy2D, source.y, CUDA_MEMCPY2D, srcY);
SAME_PLACE(abi::Copy2D, source.type, CUDA_MEMCPY2D, srcMemoryType);
SAME_PLACE(abi::Copy2D, source.host, CUDA_MEMCPY2D, srcHost);
SAME_PLACE(abi::Copy2D, source.device, CUDA_MEMCPY2D, srcDevice);
SAME_PLACE(abi::Copy2D, source.array, CUDA_MEMCPY2D, srcArray);
SAME_PLACE(abi::Copy2D, source.pitch, CUDA_MEMCPY2D, srcPitch);
SAME_PLACE(abi::Copy2D, destination.x, CUDA_MEMCPY2D, dstXInBytes);
SAME_PLACE(abi::Copy2D, destination.y, CUDA_MEMCPY2D, dstY);
SAME_PLACE(abi::Copy2D, destination.type, CUDA_MEMCPY2D, dstMemoryType);
SAME_PLACE(abi::Copy2D, destination.host, CUDA_MEMCPY2D, dstHost);
SAME_PLACE(abi::Copy2D, destination.device, CUDA_MEMCPY2D, dstDevice);
SAME_PLACE(abi::Copy2D, destination.array, CUDA_MEMCPY2D, dstArray);
SAME_PLACE(abi::Copy2D, destination.pitch, CUDA_MEMCPY2D, dstPitch);
SAME_PLACE(abi::Copy2D, width, CUDA_MEMCPY2D, WidthInBytes);
SAME_PLACE(abi::Copy2D, height, CUDA_MEMCPY2D, Height);

#define SAME_COPY_3D(theirs)                                          \
    SAME_SIZE(abi::Copy3D, theirs);                                   \
    SAME_PLACE(abi::Copy3D, source.x, theirs, srcXInBytes);           \
    SAME_PLACE(abi::Copy3D, source.y, theirs, srcY);                  \
    SAME_PLACE(abi::Copy3D, source.z, theirs, srcZ);                  \
    SAME_PLACE(abi::Copy3D, source.lod, theirs, srcLOD);              \
    SAME_PLACE(abi::Copy3D, source.type, theirs, srcMemoryType);      \
    SAME_PLACE(abi::Copy3D, source.host, theirs, srcHost);            \
    SAME_PLACE(abi::Copy3D, source.device, theirs, srcDevice);        \
    SAME_PLACE(abi::Copy3D, source.array, theirs, srcArray);          \
    SAME_PLACE(abi::Copy3D, source.pitch, theirs, srcPitch);          \
    SAME_PLACE(abi::Copy3D, source.height, theirs, srcHeight);        \
    SAME_PLACE(abi::Copy3D, destination.x, theirs, dstXInBytes);      \
    SAME_PLACE(abi::Copy3D, destination.y, theirs, dstY);             \
    SAME_PLACE(abi::Copy3D, destination.z, theirs, dstZ);             \
    SAME_PLACE(abi::Copy3D, destination.lod, theirs, dstLOD);         \
    SAME_PLACE(abi::Copy3D, destination.type, theirs, dstMemoryType); \
    SAME_PLACE(abi::Copy3D, destination.host, theirs, dstHost);       \
    SAME_PLACE(abi::Copy3D, destination.device, theirs, dstDevice);   \
    SAME_PLACE(abi::Copy3D, destination.array, theirs, dstArray);     \
    SAME_PLACE(abi::Copy3D, destination.pitch, theirs, dstPitch);     \
    SAME_PLACE(abi::Copy3D, destination.height, theirs, dstHeight);   \
    SAME_PLACE(abi::Copy3D, width, theirs, WidthInBytes);             \
    SAME_PLACE(abi::Copy3D, height, theirs, Height);                  \
    SAME_PLACE(abi::Copy3D, depth, theirs, Depth)
SAME_COPY_3D(CUDA_MEMCPY3D);
SAME_COPY_3D(CUDA_MEMCPY3D_PEER);
SAME_PLACE(abi::Copy3D, source.context, CUDA_MEMCPY3D_PEER, srcContext);
SAME_PLACE(abi::Copy3D, destination.context, CUDA_MEMCPY3D_PEER, dstContext);

SAME_SIZE(abi::ArrayDescriptor, CUDA_ARRAY3D_DESCRIPTOR);
SAME_PLACE(abi::ArrayDescriptor, width, CUDA_ARRAY3D_DESCRIPTOR, Width);
SAME_PLACE(abi::ArrayDescriptor, height, CUDA_ARRAY3D_DESCRIPTOR, Height);
SAME_PLACE(abi::ArrayDescriptor, depth, CUDA_ARRAY3D_DESCRIPTOR, Depth);
SAME_PLACE(abi::ArrayDescriptor, format, CUDA_ARRAY3D_DESCRIPTOR, Format);
SAME_PLACE(abi::ArrayDescriptor, channels, CUDA_ARRAY3D_DESCRIPTOR, NumChannels);
SAME_PLACE(abi::ArrayDescriptor, flags, CUDA_ARRAY3D_DESCRIPTOR, Flags);

SAME_SIZE(abi::LaunchAttribute, CUlaunchAttribute);
SAME_PLACE(abi::LaunchAttribute, id, CUlaunchAttribute, id);
SAME_PLACE(abi::LaunchAttribute, value, CUlaunchAttribute, value);
static_assert(offsetof(CUlaunchAttribute, value.programmaticEvent.event) == offsetof(abi::LaunchAttribute, value));
static_assert(offsetof(CUlaunchAttribute, value.launchCompletionEvent.event) == offsetof(abi::LaunchAttribute, value));
SAME_VALUE(abi::launch_attribute_cooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
SAME_VALUE(abi::launch_attribute_programmatic_serialization, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
SAME_VALUE(abi::launch_attribute_programmatic_event, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT);
SAME_VALUE(abi::launch_attribute_completion_event, CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT);
SAME_VALUE(abi::launch_attribute_device_updatable, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE);
SAME_SIZE(abi::LaunchConfig, CUlaunchConfig);
SAME_PLACE(abi::LaunchConfig, grid[0], CUlaunchConfig, gridDimX);
SAME_PLACE(abi::LaunchConfig, block[0], CUlaunchConfig, blockDimX);
SAME_PLACE(abi::LaunchConfig, shared_bytes, CUlaunchConfig, sharedMemBytes);
SAME_PLACE(abi::LaunchConfig, stream, CUlaunchConfig, hStream);
SAME_PLACE(abi::LaunchConfig, attributes, CUlaunchConfig, attrs);
SAME_PLACE(abi::LaunchConfig, attribute_count, CUlaunchConfig, numAttrs);
SAME_SIZE(abi::LaunchParameters, CUDA_LAUNCH_PARAMS);
SAME_PLACE(abi::LaunchParameters, function, CUDA_LAUNCH_PARAMS, function);
SAME_PLACE(abi::LaunchParameters, shared_bytes, CUDA_LAUNCH_PARAMS, sharedMemBytes);
SAME_PLACE(abi::LaunchParameters, stream, CUDA_LAUNCH_PARAMS, hStream);
SAME_PLACE(abi::LaunchParameters, arguments, CUDA_LAUNCH_PARAMS, kernelParams);

SAME_SIZE(abi::KernelNode, CUDA_KERNEL_NODE_PARAMS_v2);
SAME_PLACE(abi::KernelNode, function, CUDA_KERNEL_NODE_PARAMS_v2, func);
SAME_PLACE(abi::KernelNode, grid[0], CUDA_KERNEL_NODE_PARAMS_v2, gridDimX);
SAME_PLACE(abi::KernelNode, block[0], CUDA_KERNEL_NODE_PARAMS_v2, blockDimX);
SAME_PLACE(abi::KernelNode, shared_bytes, CUDA_KERNEL_NODE_PARAMS_v2, sharedMemBytes);
SAME_PLACE(abi::KernelNode, arguments, CUDA_KERNEL_NODE_PARAMS_v2, kernelParams);
SAME_PLACE(abi::KernelNode, extra, CUDA_KERNEL_NODE_PARAMS_v2, extra);
SAME_PLACE(abi::KernelNode, kernel, CUDA_KERNEL_NODE_PARAMS_v2, kern);
SAME_PLACE(abi::KernelNode, context, CUDA_KERNEL_NODE_PARAMS_v2, ctx);
SAME_PLACE(abi::KernelNode, extra, CUDA_KERNEL_NODE_PARAMS_v1, extra);
SAME_SIZE(abi::MemsetNode, CUDA_MEMSET_NODE_PARAMS_v2);
SAME_PLACE(abi::MemsetNode, destination, CUDA_MEMSET_NODE_PARAMS_v2, dst);
SAME_PLACE(abi::MemsetNode, pitch, CUDA_MEMSET_NODE_PARAMS_v2, pitch);
SAME_PLACE(abi::MemsetNode, value, CUDA_MEMSET_NODE_PARAMS_v2, value);
SAME_PLACE(abi::MemsetNode, element_size, CUDA_MEMSET_NODE_PARAMS_v2, elementSize);
SAME_PLACE(abi::MemsetNode, width, CUDA_MEMSET_NODE_PARAMS_v2, width);
SAME_PLACE(abi::MemsetNode, height, CUDA_MEMSET_NODE_PARAMS_v2, height);
SAME_PLACE(abi::MemsetNode, context, CUDA_MEMSET_NODE_PARAMS_v2, ctx);
SAME_SIZE(abi::CopyNode, CUDA_MEMCPY_NODE_PARAMS);
SAME_PLACE(abi::CopyNode, context, CUDA_MEMCPY_NODE_PARAMS, copyCtx);
SAME_PLACE(abi::CopyNode, copy, CUDA_MEMCPY_NODE_PARAMS, copyParams);
SIZE_OF_BEGINNING(abi::HostNode, CUDA_HOST_NODE_PARAMS);
SAME_PLACE(abi::HostNode, function, CUDA_HOST_NODE_PARAMS, fn);
SAME_PLACE(abi::HostNode, user_data, CUDA_HOST_NODE_PARAMS, userData);
SAME_PLACE(abi::ChildGraphNode, graph, CUDA_CHILD_GRAPH_NODE_PARAMS, graph);
#if CUDA_VERSION >= 13000
SAME_SIZE(abi::ChildGraphNode, CUDA_CHILD_GRAPH_NODE_PARAMS);
SAME_PLACE(abi::ChildGraphNode, ownership, CUDA_CHILD_GRAPH_NODE_PARAMS, ownership);
#endif
SIZE_OF_BEGINNING(abi::EventNode, CUDA_EVENT_RECORD_NODE_PARAMS);
SIZE_OF_BEGINNING(abi::EventNode, CUDA_EVENT_WAIT_NODE_PARAMS);
SAME_SIZE(abi::MemoryLocation, CUmemLocation);
SAME_PLACE(abi::MemoryLocation, id, CUmemLocation, id);
SAME_VALUE(abi::location_device, CU_MEM_LOCATION_TYPE_DEVICE);
SAME_VALUE(abi::location_host, CU_MEM_LOCATION_TYPE_HOST);
SAME_SIZE(abi::AccessDescription, CUmemAccessDesc);
SAME_PLACE(abi::AccessDescription, flags, CUmemAccessDesc, flags);
SAME_SIZE(abi::PoolProperties, CUmemPoolProps);
SAME_PLACE(abi::PoolProperties, handle_types, CUmemPoolProps, handleTypes);
SAME_PLACE(abi::PoolProperties, location, CUmemPoolProps, location);
SAME_PLACE(abi::PoolProperties, max_size, CUmemPoolProps, maxSize);
SAME_SIZE(abi::MemoryAllocNode, CUDA_MEM_ALLOC_NODE_PARAMS);
SAME_PLACE(abi::MemoryAllocNode, access, CUDA_MEM_ALLOC_NODE_PARAMS, accessDescs);
SAME_PLACE(abi::MemoryAllocNode, access_count, CUDA_MEM_ALLOC_NODE_PARAMS, accessDescCount);
SAME_PLACE(abi::MemoryAllocNode, bytes, CUDA_MEM_ALLOC_NODE_PARAMS, bytesize);
SAME_PLACE(abi::MemoryAllocNode, address, CUDA_MEM_ALLOC_NODE_PARAMS, dptr);
SIZE_OF_BEGINNING(abi::MemoryFreeNode, CUDA_MEM_FREE_NODE_PARAMS);

SAME_VALUE(abi::MemoryOperation::wait_value_32, CU_STREAM_MEM_OP_WAIT_VALUE_32);
SAME_VALUE(abi::MemoryOperation::write_value_32, CU_STREAM_MEM_OP_WRITE_VALUE_32);
SAME_VALUE(abi::MemoryOperation::flush_remote_writes, CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES);
SAME_VALUE(abi::MemoryOperation::wait_value_64, CU_STREAM_MEM_OP_WAIT_VALUE_64);
SAME_VALUE(abi::MemoryOperation::write_value_64, CU_STREAM_MEM_OP_WRITE_VALUE_64);
SAME_VALUE(abi::MemoryOperation::barrier, CU_STREAM_MEM_OP_BARRIER);
SAME_SIZE(abi::BatchMemoryOperation, CUstreamBatchMemOpParams);
SAME_PLACE(abi::BatchMemoryOperation, address, CUstreamBatchMemOpParams, waitValue.address);
SAME_PLACE(abi::BatchMemoryOperation, value, CUstreamBatchMemOpParams, waitValue.value64);
SAME_PLACE(abi::BatchMemoryOperation, flags, CUstreamBatchMemOpParams, waitValue.flags);
SAME_PLACE(abi::BatchMemoryOperation, alias, CUstreamBatchMemOpParams, waitValue.alias);
SAME_PLACE(abi::BatchMemoryOperation, address, CUstreamBatchMemOpParams, writeValue.address);
SAME_SIZE(abi::BatchMemoryNode, CUDA_BATCH_MEM_OP_NODE_PARAMS);
SAME_PLACE(abi::BatchMemoryNode, count, CUDA_BATCH_MEM_OP_NODE_PARAMS, count);
SAME_PLACE(abi::BatchMemoryNode, operations, CUDA_BATCH_MEM_OP_NODE_PARAMS, paramArray);
SAME_PLACE(abi::BatchMemoryNode, flags, CUDA_BATCH_MEM_OP_NODE_PARAMS, flags);
SAME_SIZE(abi::NodeParameters, CUgraphNodeParams);
SAME_PLACE(abi::NodeParameters, kernel, CUgraphNodeParams, kernel);
SAME_PLACE(abi::NodeParameters, copy, CUgraphNodeParams, memcpy);
SAME_PLACE(abi::NodeParameters, memory_operations, CUgraphNodeParams, memOp);
SAME_VALUE(abi::NodeType::kernel, CU_GRAPH_NODE_TYPE_KERNEL);
SAME_VALUE(abi::NodeType::memcpy, CU_GRAPH_NODE_TYPE_MEMCPY);
SAME_VALUE(abi::NodeType::memset, CU_GRAPH_NODE_TYPE_MEMSET);
SAME_VALUE(abi::NodeType::host, CU_GRAPH_NODE_TYPE_HOST);
SAME_VALUE(abi::NodeType::graph, CU_GRAPH_NODE_TYPE_GRAPH);
SAME_VALUE(abi::NodeType::empty, CU_GRAPH_NODE_TYPE_EMPTY);
SAME_VALUE(abi::NodeType::wait_event, CU_GRAPH_NODE_TYPE_WAIT_EVENT);
SAME_VALUE(abi::NodeType::event_record, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
SAME_VALUE(abi::NodeType::semaphores_signal, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL);
SAME_VALUE(abi::NodeType::semaphores_wait, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT);
SAME_VALUE(abi::NodeType::mem_alloc, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
SAME_VALUE(abi::NodeType::mem_free, CU_GRAPH_NODE_TYPE_MEM_FREE);
SAME_VALUE(abi::NodeType::batch_mem_op, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
SAME_VALUE(abi::NodeType::conditional, CU_GRAPH_NODE_TYPE_CONDITIONAL);
SAME_VALUE(abi::CaptureStatus::active, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME_VALUE(abi::CaptureStatus::invalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
#if CUDA_VERSION >= 12090
SAME_VALUE(abi::LogLevel::error, CU_LOG_LEVEL_ERROR);
SAME_VALUE(abi::LogLevel::warning, CU_LOG_LEVEL_WARNING);
#endif

// -- graphs
#if CUDA_VERSION >= 12040
SAME_SIZE(abi::EdgeData, CUgraphEdgeData);
SAME_PLACE(abi::EdgeData, type, CUgraphEdgeData, type);
SAME_SIZE(abi::ConditionalNode, CUDA_CONDITIONAL_NODE_PARAMS);
SAME_PLACE(abi::ConditionalNode, size, CUDA_CONDITIONAL_NODE_PARAMS, size);
SAME_PLACE(abi::ConditionalNode, bodies, CUDA_CONDITIONAL_NODE_PARAMS, phGraph_out);
#endif
SAME_SIZE(abi::InstantiateParameters, CUDA_GRAPH_INSTANTIATE_PARAMS);
SAME_PLACE(abi::InstantiateParameters, flags, CUDA_GRAPH_INSTANTIATE_PARAMS, flags);
SAME_VALUE(abi::instantiate_for_device, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH);
SAME_VALUE(abi::capture_mode_relaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME_VALUE(abi::not_supported, CUDA_ERROR_NOT_SUPPORTED);
SAME_VALUE(abi::first_capture_status, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
SAME_VALUE(abi::last_capture_status, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
