#include "recorder/cuda/sanitizer.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <dlfcn.h>
#include <string_view>

#include "recorder/cuda/callback_source.hpp"
#include "recorder/cuda/dispatch.hpp"
#include "recorder/cuda/device_accesses.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {
namespace {

Sanitizer loaded_sanitizer;
abi::SanitizerSubscriber sanitizer_subscriber = nullptr;

/// The kernel's name. Of a launch with a configuration the Sanitizer API takes that for the kernel, and tells of all of
/// them the name "h" (13.0): the driver is asked instead.
const char* symbol_of(const abi::SanitizerCallbackData& data) {
    constexpr std::string_view configured = "cuLaunchKernelEx";
    const bool other = data.function_name != nullptr && std::string_view(data.function_name).starts_with(configured);
    return other ? nullptr : data.symbol;
}

/// What dispatch is told of a call. CUPTI numbers calls; here the place of the parameters, on the caller's stack, is
/// the same at entry and exit, and another in a call inside a call.
void tell_call(abi::SanitizerDomain domain, std::uint32_t id, const abi::SanitizerCallbackData& data) {
    abi::CallbackData told{};
    told.site = data.site;
    told.function_name = data.function_name;
    told.parameters = data.parameters;
    told.returned = data.returned;
    told.symbol = symbol_of(data);
    told.context = data.context;
    told.correlation = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(data.parameters) >> 3);
    dispatch(nullptr, domain == abi::SanitizerDomain::driver ? abi::Domain::driver : abi::Domain::runtime, id, &told);
}

void tell_context(abi::Resource what, const abi::SanitizerContextData& data) {
    const abi::ResourceData told{data.context, 0, nullptr};
    dispatch(nullptr, abi::Domain::resource, static_cast<std::uint32_t>(what), &told);
}

/// CUPTI numbers modules; here part of the handle is the number.
void tell_module(abi::Resource what, const abi::SanitizerModuleData& data) {
    const abi::ModuleData module{static_cast<std::uint32_t>(data.module >> 4), data.cubin_size,
                                 reinterpret_cast<const unsigned char*>(data.cubin)};
    const abi::ResourceData told{data.context, 0, &module};
    dispatch(nullptr, abi::Domain::resource, static_cast<std::uint32_t>(what), &told);
}

void tell_resource(abi::SanitizerResource what, const void* data) {
    switch (what) {
        case abi::SanitizerResource::init_finished:
            dispatch(nullptr, abi::Domain::resource, static_cast<std::uint32_t>(abi::Resource::init_finished), nullptr);
            return;
        case abi::SanitizerResource::context_creation_finished:
            tell_context(abi::Resource::context_created, *static_cast<const abi::SanitizerContextData*>(data));
            return;
        case abi::SanitizerResource::context_destroy_starting:
            device_accesses_lose_context(static_cast<const abi::SanitizerContextData*>(data)->context);
            tell_context(abi::Resource::context_destroy_starting, *static_cast<const abi::SanitizerContextData*>(data));
            return;
        case abi::SanitizerResource::module_unload_starting:
            device_accesses_lose_module(static_cast<const abi::SanitizerModuleData*>(data)->module);
            tell_module(abi::Resource::module_unload_starting, *static_cast<const abi::SanitizerModuleData*>(data));
            return;
        case abi::SanitizerResource::module_loaded:
            tell_module(abi::Resource::module_loaded, *static_cast<const abi::SanitizerModuleData*>(data));
            patch_module(*static_cast<const abi::SanitizerModuleData*>(data));
            return;
    }
}

