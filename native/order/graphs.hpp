// Executable graphs: their bodies, what they bake in, what they allocate themselves.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "allocation_records.hpp"
#include "clock.hpp"
#include "conflicts.hpp"
#include "edges.hpp"
#include "facts.hpp"
#include "flat_map.hpp"
#include "handles.hpp"
#include "operation.hpp"
#include "state.hpp"

namespace streamsan::order {

struct BodyNode {
    Operation operation;
    NodeKind kind{};
    std::uint64_t object = 0;     ///< event, or sync key
    bool changed = false;         ///< it has new references since the body was checked
    std::uint64_t described = 0;  ///< sequence of what gave it its references
    std::vector<Reference> references;
    bool is_seen = false;         ///< what it touches in the next launch is known, as it was seen on the device
    std::vector<Reference> seen;  ///< that
    bool before_host = false;     ///< a host function that nobody sees begin comes behind it, or is it

    [[nodiscard]] const std::vector<Reference>& used() const { return is_seen ? seen : references; }
    /// Whether a launch may leave it out.
    [[nodiscard]] bool conditional() const { return operation.has(SlotFlag::CONDITIONAL) && !is_seen; }
};

/// What a node will touch in the launch that comes.
struct Foretold {
    std::uint32_t node = 0;
    SeenAccesses detail{};  ///< 0: it is not known
    std::vector<Reference> references;
};

/// Nodes are numbered from 1 and edges lead to higher numbers, or they are left out.
struct GraphBody {
    std::vector<BodyNode> nodes;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
};

inline bool bulk(NodeKind kind) { return kind == NodeKind::COPY || kind == NodeKind::MEMSET; }

Access access_of(const BodyNode& node, const Reference& reference);

/// When a node got its references. A recorder says it: the graph may be instantiated much later.
std::uint64_t described_at(const Slot& slot, const Operation& operation);

inline bool same_access(const Access& one, const Access& other) {
    return one.begin == other.begin && one.end == other.end && one.rows == other.rows && one.bounds == other.bounds &&
           one.operation.flags == other.operation.flags;
}

/// One distinct access of a graph's nodes to an allocation.
struct BakedAccess {
    Access access;
    bool bulk = false;         ///< a copy, fill or host function: one that a host access must not overlap
    bool host = false;         ///< a host function's: what it does is not judged against other uses
    bool doubtful = false;     ///< perhaps no access at all, though its node runs
    bool found = false;        ///< nothing that its node was given leads there
    bool before_host = false;  ///< it is a host function's, or before one, that nobody sees begin
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
    /// The first access that happens for sure, else the first that does if its node runs, else the first; there must
    /// be one.
    [[nodiscard]] const BakedAccess& surest() const {
        const BakedAccess* found = &accesses.front();
        for (const BakedAccess& each : accesses) {
            if (!each.access.operation.assumed()) return each;
            if (found->doubtful && !each.doubtful) found = &each;
        }
        return *found;
    }
};

/// An allocation that a graph bakes in and that is gone.
struct Stale {
    AllocationFact allocation;
    Operation made;
    Operation freed;
    Operation node;
    bool reset = false;
    bool assumed = false;   ///< what is known of the allocation is
    bool doubtful = false;  ///< the access is, other than by whether its node runs
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
    std::vector<Reference> polled;                        ///< words that its kernels poll
    bool has_values = false;    ///< it has nodes that wait for values in memory, or write them
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

/// An access of a node, as one of a launch. It refers to the access.
Access launched(const Access& access, const Operation& launch);

/// The executable graphs, by number; records of those that ended are used again.
class Graphs {
public:
    Graphs(Facts& facts, EdgeKinds edges, bool recording, std::uint64_t begins_at)
        : facts_(facts), edges_(edges), recording_(recording), begins_at_(begins_at) {}

    [[nodiscard]] GraphExec& operator[](std::uint32_t index) { return *execs_[index]; }
    /// Parts of bodies, and updates of nodes, that fit nowhere.
    [[nodiscard]] std::uint64_t problems() const { return problems_; }

    // graphs.cpp: executable graphs, and the memory that they use
    std::uint32_t make(Process& process, std::uint64_t handle, const Operation& made);
    void end(Process& process, std::uint32_t index, const Operation& operation);
    /// Whether there is a node of that number.
    bool update_node(std::uint32_t index, const Slot& slot, const Operation& operation,
                     const std::vector<Reference>& references);
    /// Keeps what a node touches in the next launch of an executable graph, which may not be made yet.
    void foretell(const Process& process, const Slot& slot, const std::vector<Reference>& references);
    /// Gives nodes what was foretold of them.
    void take_foretold(const Process& process, std::uint32_t index);
    /// Takes up what single nodes' updates changed.
    void apply_changes(Process& process, std::uint32_t index);
    /// The memory has a new use: the next launches look at it.
    void note_baked_use(Process& process, std::uint32_t allocation);
    void end_baked(Process& process, std::uint32_t index, const Operation& freed, bool reset);
    void report_stale(Process& process, GraphExec& exec, const Operation& operation);

