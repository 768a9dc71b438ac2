#include "bench.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

#include "calls.hpp"

namespace synthetic {
namespace {

constexpr std::uint64_t device = 0x7f0000000000;
constexpr std::uint64_t megabyte = 1U << 20;

double processor_nanoseconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// Processor time of one of `count` calls in nanoseconds, of the fastest of several rounds.
template <class Body>
double each(int count, Body&& body) {
    constexpr int rounds = 20;
    double best = 1e18;
    for (int round = 0; round < rounds; ++round) {
        const double begin = processor_nanoseconds();
        for (int index = 0; index < count; ++index) body();
        best = std::min(best, (processor_nanoseconds() - begin) / count);
    }
    return best;
}

}  // namespace

void bench(const std::string& path) {
    start(path);
    const std::uint64_t a = allocate(device, megabyte);
    const std::uint64_t b = allocate(device + 4 * megabyte, megabyte);
    constexpr int count = 10'000;
    const int number = 1;
    const Function two{"_Z5scalePfPKfi", {{0, 8}, {8, 8}, {16, 4}}};
    const void* two_arguments[]{&a, &b, &number};
    PreparedCall small = prepared_launch(two, two_arguments);
    std::printf("two pointers %.0f ns\n", each(count, [&] { small.run(); }));
    const Function structure{"_Z5large5Large", {{0, 3504}}};
    std::array<std::uint64_t, 438> words{};
    for (std::size_t index = 0; index < words.size(); ++index) words[index] = index * 0x9E3779B97F4A7C15U;
    words[3] = a;
    words[400] = b;
    const void* one_argument[]{words.data()};
    PreparedCall large = prepared_launch(structure, one_argument);
    std::printf("structure of 3504 bytes with two pointers %.0f ns\n", each(count, [&] { large.run(); }));
    for (std::size_t index = 0; index < 200; ++index) words[index] = a + index * 4096;
    PreparedCall many = prepared_launch(structure, one_argument);
    std::printf("structure of 3504 bytes with 200 pointers %.0f ns\n", each(count / 10, [&] { many.run(); }));
    std::uint64_t out = device + 16 * megabyte;
    PreparedCall allocation("cuMemAllocAsync", {at(out), 4096, 1});
    PreparedCall release("cuMemFreeAsync", {out, 1});
    std::printf("stream-ordered allocation and free %.0f ns\n", each(count, [&] {
                    allocation.run();
                    release.run();
                }));
    stop();
}

}  // namespace synthetic
