// The names of API functions in the file's table, looked up once for each row of the callback table.
#pragma once
#include <cstdint>

#include "recorder/cuda/call.hpp"

namespace streamsan::recorder::cuda {

/// The id of the name that the program called: the runtime function's where one encloses the driver call, else the
/// driver's.
std::uint16_t api_of(const ThreadState& state, const Call& call);

/// In a forked child: ids of the parent's file mean nothing in its own.
void forget_api_names();

}  // namespace streamsan::recorder::cuda
