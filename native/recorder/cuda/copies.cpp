// Copies: one operation each, with the memory that is written and the memory that is read.
#include <algorithm>

#include "recorder/cuda/abi_memory.hpp"
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/batches.hpp"
#include "recorder/cuda/transfers.hpp"
#include "recorder/cuda/work.hpp"

namespace streamsan::recorder::cuda {
namespace {

struct CopyScratch {
    enum : std::size_t { waits, by_host };
};

/// cuMemcpyAtoH and its relatives: which sides are arrays is in the name, source first.
bool is_array(std::string_view name, std::size_t position) {
    constexpr std::string_view prefix = "cuMemcpy";
    const std::string_view sides = name.substr(std::min(prefix.size(), name.size()));
    return sides.size() >= 4 && sides.substr(1, 2) == "to" && sides[position] == 'A';
}

/// The offset into an array stands right after it.
std::uint64_t offset_after(const Call& call, const CallbackParameter* parameter) {
    const auto position = static_cast<std::size_t>(parameter - call.callback->parameters.data());
    return call.word(position + 1);
}

TransferSide linear_side(const Call& call, Role role, std::size_t name_position, bool host, bool device) {
    const CallbackParameter* const parameter = call.find(role);
    if (parameter == nullptr) return {};
    const std::uint64_t value = call.value(parameter);
    if (is_array(call.callback->name, name_position)) return array_side(value, offset_after(call, parameter));
    TransferSide side;
    side.address = value;
    side.end = host ? host_endpoint_at(value) : device ? Endpoint::DEVICE : endpoint_at(value);
    return side;
}

/// A copy that names its sides by arguments of their own.
Transfer linear_transfer(const Call& call) {
    constexpr std::size_t source_letter = 0;
    constexpr std::size_t destination_letter = 3;
    const Direction direction = call.callback->direction;
    Transfer transfer;
    transfer.shape.width = call.value(Role::SIZE);
    transfer.source = linear_side(call, Role::READ, source_letter, direction == Direction::HOST_TO_DEVICE,
                                  direction == Direction::DEVICE_TO_HOST || direction == Direction::DEVICE_TO_DEVICE);
    transfer.destination =
        linear_side(call, Role::WRITE, destination_letter, direction == Direction::DEVICE_TO_HOST,
                    direction == Direction::HOST_TO_DEVICE || direction == Direction::DEVICE_TO_DEVICE);
    return transfer;
}

Transfer transfer_of_call(const Call& call) {
    const CallbackParameter* const structure = call.find(Role::STRUCTURE);
    if (structure == nullptr || call.find(Role::WRITE) != nullptr) return linear_transfer(call);
    const auto* const address = reinterpret_cast<const void*>(call.value(structure));
    if (address == nullptr) return {};
    if (call.callback->name.find("2D") != std::string_view::npos)
        return transfer_of(*static_cast<const abi::Copy2D*>(address));
    return transfer_of(*static_cast<const abi::Copy3D*>(address));
}

WaitClass wait_of(const Call& call, const Transfer& transfer) {
    // Of two managed sides the driver decides which one is the host.
    const bool unclear = transfer.source.end == Endpoint::MANAGED && transfer.destination.end == Endpoint::MANAGED;
    if (unclear) return copy_wait(call.callback->wait, Endpoint::UNKNOWN, Endpoint::UNKNOWN);
    return copy_wait(call.callback->wait, transfer.source.end, transfer.destination.end);
}

bool waits_for_work(WaitClass wait) { return wait == WaitClass::COMPLETE || wait == WaitClass::BEFORE; }

/// Where all memory is the host's and some of it pinned, the call is the host's own access: what other streams have
/// under way there is in flight.
bool is_access(WaitClass wait, Endpoint one, Endpoint other) {
    const auto of_host = [](Endpoint end) { return end == Endpoint::PINNED || end == Endpoint::PAGEABLE; };
    return wait == WaitClass::COMPLETE && of_host(one) && of_host(other) &&
           (one == Endpoint::PINNED || other == Endpoint::PINNED);
}

void enter_copy(ThreadState& state, Call& call) {
    const Transfer transfer = transfer_of_call(call);
    const WaitClass wait = wait_of(call, transfer);
    Reference references[2];
    std::size_t count = copy_references(transfer, references);
    call.scratch[CopyScratch::waits] = waits_for_work(wait);
    call.scratch[CopyScratch::by_host] = is_access(wait, transfer.source.end, transfer.destination.end);
    if (call.scratch[CopyScratch::by_host] != 0) count = 0;
    write_entered(state, call, OperationKind::COPY, wait, call.stream(), 0, references, count);
}

void exit_copy(ThreadState& state, Call& call) {
    complete(state, call, call.scratch[CopyScratch::waits] != 0);
    if (call.scratch[CopyScratch::by_host] == 0 || call.status != abi::success) return;
    Reference references[2];
    const std::size_t count = copy_references(transfer_of_call(call), references);
    if (count != 0) write_returned(state, call, OperationKind::HOST_ACCESS, 0, 0, 0, references, count);
}

// -- several copies in one call
// -----------------------------------------------------------------------------------------

constexpr std::uint64_t most_copies = 1U << 16;  // of one call; what is beyond is not seen

void write_copy(ThreadState& state, Call& call, Transfer transfer, abi::SourceOrder order) {
    const WaitClass wait = copy_wait(effects::Wait::ASYNCHRONOUS, transfer.source.end, transfer.destination.end);
    // What is read during the call itself is not in use any more when it returns.
    if (order == abi::SourceOrder::during_call) transfer.source.address = 0;
    Reference references[2];
    const std::size_t count = copy_references(transfer, references);
    write_batch_member(state, call, OperationKind::COPY, wait, call.stream(), 0, references, count);
}

void enter_linear_batch(ThreadState& state, Call& call) {
    begin_batch(state, call);
    const auto* const to = reinterpret_cast<const abi::Word*>(call.word(0));
    const auto* const from = reinterpret_cast<const abi::Word*>(call.word(1));
    const auto* const sizes = reinterpret_cast<const std::size_t*>(call.word(2));
    const std::uint64_t count = std::min(call.word(3), most_copies);
    const auto* const attributes = reinterpret_cast<const abi::CopyAttributes*>(call.word(4));
    const auto* const first = reinterpret_cast<const std::size_t*>(call.word(5));
    const std::uint64_t attribute_count = attributes != nullptr && first != nullptr ? call.word(6) : 0;
    if (to == nullptr || from == nullptr || sizes == nullptr) return;
    std::uint64_t next = 0;  // attributes[i] counts from copy first[i] on
    auto order = abi::SourceOrder::stream;
    for (std::uint64_t index = 0; index < count; ++index) {
        for (; next < attribute_count && first[next] <= index; ++next) order = attributes[next].order;
        Transfer transfer;
        transfer.shape.width = sizes[index];
        transfer.destination.address = to[index];
        transfer.destination.end = endpoint_at(to[index]);
        transfer.source.address = from[index];
        transfer.source.end = endpoint_at(from[index]);
        write_copy(state, call, transfer, order);
    }
}

void enter_copy_batch(ThreadState& state, Call& call) {
    const std::string_view name = call.callback->name;
    if (name.find("3D") == std::string_view::npos) {
        enter_linear_batch(state, call);
        return;
    }
    begin_batch(state, call);
    const CallbackParameter* const list = call.find(Role::LIST);
    const bool one = list == nullptr;  // cuMemcpy3DWithAttributesAsync
    const auto* const copies =
        reinterpret_cast<const abi::BatchCopy3D*>(call.value(one ? call.find(Role::STRUCTURE) : list));
    if (copies == nullptr) return;
    const std::uint64_t count = one ? 1 : std::min(call.word(0), most_copies);
    for (std::uint64_t index = 0; index < count; ++index)
        write_copy(state, call, transfer_of(copies[index]), copies[index].order);
}

}  // namespace

void register_copies(HandlerTable& table) {
    table.on(Effect::COPY, {enter_copy, exit_copy});
    table.on(Effect::COPY_BATCH, {enter_copy_batch, complete_batch});
}

}  // namespace streamsan::recorder::cuda
