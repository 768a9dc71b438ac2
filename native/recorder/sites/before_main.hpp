// Whether a stack is one from before main(): a static constructor's.
#pragma once
#include <cstdint>

namespace streamsan::recorder::call_sites {

/// Whether the native frames `addresses` (return addresses, all the thread's frames) are those of a function that the
/// dynamic loader or the C library runs before main(). False whenever that is not certain.
bool is_before_main(const std::uint64_t* addresses, unsigned count);

}  // namespace streamsan::recorder::call_sites
