// What a kernel's mangled name tells: its name for messages, and which of its parameters it only reads through.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generated/vocabulary.hpp"

namespace streamsan::recorder::cuda {

/// What the type of one parameter tells.
struct ParameterType {
    bool pointer = false;                  ///< a pointer or reference to data: eight bytes, an address
    AccessMode mode = AccessMode::OPAQUE;  ///< READ for a pointer to const data
};

/// A kernel's signature, as far as its name has it.
struct KernelSignature {
    std::string label;   ///< the name as a programmer would write it, without parameters
    bool typed = false;  ///< the name has the parameters' types: `parameters` counts
    std::vector<ParameterType> parameters;
};

/// Reads a kernel's symbol. C names (`extern "C"`, Triton's) have no types.
KernelSignature kernel_signature(const char* symbol);

/// Reads a demangled name: `void scale<float>(float const*, int)`.
KernelSignature demangled_signature(std::string_view text);

/// Reads one demangled type: `float const*`.
ParameterType parameter_type(std::string_view type);

/// `at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, ...>` in a bearable length.
std::string short_label(std::string_view name);

}  // namespace streamsan::recorder::cuda
