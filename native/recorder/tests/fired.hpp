// Synthetic callbacks: what CUPTI would say of one call.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "generated/cuda_callbacks.hpp"
#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/dispatch.hpp"

namespace fired {

using streamsan::recorder::cuda::Callback;
using streamsan::recorder::cuda::callback_table;
namespace abi = streamsan::recorder::cuda::abi;

/// The newest entry point of a name.
inline const Callback& row(std::string_view name, bool per_thread = false) {
    const Callback* found = nullptr;
    for (const Callback& callback : callback_table) {
        if (callback.name == name && callback.per_thread == per_thread) found = &callback;
    }
    if (found == nullptr) __builtin_trap();
    return *found;
}

inline thread_local abi::Word context = 0;
inline thread_local std::uint32_t correlation = 0;

/// One call: `enter`, then what happens inside it, then `exit`.
class Call {
public:
    explicit Call(std::string_view name, bool per_thread = false) : row_(row(name, per_thread)) {}

    template <class Value>
    Call& with(std::size_t position, Value value) {
        const auto& parameter = row_.parameters[position];
        if (position >= row_.count || sizeof value > parameter.size) __builtin_trap();
        std::memcpy(parameters_.data() + parameter.offset, &value, sizeof value);
        return *this;
    }
    /// All arguments, in the order of the API.
    Call& all(std::initializer_list<std::uint64_t> arguments, std::initializer_list<std::uint64_t> more = {}) {
        if (arguments.size() + more.size() != row_.count) __builtin_trap();
        std::size_t position = 0;
        for (const auto& list : {arguments, more}) {
            for (const std::uint64_t argument : list) {
                const auto& parameter = row_.parameters[position++];
                std::memcpy(parameters_.data() + parameter.offset, &argument,
                            std::min<std::size_t>(parameter.size, sizeof argument));
            }
        }
        return *this;
    }
    Call& symbol(const char* name) {
        symbol_ = name;
        return *this;
    }
    void enter() {
        number_ = ++correlation;
        say(abi::CallbackSite::enter, nullptr);
    }
    void exit(abi::Status status = abi::success) { say(abi::CallbackSite::exit, &status); }
    void done(abi::Status status = abi::success) {
        enter();
        exit(status);
    }

private:
    void say(abi::CallbackSite site, const abi::Status* returned) {
        // What is no launch has any pointer for its symbol.
        const bool launches = row_.effect == streamsan::effects::Effect::LAUNCH;
        const char* const symbol = launches ? symbol_ : reinterpret_cast<const char*>(0x10);
        const abi::CallbackData data{site,    "", parameters_.data(), returned, symbol,
                                     context, 1,  &correlation_data_, number_};
        streamsan::recorder::cuda::dispatch(nullptr, row_.runtime ? abi::Domain::runtime : abi::Domain::driver, row_.id,
                                            &data);
    }

    const Callback& row_;
    alignas(8) std::array<unsigned char, 256> parameters_{};
    const char* symbol_ = nullptr;
    std::uint64_t correlation_data_ = 0;
    std::uint32_t number_ = 0;
};

/// What happens inside a call that was entered lies deeper on the stack.
template <class Body>
[[gnu::noinline]] void inside(Body&& body) {
    volatile char frame[256];
    frame[0] = 0;
    body();
    frame[1] = frame[0];
}

inline void resource(abi::Resource resource, abi::Word about) {
    const abi::ResourceData data{about, 0, nullptr};
    streamsan::recorder::cuda::dispatch(nullptr, abi::Domain::resource, static_cast<std::uint32_t>(resource), &data);
}

/// Machine code is loaded as this module, or unloaded.
inline void module(abi::Resource resource, std::uint32_t number, const unsigned char* image = nullptr,
                   std::size_t size = 0) {
    const abi::ModuleData module{number, size, image};
    const abi::ResourceData data{context, 0, &module};
    streamsan::recorder::cuda::dispatch(nullptr, abi::Domain::resource, static_cast<std::uint32_t>(resource), &data);
}

}  // namespace fired