    // graph_bodies.cpp: bodies, part by part
    void begin_body(std::uint32_t index, std::uint64_t parts, Thread& thread);
    /// Whether it was the last part.
    bool add_part(const Slot& slot, const Operation& operation, const std::vector<Reference>& references,
                  Thread& thread);
    void finish_body(Process& process, Thread& thread);

    // graph_memory.cpp: memory that graphs allocate themselves
    [[nodiscard]] GraphMemory& memory(std::uint32_t at) { return memory_[at]; }
    [[nodiscard]] std::uint32_t memory_of(const Process& process, std::uint32_t allocation) const;
    void announce(const Process& process, std::uint32_t allocation);
    [[nodiscard]] bool alive(const Process& process, const GraphMemory& memory) const;
    void judge_relaunch(Process& process, GraphExec& exec, const Operation& operation, bool failed);
    /// Gives the memory the life that the latest launch began; whether it lives.
    bool revive(Process& process, std::uint32_t index, GraphMemory& memory);
    void note_outside_use(const Process& process, std::uint32_t index);
    void note_outside_free(const Process& process, std::uint32_t index);
    /// A call that was refused because the graph allocates memory.
    void report_restriction(const Process& process, FactVariant variant, std::uint64_t graph,
                            const Operation& operation);
    /// A free node was added to a graph, or (`failed`) refused.
    void announce_free(Process& process, const Operation& operation, std::uint32_t index, bool failed);
    void report_leaks(const Process& process, const Handles& handles, const Operation& operation, bool at_exit);

    /// Calls visit(const Placed&, const Part&) for every use that may still be pending, launches of graphs included:
    /// those stand for all that the graph does to the memory.
    template <class Visit>
    void each_pending(const Process& process, const Allocation& allocation, Visit&& visit) {
        process.allocations.each_use(allocation, visit);
        if (!allocation.marks.baked) return;
        each_launch(process, allocation, [&](const GraphExec& exec, const Baked& baked) {
            Placed launch = exec.last;
            bool writes = false;
            for (const BakedAccess& each : baked.accesses) writes |= each.access.operation.writes();
            const AccessMode mode = baked.reads_only() ? AccessMode::READ
                                    : writes           ? AccessMode::READ_WRITE
                                                       : AccessMode::OPAQUE;
            launch.operation = launch.operation.as_use(mode);
            if (baked.surest().access.operation.assumed()) launch.operation.flags |= bit(SlotFlag::ASSUMED);
            visit(static_cast<const Placed&>(launch), Part{allocation.base});
        });
    }

    /// Calls visit(exec, baked) for every launched graph that uses the memory.
    template <class Visit>
    void each_launch(const Process& process, const Allocation& allocation, Visit&& visit) {
        const std::vector<Baker>* list = bakers_of(process, process.allocations.index_of(allocation));
        if (list == nullptr) return;
        for (const Baker& each : *list) {
            const GraphExec& exec = *execs_[each.exec];
            if (each.baked >= exec.baked.size() || exec.baked[each.baked].made != allocation.made.sequence) continue;
            if (exec.launches <= exec.baked[each.baked].since) continue;
            visit(exec, exec.baked[each.baked]);
        }
    }

private:
    void keep_launch(Process& process, const GraphExec& exec, const Baked& baked);
    void claim_memory(Process& process, std::uint32_t index);
    void forget(const Process& process, std::uint32_t memory);
    void report_inside(const Allocation& allocation, const Operation& node, const Operation* free);

    // graph_races.cpp: bodies, node against node
    /// Reports what no edges order in a body; `changed_only`: pairs of which a node was changed since.
    void check_body(Process& process, std::uint32_t index, bool changed_only);
    /// Says that not all of a body was compared.
    void say_not_compared(std::uint32_t index);

    // graph_summary.cpp: what launches need to know of a body
    /// Reduces the body to which memory, events and sync keys it uses.
    void summarise(Process& process, std::uint32_t index);
    static void note_record(GraphExec& exec, std::uint32_t number);
    void bake(Process& process, GraphExec& exec, std::uint32_t number, const Reference& reference, FlatMap& seen,
              FlatMap& seen_stale);
    void link(Process& process, std::uint32_t index);
    void unlink(const Process& process, std::uint32_t index, std::uint32_t allocation);
    void add_neighbours(const Allocation& allocation, std::uint32_t index, std::uint32_t baked, const Baker& other);
    std::vector<Baker>* bakers_of(const Process& process, std::uint32_t allocation) {
        const std::uint32_t at = bakers_.find(process.number, allocation);
        return at == none ? nullptr : &bakers_[at];
    }

    Facts& facts_;
    EdgeKinds edges_;
    bool recording_;
    std::uint64_t begins_at_;
    std::vector<std::unique_ptr<GraphExec>> execs_;
    std::vector<std::uint32_t> spare_;
    std::uint64_t incarnations_ = 0;
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<Foretold>> foretold_;  ///< by process and handle
    std::size_t foretold_references_ = 0;
    AllocationRecords<std::vector<Baker>> bakers_;
    AllocationRecords<GraphMemory> memory_;
    std::uint64_t problems_ = 0;
};

}  // namespace streamsan::order
