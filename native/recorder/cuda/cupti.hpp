// libcupti: found and loaded at run time, never linked, never shipped.
#pragma once
#include <cstdint>
#include <string>

#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/abi_activity.hpp"

namespace streamsan::recorder::cuda {

/// Those by which CUPTI tells when work ran. Null where this version has none.
struct CuptiActivity {
    abi::CuptiStatus (*register_callbacks)(abi::BufferRequested, abi::BufferCompleted) = nullptr;
    abi::CuptiStatus (*register_timestamp)(abi::Timestamp) = nullptr;
    abi::CuptiStatus (*enable)(abi::Activity) = nullptr;
    abi::CuptiStatus (*disable)(abi::Activity) = nullptr;
    abi::CuptiStatus (*next_record)(std::uint8_t*, std::size_t, abi::ActivityRecord**) = nullptr;
    abi::CuptiStatus (*flush_all)(std::uint32_t) = nullptr;
    abi::CuptiStatus (*flush_period)(std::uint32_t) = nullptr;

    [[nodiscard]] bool is_whole() const {
        return register_callbacks != nullptr && register_timestamp != nullptr && enable != nullptr &&
               disable != nullptr && next_record != nullptr && flush_all != nullptr && flush_period != nullptr;
    }
};

/// The functions of CUPTI that are used. Subscribing with parameters came with CUDA 13; null before.
struct Cupti {
    abi::CuptiStatus (*subscribe)(abi::Subscriber*, abi::CallbackFunction, void*) = nullptr;
    abi::CuptiStatus (*subscribe_v2)(abi::Subscriber*, abi::CallbackFunction, void*,
                                     abi::SubscriberParameters*) = nullptr;
    abi::CuptiStatus (*enable_callback)(std::uint32_t, abi::Subscriber, abi::Domain, std::uint32_t) = nullptr;
    abi::CuptiStatus (*result_string)(abi::CuptiStatus, const char**) = nullptr;
    CuptiActivity activity;
};

/// Finds CUPTI and fills the table. `places`: folders and files to look in first, ':' between them. Returns "", or why
/// not.
std::string load_cupti(const std::string& places, Cupti& cupti);

/// What CUPTI says where it refuses something.
std::string cupti_refusal(const Cupti& cupti, abi::CuptiStatus status);

/// Becomes the subscriber, with `callback`, and the source of callbacks. Returns "", or why not.
std::string subscribe(const Cupti& cupti, abi::CallbackFunction callback);

}  // namespace streamsan::recorder::cuda
