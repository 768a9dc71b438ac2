// The parts of register_work, each with its own file.
#pragma once

namespace streamsan::recorder::cuda {

class HandlerTable;

void register_launches(HandlerTable& table);           // launches.cpp
void register_launch_settings(HandlerTable& table);    // launch_settings.cpp: what launches before CUDA 4 were given
void register_copies(HandlerTable& table);             // copies.cpp
void register_fills(HandlerTable& table);              // fills.cpp
void register_migrations(HandlerTable& table);         // migrations.cpp: prefetch, discard, attach, advice
void register_memory_operations(HandlerTable& table);  // stream_memory_ops.cpp

}  // namespace streamsan::recorder::cuda
