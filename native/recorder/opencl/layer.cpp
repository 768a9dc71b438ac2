#include "recorder/opencl/layer.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "recorder/launch_path.hpp"
#include "recorder/opencl/live_objects.hpp"
#include "recorder/opencl/processes.hpp"
#include "recorder/opencl/recorder.hpp"
#include "recorder/run/omissions.hpp"
#include "recorder/run/settings.hpp"

namespace streamsan::recorder::opencl {
namespace {

/// What calls go to, by function.
std::array<std::atomic<const void*>, function_table.size()> below_us{};

template <class Value>
Word word_of(Value value) {
    if constexpr (std::is_same_v<Value, std::int32_t>) return static_cast<Word>(static_cast<std::int64_t>(value));
    else return value;
}

/// The status that a call gives: its result, or what it wrote for its `errcode_ret`.
std::int32_t status_of(const Call& call) {
    if (call.returns_status) return static_cast<std::int32_t>(call.result);
    const std::int8_t position = call.row().status;
    if (position >= 0) return read_word<std::int32_t>(call.arguments[position]);
    return 0;
}

/// Before the runtime is called. False: it shall not be.
STREAMSAN_LAUNCH_PATH bool enter(Call& call) {
    enter_process();
    call.entered = recorder()->writer->now();
    // Who asks for no status gets none; we need it.
    if (const std::int8_t position = call.row().status; position >= 0 && call.arguments[position] == 0)
        call.arguments[position] = address_of(call.own_status);
    const Handler& handler = handlers().of(call.function);
    if (handler.enter != nullptr) handler.enter(call);
    return !call.stopped;
}

STREAMSAN_LAUNCH_PATH void leave(Call& call) {
    call.status = status_of(call);
    const Handler& handler = handlers().of(call.function);
    if (handler.exit != nullptr) handler.exit(call);
    else complete(call);
}

constexpr bool gives_functions(Function function) {
    return function == Function::clGetExtensionFunctionAddressForPlatform ||
           function == Function::clGetExtensionFunctionAddress;
}

/// Whether there is a function of ours for one.
bool is_stood_before(Function function) { return gives_functions(function) || handlers().has(function); }

/// Our function for one of OpenCL's.
template <Function function, class Type>
struct Entry;

template <Function function, class Result, class... Parameters>
struct Entry<function, Result(Parameters...)> {
    static Result called(Parameters... parameters) {
        auto* const next = reinterpret_cast<Result (*)(Parameters...)>(
            const_cast<void*>(below_us[static_cast<std::size_t>(function)].load(std::memory_order_relaxed)));
        if constexpr (gives_functions(function)) {
            // Functions that are asked for by name bypass the loader's table: the program gets ours in their place.
            const Word name[] = {parameters...};
            return reinterpret_cast<Word>(stood_before(reinterpret_cast<const char*>(name[sizeof...(Parameters) - 1]),
                                                       reinterpret_cast<void*>(next(parameters...))));
        } else {
            return recorded(next, parameters...);
        }
    }

    static Result recorded(Result (*next)(Parameters...), Parameters... parameters) {
        if (recorder() == nullptr && !begins(function)) [[unlikely]]
            return next(parameters...);
        std::array<Word, sizeof...(Parameters) + 1> words{word_of(parameters)...};
        Call call;
        call.function = function;
        call.arguments = words.data();
        call.returns_status = std::is_same_v<Result, std::int32_t> || std::is_void_v<Result>;
        int& error = errno;  // asked once where it is
        const int before = error;
        bool goes_on = true;
        try {
            goes_on = enter(call);
        } catch (...) {
            note_lost_call(call.row().name);
        }
        error = before;
        if (goes_on) {
            [&]<std::size_t... position>(std::index_sequence<position...>) {
                if constexpr (std::is_void_v<Result>) next(static_cast<Parameters>(words[position])...);
                else call.result = word_of(next(static_cast<Parameters>(words[position])...));
            }(std::index_sequence_for<Parameters...>{});
        }
        const int after = error;
        try {
            leave(call);
        } catch (...) {
            note_lost_call(call.row().name);
        }
        error = after;
        if constexpr (!std::is_void_v<Result>) return static_cast<Result>(call.result);
    }

    /// The first context of a process makes the recorder; what has no context is not recorded.
    static bool begins(Function which) {
        switch (which) {
            case Function::clCreateContext:
            case Function::clCreateContextFromType: break;
            default: return false;
        }
        try {
            return begin_recorder() != nullptr;
        } catch (...) {
            return false;
        }
    }
};

template <std::size_t... position>
constexpr auto all_entries(std::index_sequence<position...>) {
    return std::array<void*, sizeof...(position)>{reinterpret_cast<void*>(
        &Entry<static_cast<Function>(position), typename Prototype<static_cast<Function>(position)>::Type>::called)...};
}

void* entry_of(Function function) {
    static const auto entries = all_entries(std::make_index_sequence<function_table.size()>{});
    return entries[static_cast<std::size_t>(function)];
}

/// The table that the loader gets from us.
std::array<const void*, most_places> table_of_ours{};

}  // namespace

const void* next_of(Function function) {
    return below_us[static_cast<std::size_t>(function)].load(std::memory_order_relaxed);
}

void* stood_before(const char* name, void* below) {
    if (name == nullptr || below == nullptr || !wanted()) return below;
    const std::string_view wanted_name(name);
    for (std::size_t position = 0; position < function_table.size(); ++position) {
        if (wanted_name != function_table[position].name) continue;
        const auto function = static_cast<Function>(position);
        if (!is_stood_before(function)) return below;
        const void* known = nullptr;
        if (!below_us[position].compare_exchange_strong(known, below) && known != below &&
            function_table[position].place < 0) {
            note_omission("calls of " + std::string(name) + " of a second platform are not recorded");
            return below;
        }
        return entry_of(function);
    }
    // What such a function makes is not seen; those that only ask make nothing.
    if (wanted_name.find("Get") == std::string_view::npos) unseen_makers.store(true, std::memory_order_relaxed);
    return below;
}

STREAMSAN_LAUNCH_PATH const HandlerTable& handlers() {
    static const HandlerTable& all = []() -> HandlerTable& {
        auto& table = *new HandlerTable;
        register_contexts(table);
        register_queues(table);
        register_events(table);
        register_callbacks(table);
        register_programs(table);
        register_kernels(table);
        register_memory(table);
        register_transfers(table);
        register_images(table);
        register_maps(table);
        register_svm(table);
        register_device_addresses(table);
        register_command_buffers(table);
        register_semaphores(table);
        return table;
    }();
    return all;
}

const void* const* make_table(const void* const* below, std::size_t entries) {
    std::copy_n(below, entries, table_of_ours.begin());
    for (std::size_t position = 0; position < function_table.size(); ++position) {
        const std::int16_t place = function_table[position].place;
        if (place < 0 || static_cast<std::size_t>(place) >= entries || below[place] == nullptr) continue;
        below_us[position].store(below[place], std::memory_order_relaxed);
        if (wanted() && is_stood_before(static_cast<Function>(position)))
            table_of_ours[static_cast<std::size_t>(place)] = entry_of(static_cast<Function>(position));
    }
    return table_of_ours.data();
}

}  // namespace streamsan::recorder::opencl
