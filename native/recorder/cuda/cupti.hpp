// libcupti: found and loaded at run time, never linked, never shipped.
#pragma once
#include <cstdint>
#include <string>

#include "recorder/cuda/abi.hpp"

namespace streamsan::recorder::cuda {

/// The functions of CUPTI that are used. Subscribing with parameters came with CUDA 13; null before.
struct Cupti {
    abi::CuptiStatus (*subscribe)(abi::Subscriber*, abi::CallbackFunction, void*) = nullptr;
    abi::CuptiStatus (*subscribe_v2)(abi::Subscriber*, abi::CallbackFunction, void*,
                                     abi::SubscriberParameters*) = nullptr;
    abi::CuptiStatus (*enable_callback)(std::uint32_t, abi::Subscriber, abi::Domain, std::uint32_t) = nullptr;
    abi::CuptiStatus (*result_string)(abi::CuptiStatus, const char**) = nullptr;
};

/// Finds CUPTI and fills the table. `places`: folders and files to look in first, ':' between them. Returns "", or why
/// not.
std::string load_cupti(const std::string& places, Cupti& cupti);

/// Becomes the subscriber, with `callback`, and the source of callbacks. Returns "", or why not.
std::string subscribe(const Cupti& cupti, abi::CallbackFunction callback);

}  // namespace streamsan::recorder::cuda
