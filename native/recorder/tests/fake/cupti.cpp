// The fake libcupti: one subscriber, and which callbacks it wants.
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

#include "tool.hpp"

using namespace fake;

namespace {

Tool* driver_tool() {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (driver == nullptr) return nullptr;
    const auto find = reinterpret_cast<Tool* (*)()>(dlsym(driver, "fake_tool"));
    return find != nullptr ? find() : nullptr;
}

}  // namespace

// The subscriber's place is the driver's.
extern "C" Tool* fake_tool() { return driver_tool(); }

namespace {

abi::CuptiStatus subscribe(abi::Subscriber* subscriber, abi::CallbackFunction callback, void* data) {
    Tool* place = fake_tool();
    if (place == nullptr) return 15;  // not initialised
    place->callback = callback;
    place->data = data;
    *subscriber = place;
    return abi::cupti_success;
}

/// By a tool that lets others subscribe, too.
bool shared() { return std::getenv("FAKE_CUPTI_SHARED") != nullptr; }

bool taken() { return std::getenv("FAKE_CUPTI_TAKEN") != nullptr || shared() || fake_tool()->callback != nullptr; }

}  // namespace

extern "C" {

abi::CuptiStatus cuptiSubscribe(abi::Subscriber* subscriber, abi::CallbackFunction callback, void* data) {
    if (fake_tool() != nullptr && taken()) return abi::cupti_multiple_subscribers;
    return subscribe(subscriber, callback, data);
}

abi::CuptiStatus cuptiSubscribe_v2(abi::Subscriber* subscriber, abi::CallbackFunction callback, void* data,
                                   abi::SubscriberParameters* parameters) {
    if (parameters == nullptr || parameters->size < sizeof *parameters) return 1;
    abi::SharedSubscriberParameters asked{};
    if (parameters->size >= sizeof asked) std::memcpy(&asked, parameters, sizeof asked);
    if (fake_tool() != nullptr && taken() && !(shared() && asked.allow_multiple == 1)) {
        const char* name = std::getenv("FAKE_CUPTI_TAKEN");
        if (parameters->old_name != nullptr && parameters->old_name_size != 0) {
            std::strncpy(parameters->old_name, name != nullptr ? name : "first", parameters->old_name_size - 1);
            parameters->old_name[parameters->old_name_size - 1] = '\0';
        }
        return abi::cupti_multiple_subscribers;
    }
    return subscribe(subscriber, callback, data);
}

abi::CuptiStatus cuptiUnsubscribe(abi::Subscriber subscriber) {
    *static_cast<Tool*>(subscriber) = Tool{};
    return abi::cupti_success;
}

abi::CuptiStatus cuptiEnableCallback(std::uint32_t enable, abi::Subscriber subscriber, abi::Domain domain,
                                     std::uint32_t id) {
    const int row = static_cast<int>(domain);
    if (subscriber == nullptr || row < 1 || row > 3 || id == 0 || id >= most_ids) return 1;
    static_cast<Tool*>(subscriber)->enabled[row][id] = enable != 0;
    return abi::cupti_success;
}

abi::CuptiStatus cuptiEnableDomain(std::uint32_t enable, abi::Subscriber subscriber, abi::Domain domain) {
    for (std::uint32_t id = 1; id < most_ids; ++id) cuptiEnableCallback(enable, subscriber, domain, id);
    return abi::cupti_success;
}

abi::CuptiStatus cuptiGetVersion(std::uint32_t* version) {
    *version = 130001;
    return abi::cupti_success;
}

abi::CuptiStatus cuptiGetResultString(abi::CuptiStatus status, const char** text) {
    *text =
        status == abi::cupti_multiple_subscribers ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" : "CUPTI_ERROR";
    return abi::cupti_success;
}

}  // extern "C"
