// Candidate facts, aggregated by call sites.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "flat_map.hpp"
#include "operation.hpp"
#include "rows.hpp"

namespace streamsan::order {

struct Related {
    RelatedRole role{};
    Operation operation;
};

/// Which bytes of the allocation one side of a race touches, and how.
struct Touch {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;  ///< 0: how far it reaches is not known
    Rows rows;              ///< which bytes of them, where not all; no rows: all
    Bounds bounds;          ///< where `end` is not known
    bool known = false;     ///< where it begins is known
    bool surely = false;    ///< it touches all of these bytes; of an unknown extent the first
    bool atomic = false;    ///< by atomic operations only
    bool has_node = false;  ///< it is a launch of a graph, in which this node does it
    Operation node;
};

/// The allocation that a fact is about.
struct AllocationFact {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::uint32_t generation = 0;
    std::uint32_t site = 0;
    MemoryKind kind{};
    bool assumed = false;
    bool known = false;
};

struct Allocation;

AllocationFact described(const Allocation& allocation);

struct Fact {
    RuleCode code{};
    FactVariant variant = FactVariant::NONE;
    EdgeClass rests_on = EdgeClass::CONTRACT;
    bool assumed = false;
    bool may_be_equal = false;
    bool unseen = false;  ///< code that nobody can see may give the order
    bool likely = false;  ///< though assumed: only what is out of the ordinary would make it wrong
    bool polled = false;  ///< of a race: a word that a kernel polls may give the order
    std::uint8_t related_count = 0;
    Operation operation;
    std::array<Related, 6> related;
    AllocationFact allocation;
    std::array<Touch, 2> touches;  ///< of a race: what `operation`, and what the first USE does
    std::uint64_t count = 1;
    std::uint64_t cost = 0;

    Fact(RuleCode code_, FactVariant variant_, const Operation& operation_)
        : code(code_), variant(variant_), operation(operation_) {}
    /// One that is about an allocation, and as sure as the operation is.
    Fact(RuleCode code_, FactVariant variant_, const Operation& operation_, const Allocation& about);

    /// Adds a related operation; what does not fit is left out, for the first ones say enough.
    Fact& with(RelatedRole role, const Operation& other) {
        if (related_count < related.size()) related[related_count++] = {role, other};
        return *this;
    }
};

class Facts {
public:
    /// Facts about operations that all came before this one are left out: they are the past of what is judged.
    void judge_from(std::uint64_t sequence) { judged_from_ = sequence; }
    void add(const Fact& fact);
    [[nodiscard]] const std::vector<Fact>& list() const { return facts_; }

private:
    std::uint64_t judged_from_ = 0;
    std::vector<Fact> facts_;
    FlatMap by_key_;
};

}  // namespace streamsan::order
