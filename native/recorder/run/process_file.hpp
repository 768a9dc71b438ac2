// The file of a process, and what its header says.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "recorder/run/settings.hpp"
#include "recorder/trace_writer/writer.hpp"

namespace streamsan::recorder {

/// Where and with which metadata the calling process records. `platform`: what the header says of the platform, members
/// of a JSON object. Takes the name: each process of a run has a file of its own for each platform, also one that
/// another process of the same id was (exec).
WriterOptions options_of_process(const Settings& settings, std::string_view platform);

/// The first bytes of a file, at most so many; "" where it is not to be read.
std::string contents_of(const char* path, std::size_t most);
/// As UTF-8. Arguments may be anything: of what is not UTF-8, only ASCII is kept.
std::string text_of(std::string text);

}  // namespace streamsan::recorder
