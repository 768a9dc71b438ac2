#include "recorder/cuda/device_variables.hpp"

#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/graph_arguments.hpp"
#include "recorder/cuda/live_memory.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {

void DeviceVariables::add(abi::Word module, std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    of_[module].push_back(address);
}

std::vector<std::uint64_t> DeviceVariables::take(abi::Word module) {
    const std::lock_guard lock(mutex_);
    auto found = of_.extract(module);
    return found.empty() ? std::vector<std::uint64_t>{} : std::move(found.mapped());
}

DeviceVariables& device_variables() {
    static auto* const all = new DeviceVariables;
    return *all;
}

void tell_variable(ThreadState& state, Call& call, abi::Word module, std::string_view symbol, std::uint64_t address,
                   std::uint64_t size) {
    if (address == 0) return;
    // The runtime and frameworks ask again and again.
    const auto known = recorder()->memory.find(address);
    if (known && known->base == address && known->kind == MemoryKind::DEVICE_SYMBOL) return;
    site_with(call, symbol.empty() ? 0 : recorder()->writer->string(symbol));
    write_allocation(state, call, MemoryKind::DEVICE_SYMBOL, 0, address, size);
    device_variables().add(module, address);
}

void tell_variables_of(ThreadState& state, const Call& launch, const Kernel& kernel) {
    const Driver* const driver = recorder()->driver;
    if (driver == nullptr || !kernel.variables_untold.exchange(false)) return;
    const auto ask = kernel.owner_is_library ? driver->cuLibraryGetGlobal : driver->cuModuleGetGlobal_v2;
    Call call = launch;
    call.status = abi::success;
    call.timed = false;
    for (const std::string& symbol : kernel.variables) {
        abi::Word address = 0;
        std::size_t size = 0;
        {
            const OwnCalls own(state);
            if (ask == nullptr || ask(&address, &size, kernel.owner, symbol.c_str()) != abi::success) continue;
        }
        tell_variable(state, call, kernel.owner, symbol, address, size);
    }
}

}  // namespace streamsan::recorder::cuda
