// Begins and ends the recording of a scenario.
#pragma once
#include <cstdint>
#include <string>
#include <unistd.h>

namespace fake {

void start(const std::string& path, std::uint64_t max_bytes);
void stop();
/// What the recorder counts.
unsigned captures_under_way();

}  // namespace fake
