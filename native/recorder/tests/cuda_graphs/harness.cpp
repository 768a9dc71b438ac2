// What the recorder is tested in: a call site is the line of the program's call, and calls come from the fake driver.
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "fake_driver.hpp"
#include "harness.hpp"
#include "recorder/cuda/dispatch.hpp"
#include "recorder/cuda/processes.hpp"

namespace cuda = streamsan::recorder::cuda;

// The real ones look at the stack.
namespace streamsan::recorder {
Sites::Sites(Writer& writer) : writer_(writer), generation_(0) {}
std::uint32_t Sites::here(std::uint32_t label) {
    SiteRecord record;
    record.file = writer_.string("scenarios.cpp");
    record.line = fake::line_here;
    record.label = label;
    return writer_.site(record);
}
bool Sites::main_has_begun() { return true; }
void Sites::forget() {}
}  // namespace streamsan::recorder

namespace fake {

Status call(std::uint16_t id, const std::vector<unsigned char>& parameters, const char* symbol, Word context,
            const std::function<Status()>& body) {
    static std::atomic<std::uint32_t> correlations{0};
    Status status = 0;
    std::uint64_t data_of_tool = 0;
    abi::CallbackData data{};
    data.site = abi::CallbackSite::enter;
    data.parameters = parameters.data();
    data.returned = &status;
    // Only launches have one; elsewhere it is not to be looked at.
    data.symbol = symbol != nullptr ? symbol : reinterpret_cast<const char*>(1);
    data.context = context;
    data.correlation_data = &data_of_tool;
    data.correlation = ++correlations;
    cuda::dispatch(nullptr, abi::Domain::driver, id, &data);
    status = body();
    data.site = abi::CallbackSite::exit;
    cuda::dispatch(nullptr, abi::Domain::driver, id, &data);
    return status;
}

void tell(abi::Resource resource, const abi::GraphData& graph) {
    const abi::ResourceData data{context_here, 0, &graph};
    cuda::dispatch(nullptr, abi::Domain::resource, static_cast<std::uint32_t>(resource), &data);
}

void start(const std::string& path, std::uint64_t max_bytes) {
    cuda::Settings settings;
    settings.output = path;
    settings.max_bytes = max_bytes;
    settings.root_pid = getpid();
    std::string reason;
    if (!cuda::start_recorder(settings, reason)) throw std::runtime_error(reason);
    cuda::prepare_dispatch();
    cuda::recorder()->driver = &driver();
    cuda::recorder()->ready.store(true);
    cuda::phase.store(cuda::Phase::main);
}

void stop() { cuda::recorder()->writer->close(); }

unsigned captures_under_way() { return cuda::recorder()->captures.load(); }

}  // namespace fake
