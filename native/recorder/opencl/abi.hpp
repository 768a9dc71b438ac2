// The numbers of OpenCL that the layer needs, so that no header of it is needed. tests/recorder/test_opencl_abi.py
// compares them with `constants.json` of the platform.
#pragma once
#include <cstddef>
#include <cstdint>

namespace streamsan::recorder::opencl::abi {

using Word = std::uint64_t;  ///< a handle, a pointer, or a number, as it is passed

constexpr std::int32_t CL_SUCCESS = 0;
constexpr std::int32_t CL_COMPLETE = 0;
constexpr std::int32_t CL_OUT_OF_RESOURCES = -5;
constexpr std::int32_t CL_INVALID_VALUE = -30;
constexpr std::int32_t CL_INVALID_CONTEXT = -34;
constexpr std::int32_t CL_INVALID_COMMAND_QUEUE = -36;
constexpr std::int32_t CL_INVALID_MEM_OBJECT = -38;
constexpr std::int32_t CL_INVALID_SAMPLER = -41;
constexpr std::int32_t CL_INVALID_PROGRAM = -44;
constexpr std::int32_t CL_INVALID_KERNEL = -48;
constexpr std::int32_t CL_INVALID_EVENT = -58;
constexpr std::int32_t CL_INVALID_COMMAND_BUFFER_KHR = -1138;
constexpr std::int32_t CL_INVALID_SEMAPHORE_KHR = -1142;

constexpr Word CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE = 1;
constexpr Word CL_QUEUE_ON_DEVICE = 4;
constexpr Word CL_QUEUE_PROPERTIES = 0x1093;

constexpr Word CL_MEM_USE_HOST_PTR = 1U << 3;
constexpr std::uint32_t CL_MEM_SIZE = 0x1102;
constexpr std::uint32_t CL_MEM_ASSOCIATED_MEMOBJECT = 0x1107;
constexpr std::uint32_t CL_MEM_OFFSET = 0x1108;
constexpr std::uint32_t CL_MEM_TYPE = 0x1100;
constexpr std::uint32_t CL_MEM_DEVICE_ADDRESS_EXT = 0x5001;
constexpr std::uint32_t CL_MEM_OBJECT_BUFFER = 0x10f0;
constexpr std::uint32_t CL_MEM_OBJECT_IMAGE1D_ARRAY = 0x10f5;
constexpr std::uint32_t CL_MEM_OBJECT_PIPE = 0x10f7;
constexpr std::uint32_t CL_BUFFER_CREATE_TYPE_REGION = 0x1220;

constexpr std::uint32_t CL_IMAGE_ELEMENT_SIZE = 0x1111;
constexpr std::uint32_t CL_IMAGE_ROW_PITCH = 0x1112;
constexpr std::uint32_t CL_IMAGE_SLICE_PITCH = 0x1113;
constexpr std::uint32_t CL_IMAGE_WIDTH = 0x1114;
constexpr std::uint32_t CL_IMAGE_HEIGHT = 0x1115;
constexpr std::uint32_t CL_IMAGE_DEPTH = 0x1116;
constexpr std::uint32_t CL_IMAGE_ARRAY_SIZE = 0x1117;
constexpr std::uint32_t CL_IMAGE_NUM_MIP_LEVELS = 0x1119;

constexpr Word CL_MAP_READ = 1;
constexpr Word CL_MAP_WRITE = 2;
constexpr Word CL_MAP_WRITE_INVALIDATE_REGION = 4;

constexpr std::uint32_t CL_KERNEL_FUNCTION_NAME = 0x1190;
constexpr std::uint32_t CL_KERNEL_ARG_ADDRESS_QUALIFIER = 0x1196;
constexpr std::uint32_t CL_KERNEL_ARG_ACCESS_QUALIFIER = 0x1197;
constexpr std::uint32_t CL_KERNEL_ARG_TYPE_NAME = 0x1198;
constexpr std::uint32_t CL_KERNEL_ARG_TYPE_QUALIFIER = 0x1199;
constexpr std::uint32_t CL_KERNEL_ARG_ADDRESS_GLOBAL = 0x119b;
constexpr std::uint32_t CL_KERNEL_ARG_ADDRESS_CONSTANT = 0x119d;
constexpr std::uint32_t CL_KERNEL_ARG_ADDRESS_PRIVATE = 0x119e;
constexpr std::uint32_t CL_KERNEL_ARG_ACCESS_READ_ONLY = 0x11a0;
constexpr std::uint32_t CL_KERNEL_ARG_ACCESS_WRITE_ONLY = 0x11a1;
constexpr std::uint32_t CL_KERNEL_ARG_ACCESS_READ_WRITE = 0x11a2;
constexpr Word CL_KERNEL_ARG_TYPE_CONST = 1;
constexpr std::uint32_t CL_KERNEL_EXEC_INFO_SVM_PTRS = 0x11b6;
constexpr std::uint32_t CL_KERNEL_EXEC_INFO_SVM_PTRS_ARM = 0x40b8;
constexpr std::uint32_t CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL = 0x4203;
constexpr std::uint32_t CL_KERNEL_EXEC_INFO_DEVICE_PTRS_EXT = 0x5002;
constexpr std::uint32_t CL_PROGRAM_NUM_KERNELS = 0x1167;

constexpr Word CL_SEMAPHORE_TYPE_KHR = 0x203d;
constexpr Word CL_DEVICE_HANDLE_LIST_KHR = 0x2051;

constexpr std::uint32_t CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11d3;
constexpr std::uint32_t CL_LAYER_API_VERSION = 0x4240;
constexpr std::uint32_t CL_LAYER_NAME = 0x4241;
constexpr std::uint32_t CL_LAYER_API_VERSION_100 = 100;

/// What clCreateSubBuffer is told.
struct BufferRegion {
    std::size_t origin;
    std::size_t size;
};

}  // namespace streamsan::recorder::opencl::abi
