// Further types of the driver that only graphs need; see abi.hpp.
#pragma once
#include <cstddef>
#include <cstdint>

#include "recorder/cuda/abi.hpp"

namespace streamsan::recorder::cuda::abi {

/// CUgraphEdgeData.
struct EdgeData {
    std::uint8_t from_port;
    std::uint8_t to_port;
    std::uint8_t type;
    std::uint8_t reserved[5];
};
static_assert(sizeof(EdgeData) == 8);

/// CUDA_GRAPH_INSTANTIATE_PARAMS.
struct InstantiateParameters {
    std::uint64_t flags;
    Word upload_stream;
    Word error_node;
    std::int32_t result;
};
static_assert(sizeof(InstantiateParameters) == 32);

/// CUDA_CONDITIONAL_NODE_PARAMS, a member of CUgraphNodeParams. `bodies` is the driver's answer: `size` graphs.
struct ConditionalNode {
    std::uint64_t condition;
    std::int32_t type;
    std::uint32_t size;
    const Word* bodies;
    Word context;
};
static_assert(sizeof(ConditionalNode) == 32);

/// CUgraphInstantiate_flags: the bits that GraphExecFlag has too, with the same numbers.
constexpr std::uint32_t known_instantiate_flags = 7;
constexpr std::uint32_t instantiate_for_device = 4;

/// CUstreamCaptureMode.
constexpr int capture_mode_relaxed = 2;

/// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED to CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD.
constexpr Status first_capture_status = 900;
constexpr Status last_capture_status = 908;

/// CUDA_ERROR_INVALID_VALUE.
constexpr Status invalid_value = 1;
/// CUDA_ERROR_NOT_SUPPORTED.
constexpr Status not_supported = 801;

}  // namespace streamsan::recorder::cuda::abi
