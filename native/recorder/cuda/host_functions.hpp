// Functions of the host that streams call.
#pragma once
#include "recorder/cuda/handlers.hpp"

namespace streamsan::recorder::cuda {

void register_host_functions(HandlerTable& table);

}  // namespace streamsan::recorder::cuda
