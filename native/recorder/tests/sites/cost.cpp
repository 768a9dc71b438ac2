// Prints the cost of a site seen before, for stacks of several depths.
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

#include "probe.hpp"

namespace {

volatile int sink = 0;

[[gnu::noinline]] double at_depth(int depth, unsigned count) {
    const double cost = depth == 0 ? probe_cost(count) : at_depth(depth - 1, count);
    sink = sink + 1;
    return cost;
}

}  // namespace

int main(int count, char** arguments) {
    const auto look_ups = static_cast<unsigned>(count > 1 ? std::atoi(arguments[1]) : 1000000);
    for (int depth : {0, 5, 10, 15, 20}) std::printf("%d calls deep: %.1f ns\n", depth, at_depth(depth, look_ups));
    return 0;
}
