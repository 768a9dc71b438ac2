// The life of a process that uses OpenCL: main, fork, exit.
#pragma once
#include <atomic>
#include <cstdint>

#include "generated/vocabulary.hpp"
#include "recorder/opencl/recorder.hpp"
#include "recorder/trace_writer/references.hpp"

namespace streamsan::recorder::opencl {

/// `forked`: a child that has not used OpenCL yet, and records nothing; `beginning`: a thread of it makes its file.
enum class Phase : std::uint8_t { before_main, main, after_main, forked, beginning };

inline std::atomic<Phase> phase{Phase::before_main};

/// The flag of an operation outside main, 0 inside: of one from this call site (0: of none).
std::uint8_t outside_main(std::uint32_t site);

/// To be called by each call: looks whether main has begun; makes a forked child's file; tells of a thread that is new.
void enter_process();

/// Registers what is done at fork and exit. Once.
void watch_process();

/// An operation of the process itself, without call or site.
void write_event(OperationKind kind, Detail detail, std::uint64_t object);

}  // namespace streamsan::recorder::opencl
