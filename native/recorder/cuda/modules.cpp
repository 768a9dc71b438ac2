// Modules and libraries: the machine code that they load, device variables, and what unloading ends: handles of
// functions, addresses of variables.
#include <algorithm>
#include <array>
#include <string_view>

#include "recorder/cuda/device_variables.hpp"
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/kernels.hpp"
#include "recorder/cuda/live_memory.hpp"
#include "recorder/cuda/loaded_code.hpp"
#include "recorder/cuda/memory_parts.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {
namespace {

constexpr std::array<std::string_view, 6> loads{"cuModuleLoad",          "cuModuleLoadData",  "cuModuleLoadDataEx",
                                                "cuModuleLoadFatBinary", "cuLibraryLoadData", "cuLibraryLoadFromFile"};
constexpr std::string_view asks_for_function = "cuModuleGetFunction";

constexpr std::string_view asks_for_managed = "cuLibraryGetManaged";

void exit_get_variable(ThreadState& state, Call& call) {
    if (call.status != abi::success) return;
    const auto* const name = reinterpret_cast<const char*>(call.word(3));
    const abi::Word owner = call.value(call.find_handle(Handle::OTHER));
    const bool is_library = call.callback->name.starts_with("cuLibrary");
    VariablePlace place{call.output(Role::OUT_POINTER), call.output(Role::OUT_VALUE),
                        call.callback->name == asks_for_managed ? MemoryKind::MANAGED : MemoryKind::DEVICE_SYMBOL};
    // Of what was not asked for, the size perhaps, and of what is managed, the driver is asked once.
    const auto known = recorder()->memory.find(place.address);
    if (known && known->base == place.address) return;
    if (const VariablePlace told = variable_place(state, owner, is_library, name);
        told.address != 0 && (place.address == 0 || told.address == place.address))
        place = told;
    tell_variable(state, call, owner, name == nullptr ? "" : name, place);
}

void enter_unload(ThreadState&, Call&) { kernels().forget(); }

void exit_unload(ThreadState&, Call& call) {
    kernels().forget();  // what other threads launched meanwhile was of the old code
    if (call.status != abi::success) return;
    // Nothing is written: with the module goes its code, and no free of its memory could be told from others.
    for (const std::uint64_t address : device_variables().take(call.word(0))) memory_ends(address);
}

/// What was loaded inside a call belongs to the module or library that it makes, or asks for a function.
void exit_load(ThreadState& state, Call& call) {
    if (call.status != abi::success || !has_loaded_code(state)) return;
    const bool makes = call.callback->name != asks_for_function;
    const abi::Word owners[] = {makes ? call.output(&call.callback->parameters[0]) : call.word(1)};
    loaded_code().belongs(state, owners);
}

}  // namespace

bool asks_for_code(const Callback& callback) {
    return std::ranges::find(loads, callback.name) != loads.end() || callback.name == asks_for_function;
}

void module_resource(ThreadState& state, abi::Resource resource, const abi::ModuleData& data) {
    if (recorder() == nullptr) return;
    if (resource == abi::Resource::module_loaded) {
        if (data.image != nullptr) loaded_code().loaded(state, data.module, {data.image, data.size});
    } else {
        loaded_code().unloaded(data.module);
        kernels().forget();  // a handle may name a function of another module from now on
    }
}

void register_modules(HandlerTable& table) {
    for (const std::string_view name :
         {std::string_view("cuModuleGetGlobal"), std::string_view("cuLibraryGetGlobal"), asks_for_managed})
        table.on(name, {nullptr, exit_get_variable});
    for (const std::string_view name : {"cuModuleUnload", "cuLibraryUnload"})
        table.on(name, {enter_unload, exit_unload});
    for (const std::string_view name : loads) table.on(name, {nullptr, exit_load});
    table.on(asks_for_function, {nullptr, exit_load});
}

}  // namespace streamsan::recorder::cuda
