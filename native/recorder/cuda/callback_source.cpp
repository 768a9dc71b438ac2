#include "recorder/cuda/callback_source.hpp"

#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/processes.hpp"

namespace streamsan::recorder::cuda {
namespace {

CallbackSource callback_source;

}  // namespace

void set_callback_source(const CallbackSource& source) { callback_source = source; }

void enable_callbacks() {
    for (const Callback& callback : callbacks()) {
        if (callback.runtime ? !callback.hot : is_handled(callback)) {
            callback_source.enable(callback.runtime ? abi::Domain::runtime : abi::Domain::driver, callback.id, true);
        }
    }
    callback_source.enable_resources();
}

void enable_hot_callbacks(bool wanted) {
    if (callback_source.enable == nullptr) return;
    hot_enabled.store(wanted, std::memory_order_relaxed);
    for (const Callback& callback : callbacks()) {
        if (callback.runtime && callback.hot) callback_source.enable(abi::Domain::runtime, callback.id, wanted);
    }
}

}  // namespace streamsan::recorder::cuda
