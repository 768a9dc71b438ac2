// Where the code of a launch lies.
#pragma once

/// For the functions that every launch runs: one section for all of them, so that they share pages and follow each
/// other. Between two launches a program has used the instruction caches for itself; spread over the library, the same
/// code costs a third more pages and lines.
#define STREAMSAN_LAUNCH_PATH [[gnu::hot, gnu::section("streamsan_launch")]]

/// A part of such a function that several have. To call it would take as many instructions as a third of what it does.
#define STREAMSAN_LAUNCH_PART [[gnu::always_inline]] inline