void tell(abi::SanitizerDomain domain, std::uint32_t id, const void* data) {
    switch (domain) {
        case abi::SanitizerDomain::driver:
        case abi::SanitizerDomain::runtime:
            if (data != nullptr) tell_call(domain, id, *static_cast<const abi::SanitizerCallbackData*>(data));
            return;
        case abi::SanitizerDomain::resource:
            if (data != nullptr || static_cast<abi::SanitizerResource>(id) == abi::SanitizerResource::init_finished)
                tell_resource(static_cast<abi::SanitizerResource>(id), data);
            return;
        case abi::SanitizerDomain::launch:
            if (data != nullptr && id == abi::sanitizer_launch_begin)
                launch_begins(*static_cast<const abi::SanitizerLaunchData*>(data));
            return;
        case abi::SanitizerDomain::graphs:
            if (data != nullptr && id == abi::sanitizer_node_launch_begin)
                node_launch_begins(*static_cast<const abi::SanitizerNodeLaunchData*>(data));
            return;
    }
}

void listen(void*, abi::SanitizerDomain domain, std::uint32_t id, const void* data) {
    const int before = errno;
    try {
        tell(domain, id, data);
    } catch (...) {
        // One launch is not looked at. The program may well go on without our memory.
    }
    errno = before;
}

void enable_call(abi::Domain domain, std::uint32_t id, bool wanted) {
    loaded_sanitizer.enable_callback(wanted ? 1 : 0, sanitizer_subscriber, static_cast<abi::SanitizerDomain>(domain),
                                     id);
}

void enable_sanitizer_resources() {
    constexpr std::array told{
        abi::SanitizerResource::init_finished,
        abi::SanitizerResource::context_creation_finished,
        abi::SanitizerResource::context_destroy_starting,
        abi::SanitizerResource::module_loaded,
        abi::SanitizerResource::module_unload_starting,
    };
    for (const abi::SanitizerResource resource : told)
        loaded_sanitizer.enable_callback(1, sanitizer_subscriber, abi::SanitizerDomain::resource,
                                         static_cast<std::uint32_t>(resource));
    loaded_sanitizer.enable_callback(1, sanitizer_subscriber, abi::SanitizerDomain::launch,
                                     abi::sanitizer_launch_begin);
    loaded_sanitizer.enable_callback(1, sanitizer_subscriber, abi::SanitizerDomain::graphs,
                                     abi::sanitizer_node_launch_begin);
}

/// Loads one file and subscribes. Returns "", or why not.
std::string try_library(const std::string& path) {
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* const reason = dlerror();
        return reason != nullptr ? reason : path;
    }
    bool whole = true;
#define STREAMSAN_LOOK_UP(member, name, parameters)                                                                    \
    loaded_sanitizer.member = reinterpret_cast<abi::SanitizerStatus(*) parameters>(dlsym(library, "sanitizer" #name)); \
    whole = whole && loaded_sanitizer.member != nullptr;
    STREAMSAN_SANITIZER_FUNCTIONS(STREAMSAN_LOOK_UP)
#undef STREAMSAN_LOOK_UP
    // A function that came with it.
    loaded_sanitizer.tells_order = dlsym(library, "sanitizerIsInsideRecursiveCallback") != nullptr;
    if (!whole) return path + " is too old: functions are missing";
    const abi::SanitizerStatus status = loaded_sanitizer.subscribe(&sanitizer_subscriber, listen, nullptr);
    if (status == abi::sanitizer_success) return "";
    sanitizer_subscriber = nullptr;
    if (status == abi::sanitizer_max_limit_reached)
        return "another tool uses the Sanitizer API in this process already";
    const char* text = nullptr;
    loaded_sanitizer.result_string(status, &text);
    return path + " refuses: " + (text != nullptr ? text : "error") + " (" + std::to_string(status) + ")";
}

}  // namespace

std::string subscribe_to_sanitizer(const std::string& places) {
    std::string reason = "libsanitizer-public.so is not found";
    for (std::size_t at = 0; at < places.size();) {
        const std::size_t end = std::min(places.find(':', at), places.size());
        reason = try_library(places.substr(at, end - at));
        if (reason.empty()) {
            set_callback_source({enable_call, enable_sanitizer_resources});
            sees_accesses = true;
            return "";
        }
        at = end + 1;
    }
    return reason;
}

const Sanitizer* sanitizer() { return sanitizer_subscriber != nullptr ? &loaded_sanitizer : nullptr; }

}  // namespace streamsan::recorder::cuda
