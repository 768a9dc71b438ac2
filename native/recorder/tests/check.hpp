#pragma once

#include <cstdio>
#include <unistd.h>

/// Ends the process where a condition does not hold, and says which: what a sanitizer does at exit is left out.
#define CHECK(condition)                                                                        \
    do {                                                                                        \
        if (!(condition)) {                                                                     \
            std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            _exit(1);                                                                           \
        }                                                                                       \
    } while (false)
