// Why something is not recorded, in words: lines in a file of `streamsan run`, which shows them.
#pragma once
#include <string_view>

namespace streamsan::recorder {

/// The file, named once when recording begins.
void note_omissions_in(std::string_view path) noexcept;

/// Appends a line, the first time that this process says it.
void note_omission(std::string_view line) noexcept;

/// Says that what was to be recorded of a call is lost, or cut short: the recorder had no memory, or failed.
void note_lost_call(std::string_view name) noexcept;

}  // namespace streamsan::recorder
