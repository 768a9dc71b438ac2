// main() ends in a jump to another function, and with an argument loads a library before anything else.
#include <dlfcn.h>

#include <cstdio>

#include "probe.hpp"

[[gnu::noinline]] int program(int count, char** arguments) {
    if (count > 1) {
        void* const library = dlopen(arguments[1], RTLD_NOW);
        std::printf("loaded %d\n", library != nullptr ? 1 : 0);
    }
    std::printf("program %d\n", probe_main_has_begun());
    return 0;
}

int main(int count, char** arguments) { return program(count, arguments); }
