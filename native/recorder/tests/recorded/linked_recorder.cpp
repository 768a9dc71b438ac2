// The recorder whose sources are compiled with the scenarios, so that sanitizers see through it, as scenarios do.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <iostream>
#include <iterator>
#include <string>

#include "recorder/cuda/dispatch.hpp"
#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/parameter_modes.hpp"
#include "recorder/cuda/processes.hpp"
#include "recorder/run/omissions.hpp"
#include "recorder/run/settings.hpp"
#include "recorder/tests/fake/tool.hpp"
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

extern "C" fake::Status cuInit(unsigned flags);

namespace recorded {

namespace cuda = streamsan::recorder::cuda;
namespace abi = cuda::abi;

void begin(const std::string& text) {
    const streamsan::recorder::Settings settings = streamsan::recorder::parse_settings(text);
    streamsan::recorder::note_omissions_in(settings.omissions);
    std::string reason;
    if (!cuda::start_recorder(settings, reason)) {
        std::fprintf(stderr, "%s\n", reason.c_str());
        std::exit(1);
    }
    cuda::prepare_dispatch();
}

void begin_with_driver(const std::string& settings, bool older) {
    cuInit(0);
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
    fake::Tool& tool = *fake_tool();
    tool.callback = cuda::dispatch;
    for (auto& domain : tool.enabled) std::fill(std::begin(domain), std::end(domain), true);
}

void end() { cuda::recorder()->writer->close(); }

namespace symbols {

Scenarios scenarios;

/// Reads symbols of kernels, and prints what they tell.
SCENARIO(names) {
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

void begin(std::string& settings, std::string_view) { recorded::begin(settings); }

}  // namespace symbols

const bool symbols_are_there = families().emplace("symbols", Family{symbols::scenarios, symbols::begin}).second;

}  // namespace recorded
