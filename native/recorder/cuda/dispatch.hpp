// From CUPTI's callbacks to handlers.
#pragma once
#include <cstdint>

#include "recorder/cuda/abi.hpp"

namespace streamsan::recorder::cuda {

/// Looks up the handler of every callback. Once, before the first callback.
void prepare_dispatch();

/// In a forked child: ids of names mean nothing in its file.
void forget_names_of_rows();

/// What CUPTI calls. Nothing thrown leaves it; the calling thread's errno is as it was.
void dispatch(void* data, abi::Domain domain, std::uint32_t id, const void* callback_data) noexcept;

}  // namespace streamsan::recorder::cuda
