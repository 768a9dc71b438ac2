// The file of a process, and what its header says.
#pragma once
#include "recorder/cuda/recorder.hpp"
#include "recorder/trace_writer/writer.hpp"

namespace streamsan::recorder::cuda {

/// Where and with which metadata the calling process records. Takes the name: each process of a run has a file of its
/// own, also one that another process of the same id was (exec).
WriterOptions options_of_process(const Settings& settings);

}  // namespace streamsan::recorder::cuda
