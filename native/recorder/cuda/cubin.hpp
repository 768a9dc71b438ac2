// A GPU's machine code as the driver loads it: an ELF file in memory.
#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace streamsan::recorder::cuda {

/// Calls `found` with the symbol of each function that has code in an image. Looks at nothing outside of it, whatever
/// it says of itself. False where it is no such image, or damaged; functions before the damage were told.
bool functions_in_cubin(std::span<const unsigned char> image, const std::function<void(std::string_view)>& found);

/// The same for the symbols of the device's variables: `__device__` ones that its code refers to, then all
/// `__constant__` ones.
bool variables_in_cubin(std::span<const unsigned char> image, const std::function<void(std::string_view)>& found);

/// The same for the symbols of the kernels that copy tensors (`cp.async.bulk.tensor`), whose addresses only the device
/// knows; "" stands for all kernels: a function does that any of them may call.
bool tensor_copiers_in_cubin(std::span<const unsigned char> image, const std::function<void(std::string_view)>& found);

/// Whether an image calls this function without having it: the driver has it then (`cudaGraphSetConditional`).
bool calls_of_driver(std::span<const unsigned char> image, std::string_view function);

}  // namespace streamsan::recorder::cuda
