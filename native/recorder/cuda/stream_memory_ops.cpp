// Stream memory operations: waits for, and writes of, values in memory, and transfers that are given as lists of
// structures.
#include <algorithm>

#include "recorder/cuda/abi_memory.hpp"
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/batches.hpp"
#include "recorder/cuda/transfers.hpp"
#include "recorder/cuda/work.hpp"

namespace streamsan::recorder::cuda {
namespace {

constexpr std::size_t most_operations = 256;  // of a batch: the driver's own limit

std::size_t batch_references(const abi::BatchMemoryOperation* operations, std::uint64_t count, Reference* into) {
    std::size_t found = 0;
    for (std::uint64_t index = 0; index < std::min<std::uint64_t>(count, most_operations); ++index) {
        const abi::BatchMemoryOperation& each = operations[index];
        using enum abi::MemoryOperation;
        const bool reads = each.operation == wait_value_32 || each.operation == wait_value_64;
        const bool writes = each.operation == write_value_32 || each.operation == write_value_64;
        if ((!reads && !writes) || each.address == 0) continue;  // barriers and flushes touch no memory
        into[found++] = {each.address, 0, static_cast<std::uint8_t>(reads ? AccessMode::READ : AccessMode::WRITE)};
    }
    return found;
}

void enter_memory_operation(ThreadState& state, Call& call) {
    Reference references[most_operations];
    std::size_t count = 0;
    if (const CallbackParameter* const list = call.find(Role::LIST); list != nullptr) {
        const auto* const operations = reinterpret_cast<const abi::BatchMemoryOperation*>(call.value(list));
        if (operations != nullptr) count = batch_references(operations, call.word(1), references);
    } else {
        const CallbackParameter* const written = call.find(Role::WRITE);
        const std::uint64_t address = call.value(written != nullptr ? written : call.find(Role::READ));
        if (address != 0)
            references[count++] = {
                address, 0, static_cast<std::uint8_t>(written != nullptr ? AccessMode::WRITE : AccessMode::READ)};
    }
    write_entered(state, call, OperationKind::STREAM_MEMORY_OP, 0, call.stream(), 0, references, count);
}

/// Decompression by the copy engine: what is read and what is written is known, as of a copy.
void enter_decompression(ThreadState& state, Call& call) {
    begin_batch(state, call);
    const auto* const list = reinterpret_cast<const abi::Decompression*>(call.word(0));
    const std::uint64_t count = std::min<std::uint64_t>(call.word(1), 1U << 16);
    if (list == nullptr) return;
    for (std::uint64_t index = 0; index < count; ++index) {
        // How much comes out is known only later: at most this much.
        const Reference references[2]{
            {list[index].destination, list[index].destination_bytes,
             static_cast<std::uint8_t>(static_cast<unsigned>(AccessMode::WRITE) |
                                       static_cast<unsigned>(SlotFlag::STRIDED))},
            {list[index].source, list[index].source_bytes, static_cast<std::uint8_t>(AccessMode::READ)}};
        write_batch_member(state, call, OperationKind::COPY, WaitClass::NONE, call.stream(), 0, references, 2);
    }
}

}  // namespace

void register_memory_operations(HandlerTable& table) {
    table.on(Effect::STREAM_MEMORY_OP, {enter_memory_operation, exit_plain});
    table.on("cuMemBatchDecompressAsync", {enter_decompression, complete_batch});
}

}  // namespace streamsan::recorder::cuda
