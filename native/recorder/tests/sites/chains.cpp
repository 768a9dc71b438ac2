// Call chains of many shapes: the fast unwinder must see what the language runtime's unwinder sees.
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "driver.h"
#include "probe.hpp"

namespace {

int failures = 0;
volatile int sink = 0;

void check(const char* name) {
    if (probe_agrees(name) == 0) ++failures;
    sink = sink + 1;
}

void require(bool good, const char* what) {
    if (good) return;
    std::printf("failed: %s\n", what);
    ++failures;
}

[[gnu::noinline]] void recursion(int depth, const char* name) {
    if (depth == 0) check(name);
    else recursion(depth - 1, name);
    sink = sink + depth;
}

[[gnu::noinline]] void with_alloca(std::size_t size) {
    auto* room = static_cast<char*>(alloca(size));
    std::memset(room, 1, size);
    sink = room[size / 2];
    check("alloca");
    sink = room[size / 3];
}

[[gnu::noinline]] void with_alignment(int value) {
    alignas(64) char room[256];
    std::memset(room, value, sizeof room);
    sink = room[value];
    check("aligned stack");
    sink = room[value + 1];
}

[[gnu::noinline]] void with_alignment_and_alloca(std::size_t size) {
    alignas(64) char room[256];
    auto* more = static_cast<char*>(alloca(size));
    std::memset(room, 1, sizeof room);
    std::memset(more, 1, size);
    sink = room[size & 127] + more[size / 2];
    check("aligned stack and alloca");
    sink = room[size & 63] + more[size / 3];
}

[[gnu::noinline]] void many_registers(int a, int b, int c, int d, int e, int f, int g, int h) {
    sink = a * b;
    check("many arguments");
    sink = a + b * c + d * e + f * g + h;
}

int compare(const void* left, const void* right) {
    static bool once = false;
    if (!once) {
        once = true;
        check("qsort");
    }
    return *static_cast<const int*>(left) - *static_cast<const int*>(right);
}

[[gnu::noinline]] void throws(int depth) {
    if (depth == 0) throw 1;
    throws(depth - 1);
    sink = sink + 1;
}

void handler(int) { check("signal handler"); }

/// Frames of a driver without unwind tables: the runtime's unwinder stops there, so the chain is compared with that of
/// the caller.
std::uint64_t outside[64];
unsigned outside_count = 0;
void through_driver(void*) {
    std::uint64_t found[64] = {};
    const unsigned count = probe_chain(found, 64);
    // The frames of this callback and of check_driver come before those of the program's call.
    const unsigned shared = std::min(outside_count, count);
    bool good = count >= outside_count && shared >= 2;
    for (unsigned index = 1; good && index + 1 < shared; ++index)
        good = found[count - index] == outside[outside_count - index];
    if (!good) {
        std::printf("driver: %u frames, %u outside\n", count, outside_count);
        for (unsigned index = 0; index < count; ++index)
            std::printf("  %12lx\n", static_cast<unsigned long>(found[index]));
        ++failures;
    }
}

[[gnu::noinline]] void check_driver(int depth) {
    outside_count = probe_chain(outside, 64);
    // The outermost frame's: where no table leads further, it must not end the search for the next frame.
    std::memcpy(&driver_dead_word, &outside[outside_count - 1], sizeof driver_dead_word);
    for (int repeated = 0; repeated < 3; ++repeated) {
        if (depth < 0) driver_shallow(through_driver, nullptr);
        else driver_deep(depth, through_driver, nullptr);
    }
    sink = sink + 1;
}

ucontext_t main_context;
ucontext_t other_context;

void coroutine() {
    check("coroutine");
    recursion(3, "deeper in a coroutine");
    swapcontext(&other_context, &main_context);
}

[[gnu::noinline]] void labels() {
    std::uint32_t first[2];
    volatile unsigned twice = 2;  // or the loop becomes two places
    for (unsigned index = 0; index < twice; ++index) first[index] = probe_site(7);
    require(first[0] == first[1] && first[0] != 0, "the same place has the same site");
    require(probe_site(7) != first[0], "another line is another site");
    std::uint32_t other[2];
    for (unsigned index = 0; index < twice; ++index) other[index] = probe_site(index + 1);
    require(other[0] != other[1], "labels tell sites apart");
    probe_forget();
    require(probe_site(7) != 0, "a site after ids were forgotten");
}

/// An alternate stack that ends where unmapped memory begins: nothing beyond may be read.
[[gnu::noinline]] void edge_of_memory() {
    constexpr std::size_t size = 65536;
    auto* memory =
        static_cast<char*>(mmap(nullptr, size * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    require(mprotect(memory + size, size, PROT_NONE) == 0, "mprotect");
    getcontext(&other_context);
    other_context.uc_stack.ss_sp = memory;
    other_context.uc_stack.ss_size = size;
    other_context.uc_link = &main_context;
    makecontext(&other_context, coroutine, 0);
    swapcontext(&main_context, &other_context);
    munmap(memory, size * 2);
}

}  // namespace

int main(int count, char** arguments) {
    check("main");
    for (int depth : {1, 5, 30}) recursion(depth, "recursion");
    with_alloca(static_cast<std::size_t>(count) * 100);
    with_alignment(count);
    with_alignment_and_alloca(static_cast<std::size_t>(count) * 50);
    many_registers(count, 2, 3, 4, 5, 6, 7, 8);
    const std::function<void(int)> function = [&](int value) {
        sink = value;
        check("std::function");
        sink = value + 1;
    };
    function(count);
    int numbers[] = {3, 1, 2};
    std::qsort(numbers, 3, sizeof(int), compare);
    try {
        throws(3);
    } catch (int) {
        check("after an exception");
    }
    std::thread([] { check("thread"); }).join();
    std::thread([] { recursion(12, "recursion in a thread"); }).join();
    std::vector<std::thread> threads;
    for (int index = 0; index < 4; ++index)
        threads.emplace_back([] {
            for (int repeated = 0; repeated < 200; ++repeated)
                require(probe_site(static_cast<std::uint32_t>(repeated % 5)) != 0, "a site");
        });
    for (std::thread& thread : threads) thread.join();
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    struct sigaction action{};
    static char alternate[65536];
    const stack_t stack{alternate, 0, sizeof alternate};
    sigaltstack(&stack, nullptr);
    action.sa_flags = SA_ONSTACK;
    action.sa_handler = [](int) { require(probe_site(0) != 0, "a site on an alternate stack"); };
    sigaction(SIGUSR2, &action, nullptr);
    raise(SIGUSR2);
    check_driver(-1);
    for (int depth : {0, 1, 6}) check_driver(depth);
    labels();
    edge_of_memory();
    require(probe_main_has_begun() == 1, "main has begun");
    std::printf("%s: %d failures\n", arguments[0], failures);
    return failures == 0 ? 0 : 1;
}
