// A shared library whose constructor asks whether main has begun: loaded with the program, or by it.
#include <cstdio>

#include "probe.hpp"

namespace {

volatile int sink = 0;

[[gnu::constructor]] void constructor() {
    std::printf("library %d\n", probe_main_has_begun());
    std::fflush(stdout);
    sink = sink + 1;
}

}  // namespace

extern "C" int library_value() { return sink; }
