// The face of the probe: a shared library with the code under test, so that its own frames are hidden as a recorder's
// are.
#pragma once
#include <cstddef>
#include <cstdint>

extern "C" {
/// The chain of the caller's native site: addresses after the calls, innermost first, of frames outside the probe and
/// CUDA.
unsigned probe_chain(std::uint64_t* addresses, unsigned limit);
/// The same by the language runtime's unwinder.
unsigned probe_backtrace(std::uint64_t* addresses, unsigned limit);
/// Whether both agree, with a second look to use the caches; prints what differs.
int probe_agrees(const char* name);
/// The site of this place, with a label.
std::uint32_t probe_site(std::uint32_t label);
/// Writes the chain as lines "file<tab>function<tab>line<tab>column<tab>module<newline>", innermost first; the number
/// of frames.
unsigned probe_text(char* text, std::size_t size);
int probe_main_has_begun();
void probe_forget();
}
