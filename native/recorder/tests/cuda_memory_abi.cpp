// abi_memory.hpp against the real headers. Compiled only, where there are any.
#define __CUDA_API_VERSION_INTERNAL  // the parameter structures name types of the first entry points too
#include <cstddef>

#include <cuda.h>
#include <generated_cuda_meta.h>

#include "recorder/cuda/abi_memory.hpp"

namespace ours = streamsan::recorder::cuda::abi;

#define SAME(type, member, other, its) static_assert(offsetof(ours::type, member) == offsetof(other, its))

SAME(LaunchKernelCall, function, cuLaunchKernel_params, f);
SAME(LaunchKernelCall, stream, cuLaunchKernel_params, hStream);
SAME(LaunchKernelCall, arguments, cuLaunchKernel_params, kernelParams);
SAME(LaunchKernelCall, extra, cuLaunchKernel_params, extra);
SAME(LaunchKernelCall, arguments, cuLaunchCooperativeKernel_params, kernelParams);
SAME(LaunchKernelCall, stream, cuLaunchCooperativeKernel_params, hStream);
static_assert(sizeof(ours::LaunchKernelCall) == sizeof(cuLaunchKernel_params));
SAME(LaunchKernelExCall, configuration, cuLaunchKernelEx_params, config);
SAME(LaunchKernelExCall, function, cuLaunchKernelEx_params, f);
SAME(LaunchKernelExCall, arguments, cuLaunchKernelEx_params, kernelParams);
SAME(LaunchKernelExCall, extra, cuLaunchKernelEx_params, extra);
static_assert(sizeof(ours::FlatArrayDescriptor) == sizeof(CUDA_ARRAY_DESCRIPTOR));
SAME(FlatArrayDescriptor, format, CUDA_ARRAY_DESCRIPTOR, Format);
SAME(FlatArrayDescriptor, channels, CUDA_ARRAY_DESCRIPTOR, NumChannels);
static_assert(sizeof(ours::ResourceDescription) == sizeof(CUDA_RESOURCE_DESC));
SAME(ResourceDescription, type, CUDA_RESOURCE_DESC, resType);
SAME(ResourceDescription, array, CUDA_RESOURCE_DESC, res.array.hArray);
SAME(ResourceDescription, array, CUDA_RESOURCE_DESC, res.mipmap.hMipmappedArray);
SAME(ResourceDescription, linear.address, CUDA_RESOURCE_DESC, res.linear.devPtr);
SAME(ResourceDescription, linear.format, CUDA_RESOURCE_DESC, res.linear.format);
SAME(ResourceDescription, linear.channels, CUDA_RESOURCE_DESC, res.linear.numChannels);
SAME(ResourceDescription, linear.bytes, CUDA_RESOURCE_DESC, res.linear.sizeInBytes);
SAME(ResourceDescription, pitched.address, CUDA_RESOURCE_DESC, res.pitch2D.devPtr);
SAME(ResourceDescription, pitched.format, CUDA_RESOURCE_DESC, res.pitch2D.format);
SAME(ResourceDescription, pitched.width, CUDA_RESOURCE_DESC, res.pitch2D.width);
SAME(ResourceDescription, pitched.height, CUDA_RESOURCE_DESC, res.pitch2D.height);
SAME(ResourceDescription, pitched.pitch, CUDA_RESOURCE_DESC, res.pitch2D.pitchInBytes);
SAME(ResourceDescription, flags, CUDA_RESOURCE_DESC, flags);
static_assert(static_cast<unsigned>(ours::ResourceDescription::Type::array) == CU_RESOURCE_TYPE_ARRAY);
static_assert(static_cast<unsigned>(ours::ResourceDescription::Type::mipmapped_array) ==
              CU_RESOURCE_TYPE_MIPMAPPED_ARRAY);
static_assert(static_cast<unsigned>(ours::ResourceDescription::Type::linear) == CU_RESOURCE_TYPE_LINEAR);
static_assert(static_cast<unsigned>(ours::ResourceDescription::Type::pitched) == CU_RESOURCE_TYPE_PITCH2D);
SAME(ExternalBuffer, size, CUDA_EXTERNAL_MEMORY_BUFFER_DESC, size);
static_assert(sizeof(ours::ExternalBuffer) == sizeof(CUDA_EXTERNAL_MEMORY_BUFFER_DESC));
#if CUDA_VERSION >= 12080
static_assert(sizeof(ours::CopyAttributes) == sizeof(CUmemcpyAttributes));
SAME(CopyAttributes, order, CUmemcpyAttributes, srcAccessOrder);
static_assert(sizeof(ours::BatchOperand) == sizeof(CUmemcpy3DOperand));
SAME(BatchOperand, pointer.row_length, CUmemcpy3DOperand, op.ptr.rowLength);
SAME(BatchOperand, pointer.layer_height, CUmemcpy3DOperand, op.ptr.layerHeight);
SAME(BatchOperand, array.z, CUmemcpy3DOperand, op.array.offset.z);
static_assert(sizeof(ours::BatchCopy3D) == sizeof(CUDA_MEMCPY3D_BATCH_OP));
SAME(BatchCopy3D, destination, CUDA_MEMCPY3D_BATCH_OP, dst);
SAME(BatchCopy3D, width, CUDA_MEMCPY3D_BATCH_OP, extent.width);
SAME(BatchCopy3D, order, CUDA_MEMCPY3D_BATCH_OP, srcAccessOrder);
static_assert(sizeof(ours::Decompression) == sizeof(CUmemDecompressParams));
SAME(Decompression, source, CUmemDecompressParams, src);
SAME(Decompression, destination, CUmemDecompressParams, dst);
#endif
static_assert(static_cast<unsigned>(ours::SourceOrder::during_call) == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL);

int main() {}
