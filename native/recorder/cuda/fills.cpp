// Fills: memsets of one, two and four bytes, in a row or in rows.
#include "recorder/cuda/extents.hpp"
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/transfers.hpp"
#include "recorder/cuda/work.hpp"

namespace streamsan::recorder::cuda {
namespace {

struct FillScratch {
    enum : std::size_t { waits, by_host };
};

/// Bytes of an element, from the end of the name: cuMemsetD2D16Async.
std::uint64_t element_of(std::string_view name) {
    if (name.ends_with("Async")) name.remove_suffix(5);
    if (name.ends_with("D16")) return 2;
    return name.ends_with("D32") ? 4 : 1;
}

Reference target_of(const Call& call, Endpoint& end) {
    const std::uint64_t element = element_of(call.callback->name);
    TransferSide side;
    side.address = call.value(Role::WRITE);
    // What CUDA does not know cannot be filled, so this is memory of the device that came by a way not seen.
    end = endpoint_at(side.address);
    if (end == Endpoint::PAGEABLE) end = Endpoint::UNKNOWN;
    TransferShape shape{0};
    if (const CallbackParameter* const width = call.find(Role::WIDTH); width != nullptr) {
        shape = {product(call.value(width), element), call.value(Role::HEIGHT)};
        side.pitch = call.value(Role::PITCH);
    } else {
        const CallbackParameter* const elements = call.find(Role::ELEMENTS);
        shape.width = product(call.value(elements != nullptr ? elements : call.find(Role::SIZE)), element);
    }
    return reference_to(side, shape, AccessMode::WRITE);
}

void enter_fill(ThreadState& state, Call& call) {
    Endpoint end{};
    const Reference target = target_of(call, end);
    const WaitClass wait = fill_wait(call.callback->wait, end);
    call.scratch[FillScratch::waits] = wait == WaitClass::COMPLETE;
    call.scratch[FillScratch::by_host] = wait == WaitClass::COMPLETE && end == Endpoint::PINNED;
    const std::size_t count = target.address != 0 && call.scratch[FillScratch::by_host] == 0 ? 1 : 0;
    write_entered(state, call, OperationKind::MEMSET, wait, call.stream(), 0, &target, count);
}

void exit_fill(ThreadState& state, Call& call) {
    complete(state, call, call.scratch[FillScratch::waits] != 0);
    if (call.scratch[FillScratch::by_host] == 0 || call.status != abi::success) return;
    Endpoint end{};
    const Reference target = target_of(call, end);
    if (target.address != 0) write_returned(state, call, OperationKind::HOST_ACCESS, 0, 0, 0, &target, 1);
}

}  // namespace

void register_fills(HandlerTable& table) { table.on(Effect::MEMSET, {enter_fill, exit_fill}); }

}  // namespace streamsan::recorder::cuda
