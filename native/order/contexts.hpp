// Contexts: by number, by handle, and which is current to a thread.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "facts.hpp"
#include "operation.hpp"
#include "state.hpp"

namespace streamsan::order {

class Contexts {
public:
    explicit Contexts(Facts& facts) : facts_(facts) {}

    [[nodiscard]] Context& operator[](std::uint32_t index) { return *list_[index]; }
    [[nodiscard]] const Context& operator[](std::uint32_t index) const { return *list_[index]; }
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(list_.size()); }

    template <class Visit>
    void each_of(const Process& process, Visit&& visit) const {
        for (std::uint32_t index = 0; index < size(); ++index) {
            if (list_[index]->process == process.number) visit(index);
        }
    }

    /// The context that is current to the thread.
    std::uint32_t current(Thread& thread, Process& process);
    /// The context that a handle names, introduced on first use.
    std::uint32_t named(Process& process, std::uint64_t handle);
    /// Such a one; 0 names the current one.
    std::uint32_t named_or_current(Process& process, Thread& thread, std::uint64_t handle) {
        return handle == 0 ? current(thread, process) : named(process, handle);
    }
    /// The program says that the context is there from now on.
    void create(Process& process, std::uint64_t handle, ContextKind kind, const Operation& operation);
    /// Whether the context may be used: it was not destroyed, or else that is said.
    bool admit(std::uint32_t index, const Operation& operation);

private:
    std::uint32_t make(Process& process, std::uint64_t handle, ContextKind kind, bool assumed, const Operation& made);

    Facts& facts_;
    std::vector<std::unique_ptr<Context>> list_;
};

}  // namespace streamsan::order
