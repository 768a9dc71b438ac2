// Whether a stack is one from after main(): an exit handler's, or a destructor's of an object with static storage.
#pragma once
#include <cstdint>

namespace streamsan::recorder::call_sites {

/// Whether one of the native frames `addresses` (return addresses) is the C library's exit() or quick_exit(): the
/// thread runs what the end of the process runs. For stacks not seen before only.
bool is_after_main(const std::uint64_t* addresses, unsigned count);

}  // namespace streamsan::recorder::call_sites
