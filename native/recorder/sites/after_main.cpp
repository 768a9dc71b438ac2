#include "recorder/sites/after_main.hpp"

#include <dlfcn.h>

#include <array>

#include "recorder/sites/frame_description.hpp"
#include "recorder/sites/modules.hpp"

namespace streamsan::recorder::call_sites {
namespace {

constexpr std::array names{"exit", "quick_exit"};
using Functions = std::array<AddressRange, names.size()>;

/// The C library's own, even where the program has put another function of the name before it.
void* address_of(const char* name) {
    if (void* const library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD)) {
        void* const found = dlsym(library, name);
        dlclose(library);
        if (found != nullptr) return found;
    }
    return dlsym(RTLD_DEFAULT, name);
}

AddressRange range_of(const char* name) {
    const auto address = reinterpret_cast<std::uint64_t>(address_of(name));
    const Module* const module = address == 0 ? nullptr : Modules::instance().find(address);
    if (module == nullptr) return {};
    const auto description = frame_description(*module, address);
    return description ? description->function : AddressRange{};
}

/// The C library is never unloaded.
const Functions& functions() {
    static const Functions found = [] {
        Functions ranges;
        for (std::size_t index = 0; index < names.size(); ++index) ranges[index] = range_of(names[index]);
        return ranges;
    }();
    return found;
}

}  // namespace

bool is_after_main(const std::uint64_t* addresses, unsigned count) {
    const Functions& all = functions();
    for (unsigned index = 0; index < count; ++index) {
        // A function that does not return may end with its call: the address after it is another function's.
        for (const AddressRange& function : all)
            if (function.holds(addresses[index] - 1)) return true;
    }
    return false;
}

}  // namespace streamsan::recorder::call_sites
