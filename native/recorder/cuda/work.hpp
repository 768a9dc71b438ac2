// The parts of register_work, each with its own file.
#pragma once

namespace streamsan::recorder::cuda {

class HandlerTable;

void register_launches(HandlerTable& table);  // launches.cpp
void register_parameter_calls(
    HandlerTable& table);  // parameter_calls.cpp: the calls that launches before CUDA 4 took their arguments from
void register_copies(HandlerTable& table);             // copies.cpp
void register_fills(HandlerTable& table);              // fills.cpp
void register_migrations(HandlerTable& table);         // migrations.cpp: prefetch, discard, attach, advice
void register_memory_operations(HandlerTable& table);  // stream_memory_ops.cpp

}  // namespace streamsan::recorder::cuda
