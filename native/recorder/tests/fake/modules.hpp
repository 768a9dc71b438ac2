// Machine code of the fake device: images that look like those of a GPU from outside, and which library has which
// kernel.
#pragma once
#include <functional>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "tool.hpp"

namespace fake {

/// An ELF file with a section of code for each of these functions. Images of two salts differ in content.
std::vector<unsigned char> image_of(std::initializer_list<std::string_view> functions, unsigned salt = 0);

/// What cuKernelGetLibrary answers; without an answer it refuses.
void put_into_library(Word kernel, Word library);

/// What cuLibraryGetGlobal answers for this name; without an answer it refuses.
void put_variable(std::string_view name, Word address, std::size_t size);

/// The same for cuLibraryGetManaged.
void put_managed_variable(std::string_view name, Word address, std::size_t size);

/// Done once, when cuKernelGetFunction asks for the kernel: the driver loads it then.
void when_asked_for(Word kernel, std::function<void()> load);

/// Where FAKE_CODE is in the environment: loads a kernel's code, as the driver does at its first launch.
void load_at_first_launch(Word kernel, std::string_view symbol);

}  // namespace fake
