// The recorder that is installed: the fake driver loads it, as the real one does. It records the calls that scenarios
// fire; what it holds inside they cannot see.
#include <cstdio>
#include <cstdlib>

#include "recorder/cuda/dispatch.hpp"
#include "recorder/tests/fake/tool.hpp"
#include "scenarios.hpp"

extern "C" fake::Status cuInit(unsigned flags);

namespace streamsan::recorder::cuda {

void dispatch(void*, abi::Domain domain, std::uint32_t id, const void* about) noexcept {
    fake_tool()->callback(fake_tool()->data, domain, id, about);
}

}  // namespace streamsan::recorder::cuda

namespace recorded {

/// Older or not: which driver it is, is settled when the program starts.
void begin_with_driver(const std::string& settings, bool) {
    setenv("STREAMSAN_RECORD", settings.c_str(), 1);
    cuInit(0);
    if (fake_tool()->callback != nullptr) return;
    std::fputs("nothing is recorded\n", stderr);
    std::exit(1);
}

void end() {}

}  // namespace recorded
