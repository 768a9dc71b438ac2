// Asks in static constructors, in main, in threads and at exit whether main has begun. Each line: the place, and the
// answer.
#include <cstdio>
#include <thread>

#include "probe.hpp"

namespace {

volatile int sink = 0;

[[gnu::noinline]] void say(const char* place) {
    std::printf("%s %d\n", place, probe_main_has_begun());
    std::fflush(stdout);
    sink = sink + 1;
}

struct Global {
    [[gnu::noinline]] explicit Global(const char* place) {
        say(place);
        std::thread([] { say("thread-of-constructor"); }).join();
    }
    [[gnu::noinline]] ~Global() { say("destructor"); }
};

Global global("constructor");

[[gnu::constructor]] void attribute_constructor() {
    say("attribute-constructor");
    sink = sink + 1;
}

}  // namespace

int main(int count, char**) {
    if (count > 1) {  // a tail call: main itself is not on the stack
        return std::printf("tail\n"), 0;
    }
    say("main");
    std::thread([] { say("thread"); }).join();
    sink = sink + count;
    return 0;
}
