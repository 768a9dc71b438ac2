#include "recorder/cuda/device_variables.hpp"

#include <algorithm>

#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/graph_arguments.hpp"
#include "recorder/cuda/host_accesses.hpp"
#include "recorder/cuda/live_memory.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {

void DeviceVariables::add(abi::Word module, std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    of_[module].push_back(address);
}

void DeviceVariables::add_managed(const Kernel& kernel, std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    std::vector<std::uint64_t>& of_kernel = managed_[&kernel];
    if (std::find(of_kernel.begin(), of_kernel.end(), address) == of_kernel.end()) of_kernel.push_back(address);
}

std::vector<std::uint64_t> DeviceVariables::managed_of(const Kernel& kernel) {
    const std::lock_guard lock(mutex_);
    const auto found = managed_.find(&kernel);
    return found == managed_.end() ? std::vector<std::uint64_t>{} : found->second;
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

namespace {

/// Managed memory is the host's as well; the driver tells of a module's variables alike.
MemoryKind kind_at(const Driver& driver, std::uint64_t address) {
    constexpr std::int32_t is_managed = 8;
    std::uint64_t managed = 0;
    const bool told = driver.cuPointerGetAttribute != nullptr &&
                      driver.cuPointerGetAttribute(&managed, is_managed, address) == abi::success;
    return told && managed != 0 ? MemoryKind::MANAGED : MemoryKind::DEVICE_SYMBOL;
}

bool is_told(const VariablePlace& place) {
    const auto known = recorder()->memory.find(place.address);
    return known && known->base == place.address && known->kind == place.kind && known->size >= place.size;
}

}  // namespace

VariablePlace variable_place(ThreadState& state, abi::Word owner, bool is_library, const char* symbol) {
    VariablePlace found{0, 0, MemoryKind::DEVICE_SYMBOL};
    const Driver* const driver = recorder()->driver;
    if (driver == nullptr || symbol == nullptr) return found;
    const OwnCalls own(state);
    const auto is_there = [&](auto* ask) {
        abi::Word address = 0;
        std::size_t size = 0;
        if (ask == nullptr || ask(&address, &size, owner, symbol) != abi::success) return false;
        found.address = address;
        found.size = size;
        return true;
    };
    if (is_library && is_there(driver->cuLibraryGetManaged)) found.kind = MemoryKind::MANAGED;
    else if (is_there(is_library ? driver->cuLibraryGetGlobal : driver->cuModuleGetGlobal_v2))
        found.kind = kind_at(*driver, found.address);
    return found;
}

void tell_variable(ThreadState& state, Call& call, abi::Word module, std::string_view symbol,
                   const VariablePlace& place) {
    // The runtime and frameworks ask again and again.
    if (place.address == 0 || is_told(place)) return;
    site_with(call, symbol.empty() ? 0 : recorder()->writer->string(symbol));
    write_allocation(state, call, place.kind, 0, place.address, place.size);
    device_variables().add(module, place.address);
}

void tell_variables_of(ThreadState& state, const Call& launch, const Kernel& kernel) {
    if (recorder()->driver == nullptr || !kernel.tells_variables(launch.context)) return;
    if (kernel.told_in.exchange(launch.context) == launch.context) return;
    Call call = launch;
    call.status = abi::success;
    call.timed = false;
    for (const std::string& symbol : kernel.variables) {
        const VariablePlace place = variable_place(state, kernel.owner, kernel.owner_is_library, symbol.c_str());
        tell_variable(state, call, kernel.owner, symbol, place);
        if (place.address == 0 || place.kind != MemoryKind::MANAGED) continue;
        device_variables().add_managed(kernel, place.address);
        kernel.uses_managed.store(true, std::memory_order_relaxed);
    }
}

void note_managed_variables(ThreadState& state, const Kernel& kernel) {
    if (!recorder()->host_accesses) return;
    for (const std::uint64_t address : device_variables().managed_of(kernel)) {
        const Reference whole{address, 0, static_cast<std::uint8_t>(AccessMode::OPAQUE)};
        note_host_uses(state, OperationKind::LAUNCH, WaitClass::NONE, &whole, 1);
    }
}

}  // namespace streamsan::recorder::cuda
