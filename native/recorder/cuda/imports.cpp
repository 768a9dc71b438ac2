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

void enter_close(ThreadState& state, Call& call) {
    const abi::Word address = call.value(Role::FREED);
    begin_free(state, call, address != 0 && opened().close(address) ? address : 0);
}

void exit_close(ThreadState& state, Call& call) {
    if (const std::uint64_t base = end_free(state, call); base != 0) opened().open(base);
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
