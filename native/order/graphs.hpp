// Executable graphs: their bodies, what they bake in, what they allocate themselves.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "clock.hpp"
#include "conflicts.hpp"
#include "facts.hpp"
#include "flat_map.hpp"
#include "operation.hpp"

namespace streamsan::order {

struct BodyNode {
    Operation operation;
    NodeKind kind{};
    std::uint64_t object = 0;  ///< event, or sync key
    bool changed = false;      ///< it has new references since the body was checked
    std::vector<Reference> references;

    [[nodiscard]] bool conditional() const {
        return (operation.flags & static_cast<std::uint8_t>(SlotFlag::CONDITIONAL)) != 0;
    }
};

/// Nodes are numbered from 1 and edges lead to higher numbers, or they are left out.
struct GraphBody {
    std::vector<BodyNode> nodes;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
};

inline bool bulk(NodeKind kind) { return kind == NodeKind::COPY || kind == NodeKind::MEMSET; }

Access access_of(const BodyNode& node, const Reference& reference);

inline bool same_access(const Access& one, const Access& other) {
    return one.begin == other.begin && one.end == other.end && one.operation.flags == other.operation.flags;
}

/// One distinct access of a graph's nodes to an allocation.
struct BakedAccess {
    Access access;
    bool bulk = false;  ///< a copy or fill: one that a host access must not overlap
    bool host = false;  ///< a host function's: what it does is not judged against other uses
};

/// An allocation that a graph uses and does not make itself.
struct Baked {
    std::uint32_t allocation = none;
    std::uint64_t made = 0;   ///< sequence of the allocation: tells the generation; 0: it is gone
    bool dirty = false;       ///< in the list of what the next launch looks at
    bool ordered = false;     ///< the launches are known to be after the allocation
    std::uint64_t since = 0;  ///< launches before the graph used it so: they do not count
    std::vector<BakedAccess> accesses;

    [[nodiscard]] bool reads_only() const {
        for (const BakedAccess& each : accesses) {
            if (!each.access.operation.reads_only()) return false;
        }
        return true;
    }
    /// The first access that happens for sure, else the first; there must be one.
    [[nodiscard]] const BakedAccess& surest() const {
        for (const BakedAccess& each : accesses) {
            if (!each.access.operation.assumed()) return each;
        }
        return accesses.front();
    }
};

/// An allocation that a graph bakes in and that is gone.
struct Stale {
    AllocationFact allocation;
    Operation made;
    Operation freed;
    Operation node;
    bool reset = false;
    bool recycled = false;
    bool assumed = false;
};

/// Another graph whose launches conflict with this one's, if nothing orders them.
struct Neighbour {
    std::uint32_t exec = none;
    std::uint64_t incarnation = 0;
    std::uint32_t mine = none;  ///< index in `baked`
    std::uint32_t theirs = none;
    Access my_access;
    Access their_access;
};

/// Memory of another graph that a node uses or frees.
struct Foreign {
    std::uint32_t memory = none;  ///< index of GraphMemory: records are reused ...
    std::uint64_t made = 0;       ///< ... and this tells whether it is still the same
    std::uint32_t node = 0;
};

struct GraphExec {
    std::uint64_t incarnation = 0;  ///< records are reused
    std::uint64_t handle = 0;
    std::uint64_t graph = 0;
    std::uint32_t process = none;
    std::uint32_t context = none;
    bool alive = true;
    bool auto_free = false;
    bool changed = false;  ///< nodes have new references since the summary was made
    bool relaunch_said = false;
    Operation made;
    Operation destroyed;
    Operation first_launch;
    Placed last;  ///< the latest launch
    std::uint64_t launches = 0;
    Clock history;  ///< what the latest launch is after ...
    std::uint32_t history_slot = none;
    std::uint32_t history_version = 0;
    GraphBody body;
    std::vector<Baked> baked;
    std::vector<std::uint32_t> dirty;
    std::vector<Stale> stale;
    std::vector<Neighbour> neighbours;
    std::vector<std::uint32_t> own;           ///< indices of GraphMemory
    std::vector<std::uint32_t> outside_used;  ///< own memory that was used outside since the latest launch
    std::vector<Foreign> foreign;
    std::size_t kept_by_launch = 0;                       ///< own allocations that no node frees
    std::size_t freed_since = 0;                          ///< of these, freed outside since the latest launch
    std::vector<std::uint64_t> waits;                     ///< events
    std::vector<std::pair<std::uint64_t, bool>> records;  ///< events, and whether their node comes after all others
    std::vector<std::uint64_t> keys;                      ///< sync keys of host nodes
    bool tells_unseen = false;  ///< it has nodes that may tell others what is done, in ways nobody sees
};

/// An executable graph that uses an allocation.
struct Baker {
    std::uint32_t exec;
    std::uint32_t baked;  ///< index in its list
};

/// Memory of an allocation node.
struct GraphMemory {
    std::uint32_t allocation = none;
    std::uint64_t made = 0;  ///< sequence of its announcement
    std::uint32_t exec = none;
    bool freed_inside = false;
    bool may_be_freed_inside = false;  ///< by a node of a conditional body
    bool freed_ever = false;
    bool free_announced = false;
    bool listed = false;               ///< in its graph's `outside_used`
    std::uint32_t opaque_version = 0;  ///< the opaque calls before its announcement
    bool said = false;                 ///< SS301, SS402, SS305: one of them is enough
    bool not_alive_said = false;
    Operation free_node;
    Operation announced_free;
    std::uint64_t seen = 0;  ///< the launch whose memory the allocation's record stands for
};

/// A capture that has begun.
struct Capture {
    std::uint64_t id = 0;
    std::uint64_t stream = 0;
    bool broken = false;
    Operation begin;
};

}  // namespace streamsan::order
