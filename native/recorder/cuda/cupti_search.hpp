// Where libcupti may be.
#pragma once
#include <string>
#include <vector>

namespace streamsan::recorder::cuda {

/// What the process has loaded of CUDA.
struct LoadedCuda {
    std::string cupti;      ///< path of a libcupti; "" if none
    std::string runtime;    ///< path of the libcudart; "" if none (it may be linked statically)
    int runtime_major = 0;  ///< its version; 0 if unknown
    int driver_major = 0;   ///< newest CUDA version of the driver; 0 if unknown
};
LoadedCuda loaded_cuda();

/// Major versions of CUPTI to try, best first: that of the loaded runtime, that of the driver, older ones.
std::vector<int> versions_to_try(const LoadedCuda& loaded);

/// Folders to look in, best first: `places` (':' between them), the wheels beside the loaded runtime, toolkits, the
/// wheels of the program's Python. A file among `places` stays a file.
std::vector<std::string> folders_to_try(const std::string& places, const LoadedCuda& loaded);

/// The newest CUDA version that a driver of this branch (580 of 580.65.06) serves; 0 if unknown.
int cuda_of_driver_branch(int branch);

}  // namespace streamsan::recorder::cuda
