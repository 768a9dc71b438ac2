// Stands in for libcupti: all goes through to the real one, but the subscriber is called only while the first byte of the
// file STREAMSAN_BENCH_SWITCH is 1. So one process runs with and without the recorder, in turns.
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>

#include <cupti.h>
#include <dlfcn.h>

namespace {

CUpti_CallbackFunc subscriber_callback;
const volatile unsigned char* is_on;

template <class Function> Function* real(Function*, const char* name)
{
    static void* const library = [] {
        void* const loaded = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
        return loaded != nullptr ? loaded : dlopen("libcupti.so.12", RTLD_NOW | RTLD_NOLOAD);
    }();
    return reinterpret_cast<Function*>(library != nullptr ? dlsym(library, name) : nullptr);
}

// What makes and ends contexts and graphs is always told: else the recorder would not know its handles.
void CUPTIAPI switched(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data)
{
    if (*is_on != 0 || domain == CUPTI_CB_DOMAIN_RESOURCE) subscriber_callback(user, domain, id, data);
}

bool switch_is_there()
{
    const char* const path = std::getenv("STREAMSAN_BENCH_SWITCH");
    const int file = path != nullptr ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return false;
    void* const page = mmap(nullptr, 1, PROT_READ, MAP_SHARED, file, 0);
    if (page == MAP_FAILED) return false;
    is_on = static_cast<const volatile unsigned char*>(page);
    return true;
}

}  // namespace

#define STREAMSAN_REAL(function) real(&function, #function)

extern "C" {

__attribute__((visibility("default"))) CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback,
                                                                  void* user)
{
    if (STREAMSAN_REAL(cuptiSubscribe) == nullptr || !switch_is_there()) return CUPTI_ERROR_NOT_INITIALIZED;
    subscriber_callback = callback;
    return STREAMSAN_REAL(cuptiSubscribe)(handle, switched, user);
}

__attribute__((visibility("default"))) CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
                                                                       CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    static auto* const function = STREAMSAN_REAL(cuptiEnableCallback);
    return function(enable, handle, domain, id);
}

__attribute__((visibility("default"))) CUptiResult cuptiGetResultString(CUptiResult result, const char** text)
{
    return STREAMSAN_REAL(cuptiGetResultString)(result, text);
}

}
