#include "driver.h"

#include <string.h>

static volatile int sink;
void* driver_dead_word;

__attribute__((noinline)) static void innermost(void (*callback)(void*), void* argument, int size) {
    _Alignas(void*) char room[512];
    memset(room, size, sizeof room);
    memcpy(room, &driver_dead_word, sizeof driver_dead_word);
    sink = room[size & 511];
    callback(argument);
    sink = room[(size + 1) & 511];
}

__attribute__((noinline)) void driver_shallow(void (*callback)(void*), void* argument) {
    innermost(callback, argument, 3);
    sink = 1;
}

__attribute__((noinline)) void driver_deep(int depth, void (*callback)(void*), void* argument) {
    char room[96];
    memset(room, depth, sizeof room);
    if (depth == 0) innermost(callback, argument, 5);
    else driver_deep(depth - 1, callback, argument);
    sink = room[depth & 63];
}
