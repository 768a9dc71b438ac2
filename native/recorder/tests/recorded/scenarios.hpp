// The scenarios that `recorded FAMILY NAME FILE [SETTINGS]` records, and what they ask of the recording.
#pragma once
#include <cstdint>
#include <map>
#include <string_view>

#include "recorder/cuda/recorder.hpp"

namespace recorded {

using Scenarios = std::map<std::string_view, void (*)()>;

/// `SCENARIO(name) { ... }` in a namespace that has `scenarios`.
#define SCENARIO(name)                                                  \
    void name();                                                        \
    const bool name##_is_there = scenarios.emplace(#name, name).second; \
    void name()

/// Scenarios of one kind. `begin` begins the recording.
struct Family {
    const char* name;
    const Scenarios& scenarios;
    void (*begin)(streamsan::recorder::cuda::Settings& settings, std::string_view scenario);
};
extern const Family code, core, graphs, shapes, work;

/// Begins to record, before the program's main is known to have begun.
void begin(const streamsan::recorder::cuda::Settings& settings);
/// Begins to record in the middle of main, with the fake driver for the recorder's questions. An older one lacks the
/// later versions of its functions.
void begin_with_driver(const streamsan::recorder::cuda::Settings& settings, bool older = false);

/// The line of the call under way: what stands for a call site here.
inline thread_local std::uint32_t line_here = 7;

}  // namespace recorded
