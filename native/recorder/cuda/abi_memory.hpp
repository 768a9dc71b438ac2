// More of the driver's types: what calls about memory and launches take. As abi.hpp, which has the common ones.
#pragma once
#include <cstddef>
#include <cstdint>

#include "recorder/cuda/abi.hpp"

namespace streamsan::recorder::cuda::abi {

/// cuLaunchKernel_params: the structure that its callback gets. The cooperative one ends before `extra`.
struct LaunchKernelCall {
    Word function;
    std::uint32_t grid[3];
    std::uint32_t block[3];
    std::uint32_t shared_bytes;
    Word stream;
    void** arguments;
    void** extra;
};

/// cuLaunchKernelEx_params.
struct LaunchKernelExCall {
    const LaunchConfig* configuration;
    Word function;
    void** arguments;
    void** extra;
};

/// CUDA_ARRAY_DESCRIPTOR_v2.
struct FlatArrayDescriptor {
    std::size_t width;
    std::size_t height;
    std::uint32_t format;
    std::uint32_t channels;
};

/// CUDA_RESOURCE_DESC: what a texture or surface object is made of.
struct ResourceDescription {
    enum class Type : std::uint32_t { array = 0, mipmapped_array = 1, linear = 2, pitched = 3 };
    struct Linear {
        Word address;
        std::uint32_t format;
        std::uint32_t channels;
        std::size_t bytes;
    };
    struct Pitched {
        Word address;
        std::uint32_t format;
        std::uint32_t channels;
        std::size_t width;  ///< in texels
        std::size_t height;
        std::size_t pitch;
    };
    Type type;
    union {
        Word array;
        Linear linear;
        Pitched pitched;
        std::uint32_t reserved[32];
    };
    std::uint32_t flags;
};

/// CUmemcpySrcAccessOrder.
enum class SourceOrder : std::uint32_t { invalid = 0, stream = 1, during_call = 2, any = 3 };

/// CUmemcpyAttributes_v1.
struct CopyAttributes {
    SourceOrder order;
    MemoryLocation source;
    MemoryLocation destination;
    std::uint32_t flags;
};

/// CUmemcpy3DOperand_v1.
struct BatchOperand {
    static constexpr std::uint32_t pointer_type = 1;
    static constexpr std::uint32_t array_type = 2;
    struct Pointer {
        Word address;
        std::size_t row_length;    ///< in elements; 0: the copy's own width
        std::size_t layer_height;  ///< 0: the copy's own height
        MemoryLocation location;
    };
    struct Array {
        Word array;
        std::size_t x;
        std::size_t y;
        std::size_t z;
    };
    std::uint32_t type;
    union {
        Pointer pointer;
        Array array;
    };
};

/// CUDA_MEMCPY3D_BATCH_OP_v1.
struct BatchCopy3D {
    BatchOperand source;
    BatchOperand destination;
    std::size_t width;
    std::size_t height;
    std::size_t depth;
    SourceOrder order;
    std::uint32_t flags;
};

/// CUDA_EXTERNAL_MEMORY_BUFFER_DESC_v1; what follows is reserved.
struct ExternalBuffer {
    std::uint64_t offset;
    std::uint64_t size;
    std::uint32_t flags;
    std::uint32_t reserved[16];
};

/// CUmemDecompressParams.
struct Decompression {
    std::size_t source_bytes;
    std::size_t destination_bytes;
    std::uint32_t* actual_bytes;
    Word source;
    Word destination;
    std::uint32_t algorithm;
    std::uint8_t padding[20];
};

}  // namespace streamsan::recorder::cuda::abi
