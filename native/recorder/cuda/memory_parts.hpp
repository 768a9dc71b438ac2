// The parts of register_memory, each with its own file.
#pragma once

namespace streamsan::recorder::cuda {

class HandlerTable;

void register_allocations(HandlerTable& table);  // memory_calls.cpp
void register_array_calls(HandlerTable& table);  // array_calls.cpp
void register_images(HandlerTable& table);       // image_objects.cpp: texture and surface objects
void register_mappings(HandlerTable& table);     // vmm.cpp
void register_imports(HandlerTable& table);      // imports.cpp: memory of other processes and of other APIs
void register_pools(HandlerTable& table);        // pools.cpp
void register_modules(HandlerTable& table);      // modules.cpp: device variables

}  // namespace streamsan::recorder::cuda
