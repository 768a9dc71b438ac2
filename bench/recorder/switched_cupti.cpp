// Stands in for libcupti: all goes through to the real one, which it makes forget and remember the recorder's callbacks. So one
// process runs with and without being recorded, in turns. It can also keep the calls to itself, so that only CUPTI's own part is
// left, and tell how long the recorder has each.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <cupti.h>
#include <dlfcn.h>
#include <x86intrin.h>

namespace {

/// What becomes of the calls of the driver and the runtime. served.py has the same numbers.
enum class Mode : int {
    off,    // CUPTI does not tell of them
    on,     // the recorder is told
    idle,   // nobody is told, but CUPTI tells of them
    timed,  // the recorder is told, and the time that it takes is counted
};

CUpti_SubscriberHandle subscriber;
CUpti_CallbackFunc recorder;
std::vector<std::pair<CUpti_CallbackDomain, CUpti_CallbackId>> enabled;
std::atomic<Mode> mode{Mode::on};

/// Of one callback, at entry or at exit.
struct Times {
    std::atomic<std::uint64_t> calls, ticks;
    std::array<std::atomic<std::uint64_t>, 32> by_size;  // calls that took 2^index ticks, or up to twice as many
};
constexpr std::size_t most_ids = 1024;
std::array<std::array<Times, most_ids>, 2> driver_times, runtime_times;

/// Of the launches of one kernel, at entry: by the address of its name, which stays.
struct Kernel {
    std::atomic<const char*> symbol;
    std::atomic<std::uint64_t> calls, ticks;
};
std::array<Kernel, 1024> kernels;

void count_launch(const char* symbol, std::uint64_t ticks)
{
    std::size_t at = reinterpret_cast<std::uintptr_t>(symbol) / 16 % kernels.size();
    for (std::size_t tried = 0; tried < kernels.size(); ++tried, at = (at + 1) % kernels.size()) {
        const char* there = nullptr;
        if (!kernels[at].symbol.compare_exchange_strong(there, symbol) && there != symbol) continue;
        kernels[at].calls.fetch_add(1, std::memory_order_relaxed);
        kernels[at].ticks.fetch_add(ticks, std::memory_order_relaxed);
        return;
    }
}

void CUPTIAPI told(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data)
{
    const bool is_call = domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API;
    const Mode now = mode.load(std::memory_order_relaxed);
    if (is_call && now == Mode::idle) return;
    if (!is_call || now != Mode::timed || id >= most_ids) return recorder(user, domain, id, data);
    const std::uint64_t begin = __rdtsc();
    recorder(user, domain, id, data);
    const std::uint64_t ticks = __rdtsc() - begin;
    auto& of_domain = domain == CUPTI_CB_DOMAIN_DRIVER_API ? driver_times : runtime_times;
    const auto& call = *static_cast<const CUpti_CallbackData*>(data);
    const bool exits = call.callbackSite == CUPTI_API_EXIT;
    if (!exits && call.symbolName != nullptr) count_launch(call.symbolName, ticks);
    Times& times = of_domain[exits][id];
    times.calls.fetch_add(1, std::memory_order_relaxed);
    times.ticks.fetch_add(ticks, std::memory_order_relaxed);
    times.by_size[std::min<std::size_t>(std::bit_width(ticks | 1) - 1, 31)].fetch_add(1, std::memory_order_relaxed);
}

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
    recorder = callback;
    const CUptiResult result = subscribe(handle, told, user);
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
STREAMSAN_VISIBLE int streamsan_bench_switch(int wanted)
{
    const auto after = static_cast<Mode>(wanted);
    const bool was_off = mode.exchange(after) == Mode::off, is_off = after == Mode::off;
    if (was_off != is_off)
        for (const auto& [domain, id] : enabled) STREAMSAN_REAL(cuptiEnableCallback)(!is_off, subscriber, domain, id);
    return static_cast<int>(enabled.size());
}

STREAMSAN_VISIBLE std::uint64_t streamsan_bench_ticks() { return __rdtsc(); }

/// The callbacks that were timed since the last time: a JSON list of objects.
STREAMSAN_VISIBLE const char* streamsan_bench_times()
{
    static std::string text;
    text = "[";
    for (const CUpti_CallbackDomain domain : {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API}) {
        auto& of_domain = domain == CUPTI_CB_DOMAIN_DRIVER_API ? driver_times : runtime_times;
        for (std::size_t exits = 0; exits < of_domain.size(); ++exits)
            for (CUpti_CallbackId id = 0; id < most_ids; ++id) {
                Times& times = of_domain[exits][id];
                const std::uint64_t calls = times.calls.exchange(0);
                if (calls == 0) continue;
                const char* name = "";
                STREAMSAN_REAL(cuptiGetCallbackName)(domain, id, &name);
                text += text == "[" ? "" : ", ";
                text += "{\"name\": \"" + std::string(name) + "\", \"site\": \"" + (exits ? "exit" : "enter") +
                        "\", \"calls\": " + std::to_string(calls) +
                        ", \"ticks\": " + std::to_string(times.ticks.exchange(0)) + ", \"by_size\": [";
                for (std::size_t size = 0; size < times.by_size.size(); ++size)
                    text += (size == 0 ? "" : ", ") + std::to_string(times.by_size[size].exchange(0));
                text += "]}";
            }
    }
    return (text += "]").c_str();
}

/// The same of kernels whose launches were timed.
STREAMSAN_VISIBLE const char* streamsan_bench_kernels()
{
    static std::string text;
    text = "[";
    for (Kernel& kernel : kernels) {
        const std::uint64_t calls = kernel.calls.exchange(0);
        if (calls == 0) continue;
        text += text == "[" ? "" : ", ";
        text += "{\"name\": \"" + std::string(kernel.symbol) + "\", \"calls\": " + std::to_string(calls) +
                ", \"ticks\": " + std::to_string(kernel.ticks.exchange(0)) + "}";
    }
    return (text += "]").c_str();
}

}
