// Shared virtual memory: what clSVMAlloc and Intel's functions gave.
#pragma once
#include "recorder/opencl/call.hpp"

namespace streamsan::recorder::opencl {

/// Whether an address lies in such memory that is not freed.
bool lies_in_svm(Word address);

void svm_after_fork();

}  // namespace streamsan::recorder::opencl
