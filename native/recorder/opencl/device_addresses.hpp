// Addresses that buffers have on their devices, which programs ask for and give to kernels
// (cl_ext_buffer_device_address).
#pragma once
#include "recorder/opencl/call.hpp"

namespace streamsan::recorder::opencl {

/// Where in the trace the memory at such an address is; 0: no buffer whose address the program has asked for.
Word place_of_device_address(Word address);

void device_addresses_after_fork();

}  // namespace streamsan::recorder::opencl
