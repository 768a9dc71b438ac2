// Creation and destruction of arrays.
#include "recorder/cuda/abi_memory.hpp"
#include "recorder/cuda/arrays.hpp"
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/memory_parts.hpp"

namespace streamsan::recorder::cuda {
namespace {

constexpr auto array_kind = static_cast<std::uint8_t>(MemoryKind::ARRAY);

abi::ArrayDescriptor description_of(const Call& call, const void* given) {
    // cuArrayCreate has the older description, without depth and flags.
    if (call.callback->name != "cuArrayCreate") return *static_cast<const abi::ArrayDescriptor*>(given);
    const auto& flat = *static_cast<const abi::FlatArrayDescriptor*>(given);
    return {flat.width, flat.height, 0, flat.format, flat.channels, 0};
}

void exit_array_create(ThreadState& state, Call& call) {
    const auto* const given = reinterpret_cast<const void*>(call.value(Role::STRUCTURE));
    const abi::Word handle = call.status == abi::success ? call.output(Role::OUT_HANDLE) : 0;
    if (handle == 0 || given == nullptr) {
        write_returned(state, call, OperationKind::ALLOC, array_kind, 0, 0);
        return;
    }
    const CallbackParameter* const levels = call.find(Role::VALUE);
    const auto count = static_cast<unsigned>(levels != nullptr ? call.value(levels) : 1);
    const ArrayPlace place = arrays().add(handle, description_of(call, given), count, call.context);
    const Reference memory{place.base, place.size, 0};
    Slot* const slot = prepare_returned(state, call, OperationKind::ALLOC, array_kind, 0, 0, &memory, 1);
    if (slot == nullptr) return;
    arrays().set_sequence(handle, *slot);
    commit_prepared(state);
}

void enter_array_destroy(ThreadState& state, Call& call) {
    const abi::Word handle = call.value(Role::FREED);
    if (handle == 0) return;
    const auto place = arrays().find(handle);
    const Reference freed{place ? place->base : handle, 0, 0};
    if (prepare_entered(state, call, OperationKind::FREE, call.callback->free, 0, 0, &freed, 1) == nullptr) return;
    arrays().remove(handle);
    commit_prepared(state);
}

void exit_array_destroy(ThreadState& state, Call& call) {
    complete(state, call, false);
    if (call.status != abi::success) arrays().restore(call.value(Role::FREED));
}

/// A level or a plane: it lies in its array, and has no life of its own.
void exit_part(ThreadState&, Call& call) {
    if (call.status != abi::success) return;
    const abi::Word part = call.output(Role::OUT_HANDLE);
    if (part != 0) arrays().add_part(part, call.value(call.find_handle(Handle::ARRAY)));
}

}  // namespace

void register_array_calls(HandlerTable& table) {
    for (const std::string_view name : {"cuArrayCreate", "cuArray3DCreate", "cuMipmappedArrayCreate"})
        table.on(name, {nullptr, exit_array_create});
    for (const std::string_view name : {"cuArrayDestroy", "cuMipmappedArrayDestroy"})
        table.on(name, {enter_array_destroy, exit_array_destroy});
    for (const std::string_view name : {"cuMipmappedArrayGetLevel", "cuArrayGetPlane"})
        table.on(name, {nullptr, exit_part});
}

}  // namespace streamsan::recorder::cuda
