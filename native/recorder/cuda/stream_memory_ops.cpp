// Stream memory operations: waits for, and writes of, values in memory, and transfers that are given as lists of
// structures.
#include <algorithm>
#include <string_view>

#include "recorder/cuda/abi_memory.hpp"
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/batches.hpp"
#include "recorder/cuda/transfers.hpp"
#include "recorder/cuda/work.hpp"

namespace streamsan::recorder::cuda {
namespace {

constexpr std::size_t most_operations = 256;  // of a batch: the driver's own limit

constexpr std::uint64_t write_without_barrier = 1;  // it may overtake what is before it: nobody knows what it orders
constexpr std::uint8_t wide_word = 16;              // of a ValueOperation: the word has 64 bits

ValueOperation value_operation(bool writes, bool wide, std::uint64_t flags) {
    if (writes && flags == write_without_barrier) return ValueOperation::UNKNOWN;
    const std::uint64_t narrow = writes ? static_cast<std::uint64_t>(ValueOperation::WRITE)
                                        : static_cast<std::uint64_t>(ValueOperation::WAIT_GEQ) + (flags & 3U);
    return static_cast<ValueOperation>(narrow | (wide ? wide_word : 0U));
}

/// One wait or write. The size of its reference is the value, where its operation is known.
void write_operation(ThreadState& state, Call& call, bool writes, bool wide, std::uint64_t flags, abi::Word address,
                     std::uint64_t value) {
    const ValueOperation operation = value_operation(writes, wide, flags);
    const std::uint64_t known = operation == ValueOperation::UNKNOWN ? 0 : wide ? value : value & UINT32_MAX;
    const Reference reference{address, known, static_cast<std::uint8_t>(writes ? AccessMode::WRITE : AccessMode::READ)};
    write_batch_member(state, call, OperationKind::STREAM_MEMORY_OP, static_cast<std::uint8_t>(operation),
                       call.stream(), 0, &reference, address == 0 ? 0 : 1);
}

void write_batch(ThreadState& state, Call& call, const abi::BatchMemoryOperation* operations, std::uint64_t count) {
    for (std::uint64_t index = 0; index < std::min<std::uint64_t>(count, most_operations); ++index) {
        const abi::BatchMemoryOperation& each = operations[index];
        using enum abi::MemoryOperation;
        const bool wide = each.operation == wait_value_64 || each.operation == write_value_64;
        const bool writes = each.operation == write_value_32 || each.operation == write_value_64;
        const bool waits = each.operation == wait_value_32 || each.operation == wait_value_64;
        // Barriers and flushes touch no memory.
        if ((writes || waits) && each.address != 0)
            write_operation(state, call, writes, wide, each.flags, each.address, each.value);
    }
}

void enter_memory_operation(ThreadState& state, Call& call) {
    begin_batch(state, call);
    if (const CallbackParameter* const list = call.find(Role::LIST); list != nullptr) {
        const auto* const operations = reinterpret_cast<const abi::BatchMemoryOperation*>(call.value(list));
        if (operations != nullptr) write_batch(state, call, operations, call.word(1));
    } else {
        const CallbackParameter* const written = call.find(Role::WRITE);
        const bool wide = call.callback->name.find("64") != std::string_view::npos;
        write_operation(state, call, written != nullptr, wide, call.value(Role::FLAGS),
                        call.value(written != nullptr ? written : call.find(Role::READ)), call.value(Role::VALUE));
    }
    if (call.slot == nullptr)
        write_batch_member(state, call, OperationKind::STREAM_MEMORY_OP, 0, call.stream(), 0, nullptr, 0);
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
    table.on(Effect::STREAM_MEMORY_OP, {enter_memory_operation, complete_batch});
    table.on("cuMemBatchDecompressAsync", {enter_decompression, complete_batch});
}

}  // namespace streamsan::recorder::cuda
