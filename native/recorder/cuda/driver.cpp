#include "recorder/cuda/driver.hpp"

#include <dlfcn.h>

namespace streamsan::recorder::cuda {

const Driver* find_driver() {
    // Loaded already: we are called from inside it. Looked up by name, so that nothing is loaded because of us.
    void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return nullptr;
    static Driver driver;
#define STREAMSAN_FIND(name, parameters) \
    driver.name = reinterpret_cast<abi::Status(*) parameters>(dlsym(library, #name));
    STREAMSAN_DRIVER_FUNCTIONS(STREAMSAN_FIND)
#undef STREAMSAN_FIND
    return &driver;
}

}  // namespace streamsan::recorder::cuda
