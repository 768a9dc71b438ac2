// Loads, uses and unloads two builds of one library in turn, which then lie at the same address.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "probe.hpp"

namespace {

using Through = void (*)(void (*)(void*), void*);
char innermost[256];

void callback(void* text) {
    static char all[65536];
    probe_text(all, sizeof all);
    // The second frame is the library's.
    const char* line = std::strchr(all, '\n');
    if (line == nullptr) return;
    const char* end = std::strchr(line + 1, '\n');
    const char* begin = end;
    while (begin != nullptr && begin[-1] != '/') --begin;
    if (begin != nullptr)
        std::snprintf(static_cast<char*>(text), sizeof innermost, "%.*s", static_cast<int>(end - begin), begin);
}

}  // namespace

int main(int count, char** libraries) {
    int failures = 0;
    for (int round = 0; round < 6; ++round) {
        const char* const path = libraries[1 + round % (count - 1)];
        void* const library = dlopen(path, RTLD_NOW);
        if (library == nullptr) return 2;
        const auto through = reinterpret_cast<Through>(dlsym(library, "driver_shallow"));
        through(callback, innermost);
        through(callback, innermost);
        const char* const name = std::strrchr(path, '/') + 1;
        std::printf("%s: %s at %p\n", name, innermost, reinterpret_cast<void*>(through));
        if (std::strcmp(innermost, name) != 0) ++failures;
        dlclose(library);
    }
    return failures == 0 ? 0 : 1;
}
