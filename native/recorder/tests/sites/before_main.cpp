// Asks in static constructors, in main, in threads and at exit whether main has begun. Each line: the place, and the
// answer.
#include <cstdio>
#include <map>
#include <string>
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

/// Programs by name, each put into the table by a constructor, as test runners do.
std::map<std::string, int (*)()>& programs() {
    static std::map<std::string, int (*)()> all;
    return all;
}

[[gnu::noinline]] int table_program() {
    say("table-program");
    sink = sink + 1;
    return 0;
}

/// Ends with a jump to the same function.
[[gnu::constructor]] void early() { table_program(); }

[[maybe_unused]] const bool entered = [] { return programs().emplace("table", table_program).second; }();

}  // namespace

int main(int count, char** arguments) {
    // A call at the end and through a pointer: main itself is not on the stack, and nothing says that it jumps there.
    if (count > 1) {
        int (*const chosen)() = programs().at(arguments[1]);
        return chosen();
    }
    say("main");
    std::thread([] { say("thread"); }).join();
    sink = sink + count;
    return 0;
}
