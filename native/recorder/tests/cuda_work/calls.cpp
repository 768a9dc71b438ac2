#include "calls.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "generated/cuda_callbacks.hpp"
#include "recorder/cuda/kernels.hpp"
#include "recorder/cuda/processes.hpp"

using namespace streamsan;
using namespace streamsan::recorder;

// The handlers' own library has these; here they stand for a process whose call sites nobody asks for.
namespace streamsan::recorder {
Sites::Sites(Writer& writer) : writer_(writer) {}
std::uint32_t Sites::here(std::uint32_t) { return 0; }
}  // namespace streamsan::recorder

namespace {

cuda::Recorder* running = nullptr;
cuda::HandlerTable table;
cuda::Driver fake_driver;
thread_local std::uint64_t current_context = 0xC0;

synthetic::abi::Status parameter_info(synthetic::abi::Word handle, std::size_t index, std::size_t* offset,
                                      std::size_t* size) {
    const auto& function = *reinterpret_cast<const synthetic::Function*>(handle);
    if (index >= function.parameters.size()) return 1;
    *offset = function.parameters[index].first;
    *size = function.parameters[index].second;
    return 0;
}

synthetic::abi::Status wrong_handle(synthetic::abi::Word, std::size_t, std::size_t*, std::size_t*) { return 400; }

synthetic::abi::Status address_range(synthetic::abi::Word* base, std::size_t* size, synthetic::abi::Word address) {
    auto after = synthetic::driver_ranges().upper_bound(address);
    if (after == synthetic::driver_ranges().begin()) return 1;
    --after;
    if (address - after->first >= after->second) return 1;
    *base = after->first;
    *size = after->second;
    return 0;
}

const cuda::Callback& callback_of(std::string_view api, bool per_thread) {
    // The latest version of an entry point has the greatest id.
    const cuda::Callback* found = nullptr;
    for (const cuda::Callback& each : cuda::callback_table) {
        if (!each.runtime && each.per_thread == per_thread && each.name == api &&
            (found == nullptr || each.id > found->id))
            found = &each;
    }
    if (found == nullptr) {
        std::fprintf(stderr, "no callback of the name %.*s\n", static_cast<int>(api.size()), api.data());
        std::abort();
    }
    return *found;
}

void put_arguments(const cuda::Callback& callback, std::initializer_list<std::uint64_t> arguments,
                   unsigned char* parameters) {
    if (arguments.size() != callback.count) {
        std::fprintf(stderr, "%.*s takes %d arguments\n", static_cast<int>(callback.name.size()), callback.name.data(),
                     callback.count);
        std::abort();
    }
    std::size_t position = 0;
    for (const std::uint64_t argument : arguments) {
        const cuda::CallbackParameter& parameter = callback.parameters[position++];
        std::memcpy(parameters + parameter.offset, &argument, parameter.size < 8 ? parameter.size : 8);
    }
}

void make_call(std::string_view api, bool per_thread, std::initializer_list<std::uint64_t> arguments,
               const char* symbol, std::int32_t status, const std::function<void()>& body) {
    const cuda::Callback& callback = callback_of(api, per_thread);
    alignas(8) unsigned char parameters[256]{};
    put_arguments(callback, arguments, parameters);
    cuda::ThreadState& state = cuda::this_thread();
    cuda::Call& made = state.call;
    made = {};
    made.callback = &callback;
    made.parameters = parameters;
    made.context = current_context;
    made.symbol = symbol;
    made.entered = running->writer->now();
    const cuda::Handler handler = table.of(callback).handler;
    if (handler.enter != nullptr) handler.enter(state, made);
    if (body) body();
    made.status = status;
    if (handler.exit != nullptr) handler.exit(state, made);
    made.callback = nullptr;
    made.slot = nullptr;
}

}  // namespace

namespace streamsan::recorder::cuda {

Recorder* recorder() { return running; }
bool is_captured(ThreadState&, const Call&) { return false; }
void write_event(OperationKind, std::uint8_t, std::uint64_t) {}

}  // namespace streamsan::recorder::cuda

