// Memory pools: they are made and destroyed, and must be alive when they are used. Their memory outlives them.
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/live_handles.hpp"
#include "recorder/cuda/memory_parts.hpp"

namespace streamsan::recorder::cuda {
namespace {

constexpr auto pool_kind = static_cast<std::uint8_t>(HandleKind::POOL);

void exit_pool_create(ThreadState& state, Call& call) {
    const abi::Word pool = call.status == abi::success ? call.output(Role::OUT_HANDLE) : 0;
    if (pool != 0) ended_pools().begin(pool);
    write_returned(state, call, OperationKind::HANDLE_CREATE, pool_kind, 0, pool);
}

void enter_pool_destroy(ThreadState& state, Call& call) {
    const abi::Word pool = call.value(Handle::POOL);
    if (pool == 0) return;
    write_entered(state, call, OperationKind::HANDLE_DESTROY, pool_kind, 0, pool);
    ended_pools().end(pool);
}

/// A pool of the driver's own. It makes one when it is first asked, at the handle of a destroyed one too.
void exit_pool_fetch(ThreadState& state, Call& call) {
    const abi::Word pool = call.status == abi::success ? call.output(Role::OUT_HANDLE) : 0;
    if (pool == 0 || !ended_pools().has(pool)) return;
    ended_pools().begin(pool);
    write_returned(state, call, OperationKind::HANDLE_CREATE, pool_kind, 0, pool);
}

void enter_pool_use(ThreadState& state, Call& call) {
    const abi::Word pool = call.value(Handle::POOL);
    if (pool != 0) write_entered(state, call, OperationKind::HANDLE_USE, pool_kind, 0, pool);
}

}  // namespace

void register_pools(HandlerTable& table) {
    for (const std::string_view name : {"cuMemPoolCreate", "cuMemPoolImportFromShareableHandle"})
        table.on(name, {nullptr, exit_pool_create});
    table.on("cuMemPoolDestroy", {enter_pool_destroy, exit_plain});
    for (const std::string_view name :
         {"cuDeviceGetDefaultMemPool", "cuDeviceGetMemPool", "cuMemGetDefaultMemPool", "cuMemGetMemPool"}) {
        table.on(name, {nullptr, exit_pool_fetch});
    }
    for (const std::string_view name :
         {"cuDeviceSetMemPool", "cuMemSetMemPool", "cuMemPoolTrimTo", "cuMemPoolSetAccess", "cuMemPoolSetAttribute",
          "cuMemPoolGetAttribute", "cuMemPoolGetAccess", "cuMemPoolExportToShareableHandle"}) {
        table.on(name, {enter_pool_use, exit_plain});
    }
}

}  // namespace streamsan::recorder::cuda
