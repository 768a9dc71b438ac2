// Pools, graphs, ...: known by handle only.
#pragma once
#include <cstdint>
#include <vector>

#include "facts.hpp"
#include "operation.hpp"
#include "state.hpp"

namespace streamsan::order {

/// Whether it is one of the objects that hold their OpenCL context.
inline bool is_opencl_object(HandleKind kind) {
    return kind == HandleKind::KERNEL || kind == HandleKind::PROGRAM || kind == HandleKind::SAMPLER ||
           kind == HandleKind::SUB_BUFFER || kind == HandleKind::COMMAND_BUFFER;
}

/// Whether it is a number that each context counts for itself: of two that are the same nobody knows which is meant.
inline bool is_image_object(HandleKind kind) { return kind == HandleKind::TEXTURE || kind == HandleKind::SURFACE; }

class Handles {
public:
    explicit Handles(Facts& facts) : facts_(facts) {}

    /// The object exists from now on.
    void create(Process& process, HandleKind kind, std::uint64_t object, std::uint32_t context,
                const Operation& operation) {
        at(process, kind, object) = {true, kind, context, operation, {}};
    }
    /// The context that an object was made in; none: not known.
    [[nodiscard]] std::uint32_t context_of(const Process& process, HandleKind kind, std::uint64_t object) const {
        const Handle* const handle = find(process, kind, object);
        return handle == nullptr ? none : handle->context;
    }
    void destroy(Process& process, HandleKind kind, std::uint64_t object, const Operation& operation) {
        Handle& handle = at(process, kind, object);
        handle.alive = false;
        handle.destroyed = operation;
    }
    /// Whether the object may be used: it was not destroyed, or else that is said.
    bool admit(const Process& process, HandleKind kind, std::uint64_t object, const Operation& operation) {
        // Pools belong to no context: a reset leaves them, and their memory, alone.
        const Handle* const handle = find(process, kind, object);
        if (handle == nullptr || handle->alive) return true;
        Fact fact(RuleCode::STALE_HANDLE, FactVariant::STALE_OTHER, operation);
        if (handle->made.kind != OperationKind{}) fact.with(RelatedRole::CREATE, handle->made);
        fact.with(RelatedRole::DESTROY, handle->destroyed);
        fact.assumed = operation.assumed();
        facts_.add(fact);
        return false;
    }
    /// Whether it is known, and was not destroyed.
    [[nodiscard]] bool lives(const Process& process, HandleKind kind, std::uint64_t object) const {
        const Handle* const handle = find(process, kind, object);
        return handle != nullptr && handle->alive;
    }

    /// Calls `use` with the making of each object that is alive, of any process.
    template <class Use>
    void each_alive(Use use) const {
        for (const Handle& handle : handles_)
            if (handle.alive && handle.made.kind != OperationKind{}) use(handle.kind, handle.made);
    }

private:
    struct Handle {
        bool alive = true;
        HandleKind kind{};
        std::uint32_t context = none;
        Operation made;  ///< no kind: it was made before the trace
        Operation destroyed;
    };

    static std::uint64_t key(HandleKind kind, std::uint64_t object) {
        return object ^ std::uint64_t{static_cast<std::uint8_t>(kind)} << 56;
    }
    [[nodiscard]] const Handle* find(const Process& process, HandleKind kind, std::uint64_t object) const {
        const std::uint32_t index = process.handles.find(key(kind, object));
        return index == none ? nullptr : &handles_[index];
    }
    Handle& at(Process& process, HandleKind kind, std::uint64_t object) {
        const std::uint32_t index = process.handles.number(key(kind, object), handles_.size());
        if (index == handles_.size()) handles_.emplace_back();
        return handles_[index];
    }

    Facts& facts_;
    std::vector<Handle> handles_;
};

}  // namespace streamsan::order
