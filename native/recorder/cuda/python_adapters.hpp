// Pools of Python frameworks that tell of their blocks only in Python: recorder/pool_adapters.py, run in the program.
#pragma once

namespace streamsan::recorder::cuda {

/// The driver is ready. Where the program is Python, its main thread is asked to run the adapters as soon as it can:
/// the program's environment has nothing of that.
void load_python_adapters();

}  // namespace streamsan::recorder::cuda
