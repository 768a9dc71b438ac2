// Memory that others made: of another process (IPC, shared pools), of another API.
#include <mutex>
#include <unordered_map>

#include "recorder/cuda/abi_memory.hpp"
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/live_memory.hpp"
#include "recorder/cuda/memory_parts.hpp"

namespace streamsan::recorder::cuda {
namespace {

/// How often each IPC handle's memory is open: opening it again gives the same address, and only the last close ends
/// it.
class Opened {
public:
    /// Whether this is the first.
    bool open(std::uint64_t address) {
        const std::lock_guard lock(mutex_);
        return ++counts_[address] == 1;
    }
    /// Whether this may be the last.
    bool close(std::uint64_t address) {
        const std::lock_guard lock(mutex_);
        const auto found = counts_.find(address);
        if (found == counts_.end()) return true;
        if (--found->second > 0) return false;
        counts_.erase(found);
        return true;
    }

private:
    std::mutex mutex_;
    std::unordered_map<std::uint64_t, std::uint64_t> counts_;
};

Opened& opened() {
    static auto* const all = new Opened;
    return *all;
}

void exit_import_open(ThreadState& state, Call& call) {
    if (call.status != abi::success) {
        write_returned(state, call, OperationKind::ALLOC, MemoryKind::IPC, 0, 0);
        return;
    }
    const std::uint64_t address = call.output(Role::OUT_POINTER);
    if (address != 0 && opened().open(address))
        write_allocation(state, call, MemoryKind::IPC, 0, address, size_by_driver(address));
}

struct CloseScratch {
    enum : std::size_t { base, size, kind, sequence };
};

void enter_close(ThreadState& state, Call& call) {
    call.scratch[CloseScratch::base] = 0;
    const Reference freed{call.value(Role::FREED), 0, 0};
    if (freed.address == 0 || !opened().close(freed.address)) return;
    if (prepare_entered(state, call, OperationKind::FREE, call.callback->free, 0, 0, &freed, 1) == nullptr) return;
    if (const auto range = memory_ends(freed.address)) {
        call.scratch = {range->base, range->size, static_cast<std::uint64_t>(range->kind), range->sequence};
    }
    commit_prepared(state);
}

void exit_close(ThreadState& state, Call& call) {
    complete(state, call, false);
    if (call.status == abi::success || call.scratch[CloseScratch::base] == 0) return;
    memory_goes_on({call.scratch[CloseScratch::base], call.scratch[CloseScratch::size],
                    static_cast<MemoryKind>(call.scratch[CloseScratch::kind]), call.scratch[CloseScratch::sequence]});
    opened().open(call.scratch[CloseScratch::base]);
}

/// A buffer of external memory: released by the usual free, or with the external memory; who else uses it nobody here
/// sees.
void exit_external_buffer(ThreadState& state, Call& call) {
    if (call.status != abi::success) return;
    const std::uint64_t address = call.output(Role::OUT_POINTER);
    const auto* const description = reinterpret_cast<const abi::ExternalBuffer*>(call.value(Role::STRUCTURE));
    if (address != 0 && description != nullptr)
        write_allocation(state, call, MemoryKind::UNKNOWN, 0, address, description->size);
}

}  // namespace

void register_imports(HandlerTable& table) {
    table.on("cuIpcOpenMemHandle", {nullptr, exit_import_open});
    table.on("cuIpcCloseMemHandle", {enter_close, exit_close});
    table.on("cuExternalMemoryGetMappedBuffer", {nullptr, exit_external_buffer});
    // Importing and giving up orders nothing; the semaphores do, and stay unseen code.
    for (const std::string_view name :
         {"cuImportExternalMemory", "cuDestroyExternalMemory", "cuImportExternalSemaphore",
          "cuDestroyExternalSemaphore", "cuExternalMemoryGetMappedMipmappedArray"}) {
        table.on(name, {});
    }
}

}  // namespace streamsan::recorder::cuda