namespace synthetic {

void start(const std::string& path, std::uint64_t max_bytes) {
    auto made = std::make_unique<cuda::Recorder>();
    WriterOptions options;
    options.path = path;
    options.metadata = R"({"tool":"test","platform":"cuda","origin":"recording"})";
    options.max_bytes = max_bytes;
    std::string error;
    made->writer = Writer::open(options, error);
    if (made->writer == nullptr) {
        std::fprintf(stderr, "%s\n", error.c_str());
        std::exit(1);
    }
    made->settings.sites = false;
    made->settings.max_bytes = max_bytes;
    made->writer->on_rotation(cuda::restate_memory);
    made->driver = &fake_driver;
    made->ready = true;
    running = made.release();
    fake_driver.cuMemGetAddressRange_v2 = address_range;
    driver_tells_parameters(true);
    cuda::phase = cuda::Phase::main;
    cuda::register_memory(table);
    cuda::register_work(table);
    cuda::register_streams(table);
    cuda::register_events(table);
}

void stop() { running->writer->close(); }

void driver_tells_parameters(bool tells) {
    // What the runtime launches the first does not know.
    fake_driver.cuKernelGetParamInfo = tells ? wrong_handle : nullptr;
    fake_driver.cuFuncGetParamInfo = tells ? parameter_info : nullptr;
}

std::map<std::uint64_t, std::uint64_t>& driver_ranges() {
    static std::map<std::uint64_t, std::uint64_t> ranges;
    return ranges;
}

void current(std::uint64_t context) { current_context = context; }

void call(std::string_view api, std::initializer_list<std::uint64_t> arguments, std::int32_t status,
          const std::function<void()>& body) {
    make_call(api, false, arguments, nullptr, status, body);
}

void call_per_thread(std::string_view api, std::initializer_list<std::uint64_t> arguments) {
    make_call(api, true, arguments, nullptr, 0, {});
}

void launch(const Function& function, std::uint64_t stream, std::initializer_list<const void*> arguments,
            std::int32_t status) {
    const std::vector<const void*> list(arguments);
    make_call("cuLaunchKernel", false,
              {function.handle(), 1, 1, 1, 32, 1, 1, 0, stream, reinterpret_cast<std::uint64_t>(list.data()), 0},
              function.symbol, status, {});
}

PreparedCall::PreparedCall(std::string_view api, std::initializer_list<std::uint64_t> arguments, const char* symbol)
    : symbol_(symbol), callback_(&callback_of(api, false)), handler_(table.of(*callback_).handler) {
    put_arguments(*callback_, arguments, parameters_);
}

void PreparedCall::run() {
    cuda::ThreadState& state = cuda::this_thread();
    cuda::Call& made = state.call;
    made.callback = callback_;
    made.parameters = parameters_;
    made.symbol = symbol_;
    made.slot = nullptr;
    made.site = 0;
    made.entered = running->writer->now();
    if (handler_.enter != nullptr) handler_.enter(state, made);
    made.status = 0;
    handler_.exit(state, made);
}

PreparedCall prepared_launch(const Function& function, const void** arguments) {
    return {"cuLaunchKernel",
            {function.handle(), 1, 1, 1, 32, 1, 1, 0, 1, reinterpret_cast<std::uint64_t>(arguments), 0},
            function.symbol};
}

void stream(std::uint64_t handle) {
    std::uint64_t out = 0;
    constexpr std::uint64_t non_blocking = 1;
    call("cuStreamCreate", {at(out), non_blocking}, 0, [&] { out = handle; });
}

void event(std::uint64_t handle) {
    std::uint64_t out = 0;
    call("cuEventCreate", {at(out), 0}, 0, [&] { out = handle; });
}

std::uint64_t allocate(std::uint64_t address, std::uint64_t size) {
    std::uint64_t out = 0;
    call("cuMemAlloc", {at(out), size}, 0, [&] { out = address; });
    return address;
}

std::uint64_t allocate_async(std::uint64_t address, std::uint64_t size, std::uint64_t stream) {
    std::uint64_t out = 0;
    call("cuMemAllocAsync", {at(out), size, stream}, 0, [&] { out = address; });
    return address;
}

std::uint64_t pinned(std::uint64_t address, std::uint64_t size) {
    std::uint64_t out = 0;
    call("cuMemHostAlloc", {at(out), size, 0}, 0, [&] { out = address; });
    return address;
}

}  // namespace synthetic
