// Stands in for libcupti: all goes through to the real one, which it makes forget and remember the recorder's callbacks. So one
// process runs with and without being recorded, in turns.
#include <algorithm>
#include <utility>
#include <vector>

#include <cupti.h>
#include <dlfcn.h>

namespace {

CUpti_SubscriberHandle subscriber;
std::vector<std::pair<CUpti_CallbackDomain, CUpti_CallbackId>> enabled;

template <class Function> Function* real(Function*, const char* name)
{
    static void* const library = [] {
        void* const loaded = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
        return loaded != nullptr ? loaded : dlopen("libcupti.so.12", RTLD_NOW | RTLD_NOLOAD);
    }();
    return reinterpret_cast<Function*>(library != nullptr ? dlsym(library, name) : nullptr);
}

}  // namespace

#define STREAMSAN_REAL(function) real(&function, #function)
#define STREAMSAN_VISIBLE __attribute__((visibility("default")))

extern "C" {

STREAMSAN_VISIBLE CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* user)
{
    auto* const subscribe = STREAMSAN_REAL(cuptiSubscribe);
    if (subscribe == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
    const CUptiResult result = subscribe(handle, callback, user);
    subscriber = *handle;
    return result;
}

STREAMSAN_VISIBLE CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                                                  CUpti_CallbackId id)
{
    // Resources tell of contexts and graphs: without them the recorder would not know its handles.
    if (domain != CUPTI_CB_DOMAIN_RESOURCE) {
        const std::pair callback{domain, id};
        enabled.erase(std::remove(enabled.begin(), enabled.end(), callback), enabled.end());
        if (enable != 0) enabled.push_back(callback);
    }
    return STREAMSAN_REAL(cuptiEnableCallback)(enable, handle, domain, id);
}

STREAMSAN_VISIBLE CUptiResult cuptiGetResultString(CUptiResult result, const char** text)
{
    return STREAMSAN_REAL(cuptiGetResultString)(result, text);
}

/// Returns how many callbacks were enabled, or disabled.
STREAMSAN_VISIBLE int streamsan_bench_switch(int on)
{
    for (const auto& [domain, id] : enabled) STREAMSAN_REAL(cuptiEnableCallback)(on != 0, subscriber, domain, id);
    return static_cast<int>(enabled.size());
}

}
