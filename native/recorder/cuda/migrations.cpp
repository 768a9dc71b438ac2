// Migrations: memory must live until the stream comes to them. And advice on memory, which touches nothing.
#include <algorithm>

#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/batches.hpp"
#include "recorder/cuda/work.hpp"

namespace streamsan::recorder::cuda {
namespace {

constexpr auto no_wait = static_cast<std::uint8_t>(WaitClass::NONE);

void enter_prefetch(ThreadState& state, Call& call) {
    // cuStreamAttachMemAsync with length 0 means all of it.
    const Reference range{call.value(Role::INSPECTED), call.value(Role::SIZE),
                          static_cast<std::uint8_t>(AccessMode::READ)};
    write_entered(state, call, OperationKind::PREFETCH, no_wait, call.stream(), 0, &range, range.address != 0 ? 1 : 0);
}

void enter_migration_batch(ThreadState& state, Call& call) {
    constexpr std::uint64_t most = 1U << 16;
    begin_batch(state, call);
    const auto* const addresses = reinterpret_cast<const abi::Word*>(call.word(0));
    const auto* const sizes = reinterpret_cast<const std::size_t*>(call.word(1));
    const std::uint64_t count = std::min(call.word(2), most);
    if (addresses == nullptr || sizes == nullptr) return;
    // What is discarded holds anything afterwards.
    const bool discards = call.callback->name.find("Discard") != std::string_view::npos;
    const auto mode = static_cast<std::uint8_t>(discards ? AccessMode::WRITE : AccessMode::READ);
    for (std::uint64_t index = 0; index < count; ++index) {
        const Reference range{addresses[index], sizes[index], mode};
        if (range.address == 0 || range.size == 0) continue;
        write_batch_member(state, call, OperationKind::PREFETCH, no_wait, call.stream(), 0, &range, 1);
    }
}

void enter_advice(ThreadState& state, Call& call) {
    const Reference range{call.value(Role::INSPECTED), call.value(Role::SIZE),
                          static_cast<std::uint8_t>(AccessMode::OPAQUE)};
    write_entered(state, call, OperationKind::ALLOC_ATTRIBUTE, 0, 0, 0, &range, range.address != 0 ? 1 : 0);
}

}  // namespace

void register_migrations(HandlerTable& table) {
    table.on(Effect::PREFETCH, {enter_prefetch, exit_plain});
    table.on(Effect::PREFETCH_BATCH, {enter_migration_batch, complete_batch});
    // Other calls that only look at a pointer are asked of any pointer, to learn what it is: their failure is an
    // answer.
    table.on("cuMemAdvise", {enter_advice, exit_plain});
}

}  // namespace streamsan::recorder::cuda
