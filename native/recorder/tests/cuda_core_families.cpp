// In place of what has tests of its own: launches and allocations in the simplest form, call sites without stacks.
#include <atomic>

#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder {

std::atomic<bool> main_begun{true};

Sites::Sites(Writer& writer) : writer_(writer), generation_(0) {}
std::uint32_t Sites::here(std::uint32_t label) {
    SiteRecord record;
    record.file = writer_.string("program.cu");
    record.line = 7;
    record.label = label;
    return writer_.site(record);
}
bool Sites::main_has_begun() { return main_begun.load(); }
void Sites::forget() {}

}  // namespace streamsan::recorder

namespace streamsan::recorder::cuda {

std::atomic<std::uint64_t> capturing_stream{0};

namespace {

void enter_launch(ThreadState& state, Call& call) {
    const Reference used{0x1000, 0, 0};
    write_entered(state, call, OperationKind::LAUNCH, 0, call.stream(), 0, &used, 1);
}

void exit_alloc(ThreadState& state, Call& call) {
    const std::uint64_t address = call.status == abi::success ? call.output(call.find(effects::Role::OUT_POINTER)) : 0;
    const Reference made{address, call.value(call.find(effects::Role::SIZE)), 0};
    write_returned(state, call, OperationKind::ALLOC, call.callback->memory, 0, 0, &made, 1);
}

}  // namespace

void register_memory(HandlerTable& table) { table.on(effects::Effect::ALLOC, {nullptr, exit_alloc}); }
void register_work(HandlerTable& table) { table.on(effects::Effect::LAUNCH, {enter_launch, exit_plain}); }
void register_graphs(HandlerTable&) {}

bool is_captured(ThreadState&, const Call& call) {
    return capturing_stream.load() != 0 && call.find_handle(effects::Handle::STREAM) != nullptr &&
           call.stream() == capturing_stream.load();
}
void captured_exit(ThreadState&, Call&) {}
bool captured_failure(ThreadState&, Call&) { return false; }
void captures_lose_context(abi::Word) {}
void graph_resource(ThreadState&, abi::Resource, const abi::GraphData&) {}
void restate_memory(Lane&) {}
void restate_graphs(Lane&) {}
void memory_loses_context(std::uint64_t) {}
void memory_after_fork() {}
void graphs_after_fork() {}

}  // namespace streamsan::recorder::cuda
