// What `streamsan run` passes to the recorder.
#pragma once
#include <string_view>

#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {

/// The variable of the environment that holds the settings.
constexpr const char* settings_variable = "STREAMSAN_RECORD";

/// Reads `key=value` lines, with `\\` for a backslash and `\n` for the end of a line in a value. What is not understood
/// is passed over: the environment is anyone's.
Settings parse_settings(std::string_view text);

}  // namespace streamsan::recorder::cuda
