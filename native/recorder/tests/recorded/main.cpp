// The recorder in a program of synthetic calls: `recorded FAMILY NAME FILE [SETTINGS]` records a scenario, and
// tests/recorder reads the file. `recorded names` reads symbols of kernels from its input and prints what they tell.
#include <cstdio>
#include <dlfcn.h>
#include <iostream>
#include <string>
#include <unistd.h>

#include "recorder/cuda/dispatch.hpp"
#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/omissions.hpp"
#include "recorder/cuda/parameter_modes.hpp"
#include "recorder/cuda/processes.hpp"
#include "recorder/cuda/settings.hpp"
#include "scenarios.hpp"

// The real ones look at the stack.
namespace streamsan::recorder {
Sites::Sites(Writer& writer) : writer_(writer), generation_(0) {}
std::uint32_t Sites::here(std::uint32_t label) {
    SiteRecord record;
    record.file = writer_.string("scenarios.cpp");
    record.line = recorded::line_here;
    record.label = label;
    return writer_.site(record);
}
void Sites::note(call_sites::StackNote&, const call_sites::StackStart&) const noexcept {}
std::uint32_t Sites::site_of(const call_sites::StackNote&, bool&) { return here(0); }
bool Sites::main_has_begun() { return true; }
void Sites::forget() {}
}  // namespace streamsan::recorder

namespace recorded {

namespace cuda = streamsan::recorder::cuda;
namespace abi = cuda::abi;

void begin(const cuda::Settings& settings) {
    cuda::note_omissions_in(settings.omissions);
    std::string reason;
    if (!cuda::start_recorder(settings, reason)) {
        std::fprintf(stderr, "%s\n", reason.c_str());
        std::exit(1);
    }
    cuda::prepare_dispatch();
}

void begin_with_driver(const cuda::Settings& settings, bool older) {
    begin(settings);
    static cuda::Driver driver;
#define FIND(name, parameters) driver.name = reinterpret_cast<abi::Status(*) parameters>(dlsym(RTLD_DEFAULT, #name));
    STREAMSAN_DRIVER_FUNCTIONS(FIND)
#undef FIND
    if (older) {
        driver.cuGraphGetEdges_v2 = nullptr;
        driver.cuGraphKernelNodeGetParams_v2 = nullptr;
        driver.cuKernelGetParamInfo = driver.cuFuncGetParamInfo = nullptr;
        driver.cuStreamGetCaptureInfo_v2 = nullptr;
        driver.cuStreamGetCaptureInfo_v3 = nullptr;
    }
    cuda::recorder()->driver = &driver;
    cuda::recorder()->ready.store(true);
    cuda::phase.store(cuda::Phase::main);
}

namespace {

void print_names() {
    for (std::string symbol; std::getline(std::cin, symbol);) {
        const bool demangled = symbol.starts_with("= ");
        const cuda::KernelSignature signature =
            demangled ? cuda::demangled_signature(symbol.substr(2)) : cuda::kernel_signature(symbol.c_str());
        std::printf("%s|%s|", signature.label.c_str(), signature.typed ? "typed" : "untyped");
        for (const cuda::ParameterType& parameter : signature.parameters) {
            std::putchar(!parameter.pointer ? '.' : parameter.mode == streamsan::AccessMode::READ ? 'r' : '*');
        }
        std::putchar('\n');
    }
}

int record(const Family& family, std::string_view name, cuda::Settings settings) {
    const auto scenario = family.scenarios.find(name);
    if (scenario == family.scenarios.end()) return 2;
    family.begin(settings, name);
    scenario->second();
    cuda::recorder()->writer->close();
    return 0;
}

}  // namespace
}  // namespace recorded

int main(int count, char** arguments) {
    using namespace recorded;
    const std::string_view name = count > 1 ? arguments[1] : "";
    if (name == "names") {
        print_names();
        return 0;
    }
    if (count < 4) return 2;
    cuda::Settings settings = cuda::parse_settings(count > 4 ? arguments[4] : "");
    settings.output = arguments[3];
    settings.root_pid = getpid();
    for (const Family* family : {&code, &core, &graphs, &shapes, &work}) {
        if (family->name == name) return record(*family, arguments[2], settings);
    }
    return 2;
}
