// Functions that a loaded library calls of others, and what it calls instead.
#pragma once
#include <atomic>

#include "recorder/sites/modules.hpp"

namespace streamsan::recorder::cuda {

/// From here on `library` calls `replacement` where it calls the function `name` of another library, which `original`
/// is set to before that. False where the library does not call it through a place that can be changed. Calls under
/// way go on as they were; other libraries' calls are left alone. The library stays loaded then.
bool replace_import(const call_sites::Module& library, const char* name, void* replacement,
                    std::atomic<void*>& original);

}  // namespace streamsan::recorder::cuda
