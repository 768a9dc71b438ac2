// Pools, graphs, ...: known by handle only.
#pragma once
#include <cstdint>
#include <vector>

#include "facts.hpp"
#include "operation.hpp"
#include "state.hpp"

namespace streamsan::order {

class Handles {
public:
    explicit Handles(Facts& facts) : facts_(facts) {}

    /// The slot's object exists from now on.
    void create(const Slot& slot, Process& process, const Operation& operation);
    void destroy(const Slot& slot, Process& process, const Operation& operation);
    /// Whether the slot's object may be used: it was not destroyed, or else that is said.
    bool admit(const Slot& slot, const Process& process, const Operation& operation);
    /// Whether it is known, and was not destroyed.
    [[nodiscard]] bool lives(const Process& process, HandleKind kind, std::uint64_t object) const;

private:
    struct Handle {
        bool alive = true;
        Operation made;  ///< no kind: it was made before the trace
        Operation destroyed;
    };

    Facts& facts_;
    std::vector<Handle> handles_;
};

}  // namespace streamsan::order
