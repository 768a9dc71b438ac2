// What a launch costs in the recorder, without dispatch and call sites.
#pragma once
#include <string>

namespace synthetic {

/// Prints nanoseconds per launch, both callbacks together, for several shapes of arguments.
void bench(const std::string& path);

}  // namespace synthetic
