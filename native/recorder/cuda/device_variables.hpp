// Variables of the device (`__device__`): memory that comes with a module and goes with it.
#pragma once
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "recorder/cuda/call.hpp"
#include "recorder/cuda/kernels.hpp"

namespace streamsan::recorder::cuda {

/// Whose addresses are known, by module or library.
class DeviceVariables {
public:
    void add(abi::Word module, std::uint64_t address);
    /// A kernel uses a managed variable.
    void add_managed(const Kernel& kernel, std::uint64_t address);
    std::vector<std::uint64_t> managed_of(const Kernel& kernel);
    /// The module is unloaded: its variables' addresses.
    std::vector<std::uint64_t> take(abi::Word module);
    /// In the child of a fork: another thread may have held the lock.
    void after_fork() { new (&mutex_) std::mutex; }

private:
    std::mutex mutex_;
    std::unordered_map<abi::Word, std::vector<std::uint64_t>> of_;
    std::unordered_map<const Kernel*, std::vector<std::uint64_t>> managed_;
};

/// Of this process. Never destroyed.
DeviceVariables& device_variables();

/// Where a variable lies.
struct VariablePlace {
    std::uint64_t address;
    std::uint64_t size;
    MemoryKind kind;
};

/// A variable is memory from now on, once: an ALLOC with the call's place, and its symbol for a label.
void tell_variable(ThreadState& state, Call& call, abi::Word module, std::string_view symbol,
                   const VariablePlace& place);

/// Before a kernel's first launch in a context, the variables that its module's code refers to: nothing among its
/// arguments leads to them.
void tell_variables_of(ThreadState& state, const Call& launch, const Kernel& kernel);

/// The variable of a module or library that the driver knows by this name. Address 0: none.
VariablePlace variable_place(ThreadState& state, abi::Word owner, bool is_library, const char* symbol);

/// The host may access the managed variables that a launched kernel uses, too early.
void note_managed_variables(ThreadState& state, const Kernel& kernel);

}  // namespace streamsan::recorder::cuda
