// The recorder of one process for OpenCL: what all handlers share.
#pragma once
#include <cstdint>
#include <memory>

#include "recorder/run/settings.hpp"
#include "recorder/sites/sites.hpp"
#include "recorder/trace_writer/writer.hpp"

namespace streamsan::recorder::opencl {

struct Recorder {
    std::unique_ptr<Writer> writer;
    std::unique_ptr<Sites> sites;
    Settings settings;
};

/// Null until the program makes its first context, and in a process that does not record. Lives until the process ends.
Recorder* recorder();

/// What `streamsan run` has said; the layer reads it when it is loaded.
void set_settings(const Settings& settings);
/// Whether a recording is wanted: `recorder()` can be made.
bool wanted();

/// Makes the recorder at the process's first use of OpenCL: who only asks which devices there are leaves no file.
Recorder* begin_recorder();

/// Where and as what this process records.
WriterOptions options_of_process(const Settings& settings);

}  // namespace streamsan::recorder::opencl
