// Allocations, registrations and frees. An allocation is written when it returns, a free when it begins: in between the
// address is nobody's, or another thread's.
#include "recorder/cuda/extents.hpp"
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/host_accesses.hpp"
#include "recorder/cuda/live_memory.hpp"
#include "recorder/cuda/memory_parts.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/cuda/torch_pool.hpp"

namespace streamsan::recorder::cuda {
namespace {

/// Bytes that an allocation asked for, with the pitch that it got.
std::uint64_t size_of(const Call& call) {
    if (const CallbackParameter* const size = call.find(Role::SIZE); size != nullptr) return call.value(size);
    if (call.find(Role::WIDTH) != nullptr) return product(call.output(Role::OUT_VALUE), call.value(Role::HEIGHT));
    return 0;
}

/// A pool that is gone shows only in an allocation that fails (SS205).
bool blames_pool(const Call& call, abi::Word pool) {
    constexpr abi::Status invalid_value = 1;
    constexpr abi::Status invalid_handle = 400;
    return pool != 0 && (call.status == invalid_value || call.status == invalid_handle);
}

[[gnu::hot]] void exit_alloc(ThreadState& state, Call& call) {
    const auto kind = static_cast<MemoryKind>(call.callback->memory);
    const std::uint64_t stream = kind == MemoryKind::STREAM_ORDERED ? call.stream() : 0;
    if (call.status != abi::success) {
        const abi::Word pool = call.value(Handle::POOL);
        if (blames_pool(call, pool)) {
            write_returned(state, call, OperationKind::HANDLE_USE, HandleKind::POOL, 0, pool, nullptr, 0);
        } else {
            write_returned(state, call, OperationKind::ALLOC, kind, stream, 0);
        }
        return;
    }
    const std::uint64_t address = call.output(Role::OUT_POINTER);
    if (address == 0) return;
    // PyTorch's own allocator gets its memory from the driver by other calls; and to look for its library is no short
    // way.
    if (kind != MemoryKind::STREAM_ORDERED) listen_to_torch_pool();
    std::uint64_t size = size_of(call);
    if (size == 0) size = size_by_driver(address);
    write_allocation(state, call, kind, stream, address, size);
}

void exit_register(ThreadState& state, Call& call) {
    if (call.status != abi::success) return;
    const std::uint64_t address = call.value(Role::MAPPED);
    if (address == 0) return;
    write_allocation(state, call, MemoryKind::REGISTERED, 0, address, call.value(Role::SIZE));
    constexpr std::uint64_t of_a_device = 4;
    constexpr std::uint64_t read_only = 8;
    if (recorder()->host_accesses && (call.word(2) & (of_a_device | read_only)) != 0) host_memory_stays_open(address);
}

[[gnu::hot]] void enter_free(ThreadState& state, Call& call) {
    begin_free(state, call, call.value(Role::FREED));  // of NULL it is a no-op (F-02)
}

[[gnu::hot]] void exit_free(ThreadState& state, Call& call) { end_free(state, call); }

}  // namespace

void register_allocations(HandlerTable& table) {
    table.on(Effect::ALLOC, {nullptr, exit_alloc});
    table.on(Effect::REGISTER, {nullptr, exit_register});
    table.on(Effect::FREE, {enter_free, exit_free});
}

void register_memory(HandlerTable& table) {
    register_allocations(table);
    register_array_calls(table);
    register_images(table);
    register_mappings(table);
    register_imports(table);
    register_pools(table);
    register_modules(table);
}

}  // namespace streamsan::recorder::cuda
