// The scenarios that `recorded FAMILY NAME FILE [SETTINGS]` records, and what they ask of the recording.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace recorded {

using Scenarios = std::map<std::string_view, void (*)()>;

/// `SCENARIO(name) { ... }` in a namespace that has `scenarios`.
#define SCENARIO(name)                                                  \
    void name();                                                        \
    const bool name##_is_there = scenarios.emplace(#name, name).second; \
    void name()

/// Scenarios of one kind. `begin` adds its settings (lines of `key=value`), and begins the recording.
struct Family {
    const Scenarios& scenarios;
    void (*begin)(std::string& settings, std::string_view scenario);
};

/// Those that this program has, by name.
inline std::map<std::string_view, Family>& families() {
    static std::map<std::string_view, Family> all;
    return all;
}

// Which recorder it is: linked_recorder.cpp has the one whose sources are compiled with it, loaded_recorder.cpp the one
// that is installed.

/// Begins to record, before the program's main is known to have begun.
void begin(const std::string& settings);
/// Begins to record in the middle of main, with the fake driver for the recorder's questions. An older one lacks the
/// later versions of its functions.
void begin_with_driver(const std::string& settings, bool older = false);
/// Ends the recording.
void end();

/// The line of the call under way: what stands for a call site here.
inline thread_local std::uint32_t line_here = 7;

}  // namespace recorded
