// Device variables, and what the unloading of code ends: handles of functions, addresses of variables.
#include <mutex>
#include <unordered_map>
#include <vector>

#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/kernels.hpp"
#include "recorder/cuda/live_memory.hpp"
#include "recorder/cuda/memory_parts.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {
namespace {

/// Which variables' addresses were asked for, by module or library.
class Variables {
public:
    void add(abi::Word module, std::uint64_t address) {
        const std::lock_guard lock(mutex_);
        of_[module].push_back(address);
    }
    std::vector<std::uint64_t> take(abi::Word module) {
        const std::lock_guard lock(mutex_);
        auto found = of_.extract(module);
        return found.empty() ? std::vector<std::uint64_t>{} : std::move(found.mapped());
    }

private:
    std::mutex mutex_;
    std::unordered_map<abi::Word, std::vector<std::uint64_t>> of_;
};

Variables& variables() {
    static auto* const all = new Variables;
    return *all;
}

void exit_get_variable(ThreadState& state, Call& call) {
    if (call.status != abi::success) return;
    const std::uint64_t address = call.output(Role::OUT_POINTER);
    if (address == 0) return;
    // The runtime and frameworks ask again and again.
    const auto known = recorder()->memory.find(address);
    if (known && known->base == address && known->kind == MemoryKind::DEVICE_SYMBOL) return;
    const std::uint64_t size = call.output(Role::OUT_VALUE);
    write_allocation(state, call, MemoryKind::DEVICE_SYMBOL, 0, address, size);
    variables().add(call.value(call.find_handle(Handle::OTHER)), address);
}

void enter_unload(ThreadState&, Call&) { kernels().forget(); }

void exit_unload(ThreadState&, Call& call) {
    kernels().forget();  // what other threads launched meanwhile was of the old code
    if (call.status != abi::success) return;
    // Nothing is written: with the module goes its code, and no free of its memory could be told from others.
    for (const std::uint64_t address : variables().take(call.word(0))) memory_ends(address);
}

}  // namespace

void register_modules(HandlerTable& table) {
    for (const std::string_view name : {"cuModuleGetGlobal", "cuLibraryGetGlobal", "cuLibraryGetManaged"})
        table.on(name, {nullptr, exit_get_variable});
    for (const std::string_view name : {"cuModuleUnload", "cuLibraryUnload"})
        table.on(name, {enter_unload, exit_unload});
}

}  // namespace streamsan::recorder::cuda
