// Allocations of one address space: by base address, by interior address, and freed ranges until they are reused.
#pragma once
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "conflicts.hpp"
#include "flat_map.hpp"
#include "operation.hpp"
#include "sorted_bases.hpp"

namespace streamsan::order {

/// How an allocation ended: 0 while it lives, a FreeClass, or this.
constexpr std::uint8_t ended_by_reset = 255;

/// What was already said of an allocation, so that its consequences stay silent, and what else is known of it.
struct Marks {
    bool assumed : 1 = false;        ///< came from an unknown caller
    bool escaped : 1 = false;        ///< unknown code had it and may have freed or used it
    bool use_reported : 1 = false;   ///< a use after its free was reported
    bool free_reported : 1 = false;  ///< a wrong free of it was reported
    bool lost : 1 = false;           ///< its last pointer was dropped, and that was reported
    bool registered : 1 = false;     ///< host memory that cudaHostRegister covers now
    bool unregistered : 1 = false;   ///< ... and once did
    bool baked : 1 = false;          ///< executable graphs use it
};

/// A use of one part of an allocation.
struct RangedUse {
    Placed use;
    Part part;

    [[nodiscard]] Access access() const { return {use.operation, part}; }
};

/// One generation of an address range: two cache lines.
struct alignas(64) Allocation {
    std::uint64_t base = 0;
    std::uint64_t size = 0;
    std::uint32_t generation = 0;
    std::uint32_t context = none;
    Epoch made_at;  ///< on its stream, when stream-ordered
    Operation made;
    std::uint8_t freed_by = 0;  ///< FreeClass, 0 while it lives
    MemoryKind kind = MemoryKind::UNKNOWN;
    Marks marks;
    std::uint8_t inline_uses : 4 = 0;
    std::uint8_t parts : 4 = 0;      ///< bit i: inline use i is of a part, see Allocations::set_part; or earlier_parts
    std::uint32_t more_uses = none;  ///< index of the list of further uses
    /// While live: the last uses, one for each timeline and sort (reads, others), less those that a later one covers.
    /// Once freed: [0] is the free at its host thread, [1] the free at its stream (tick 0: not on a stream).
    std::array<Placed, 2> uses;

    static constexpr std::uint8_t earlier_parts = 4;  ///< in `parts`: earlier uses of parts are remembered too

    [[nodiscard]] bool live() const { return freed_by == 0; }
    /// Whether a pointer of that generation (0: not known) was made for another owner of the address.
    [[nodiscard]] bool is_not_of(std::uint32_t of_pointer) const {
        return of_pointer != 0 && generation != 0 && of_pointer != generation;
    }
    [[nodiscard]] bool has_earlier() const { return (parts & earlier_parts) != 0; }
    [[nodiscard]] std::uint64_t end() const {
        const std::uint64_t bytes = size == 0 ? 1 : size;
        return base > UINT64_MAX - bytes ? UINT64_MAX : base + bytes;
    }
};
static_assert(sizeof(Allocation) == 128);

/// The generation that had the same base before: tells a stale pointer from a good one.
struct Previous {
    std::uint32_t generation = 0;
    Operation made;
    Operation freed;
};

class Allocations {
public:
    [[nodiscard]] std::uint32_t at_base(std::uint64_t address) const { return by_base_.find(address); }
    /// The block, or else the allocation, live or freed, that contains the address; `none` if no one knows it.
    [[nodiscard]] std::uint32_t containing(std::uint64_t address) const;

    /// The same of an address that was made from an allocation's: one behind the base of memory whose size nobody knows
    /// lies in it.
    [[nodiscard]] std::uint32_t named_by(std::uint64_t address, std::uint32_t generation) const;

    Allocation& operator[](std::uint32_t index) { return records_[index]; }
    const Allocation& operator[](std::uint32_t index) const { return records_[index]; }

    /// Makes a new generation; whatever overlapped it is forgotten, blocks that were handed out of it included.
    std::uint32_t make(std::uint64_t base, std::uint64_t size, std::uint32_t generation);
    void forget(std::uint32_t index);

    // Blocks that a pool hands out lie over the segments they are cut from; whoever looks for memory finds them first.
    [[nodiscard]] bool has_blocks() const { return has_blocks_; }
    /// Makes a block where none is. It has no generation: pointers are the segment's.
    std::uint32_t make_block(std::uint64_t base, std::uint64_t size);
    void forget_block(std::uint32_t index);
    /// Whether a pool cuts blocks from it: then it is the pool's to keep.
    [[nodiscard]] bool has_blocks_in(const Allocation& segment) const {
        return last_block_in(segment.base, segment.end()) != none;
    }
    /// Makes it one that nobody has used, of the same bytes and context.
    void renew_block(std::uint32_t index);
    [[nodiscard]] std::uint32_t block_at(std::uint64_t base) const { return block_by_base_.find(base); }
    [[nodiscard]] std::uint32_t block_containing(std::uint64_t address) const;
    /// The allocation that contains the address, whatever pools have made of it.
    [[nodiscard]] std::uint32_t segment_containing(std::uint64_t address) const;
    /// A block that overlaps [begin, end), the last one; `none` if there is none.
    [[nodiscard]] std::uint32_t last_block_in(std::uint64_t begin, std::uint64_t end) const;
    /// Marks it freed; its uses are no longer needed.
    void retire(std::uint32_t index, std::uint8_t freed_by, const Placed& by_host, const Placed& by_stream);

    [[nodiscard]] const Previous* previous(std::uint32_t index) const;
    [[nodiscard]] std::size_t size() const { return records_.size(); }

    void drop_uses(Allocation& allocation);

    /// From now on every timeline's latest use is kept: whatever comes later is asked for its order against each.
    void keep_all() { keeps_all_ = true; }
    /// Remembers the one before at an address also where nothing has a generation: a graph may have its address.
    void keep_previous() { keeps_previous_ = true; }
    /// Keeps a use, at `epoch`; `clock` is what it is after.
    void keep_use(Allocation& allocation, const Access& access, Epoch epoch, const Clock& clock) {
        if (host_side(allocation.kind)) keep_ranged_use(allocation, access, epoch, clock);
        else if (keeps_all_) keep_each_use(allocation, access, epoch);
        else keep_latest_uses(allocation, access, epoch, clock);
    }

    [[nodiscard]] std::uint32_t index_of(const Allocation& allocation) const {
        return static_cast<std::uint32_t>(&allocation - records_.data());
    }

    template <class Visit>
    void each(Visit&& visit) {
        for (std::uint32_t index = 0; index < records_.size(); ++index) {
            if (used_[index]) visit(index, records_[index]);
        }
    }

    /// Calls visit(const Placed&, const Part&) for every use that is kept.
    template <class Visit>
    void each_use(const Allocation& allocation, Visit&& visit) const {
        for (std::uint8_t i = 0; i < allocation.inline_uses; ++i) {
            visit(allocation.uses[i], part(allocation, i));
        }
        if (allocation.more_uses != none) {
            for (const RangedUse& ranged : lists_[allocation.more_uses]) visit(ranged.use, ranged.part);
        }
    }

    /// Calls visit(const Placed&, const Part&) for the earlier uses that are remembered.
    template <class Visit>
    void each_earlier(const Allocation& allocation, Visit&& visit) const {
        if (!allocation.has_earlier()) return;
        for (const RangedUse& ranged : parts_[index_of(allocation)].earlier) visit(ranged.use, ranged.part);
    }

    [[gnu::always_inline]] inline void prefetch_base(std::uint64_t address) const { by_base_.prefetch(address); }
    [[gnu::always_inline]] inline void prefetch_record(std::uint64_t address) const {
        const std::uint32_t index = by_base_.find(address);
        if (index != none) {
            const char* record = reinterpret_cast<const char*>(&records_[index]);
            __builtin_prefetch(record, 1);
            __builtin_prefetch(record + 64, 1);
        }
    }

private:
    struct Parts {
        std::array<Part, 2> of;
        std::vector<RangedUse> earlier;
    };

    std::uint32_t fresh();
    /// Forgets the record, which no index names any more.
    void give_back(std::uint32_t index);
    std::vector<RangedUse>& more_uses(Allocation& allocation);
    void drop_more(Allocation& allocation);

    // kept_uses.cpp
    /// Device memory: the uses that the new one does not stand for.
    void keep_latest_uses(Allocation& allocation, const Access& access, Epoch epoch, const Clock& clock);
    void keep_each_use(Allocation& allocation, const Access& access, Epoch epoch);
    /// Host memory: each part for itself. An `access` that ends at 0 may reach to the end.
    void keep_ranged_use(Allocation& allocation, const Access& access, Epoch epoch, const Clock& clock);
    /// Remembers a use that the new one replaces: they may be of other parts. The oldest of too many is forgotten.
    [[gnu::noinline]] void remember(Allocation& allocation, const Access& access, Epoch epoch, const RangedUse& old);
    /// Keeps use `i` in its record.
    void set_use(Allocation& allocation, std::uint8_t i, const Placed& use, const Access& access) {
        allocation.uses[i] = use;
        const auto bit = static_cast<std::uint8_t>(1U << i);
        if (access.begin == allocation.base && !access.exact() && !access.bounds.known()) {
            allocation.parts = static_cast<std::uint8_t>(allocation.parts & ~bit) & 0xFU;
            return;
        }
        set_part(allocation, i, access.part());
    }
    /// Which part inline use `i` is of.
    [[nodiscard]] Part part(const Allocation& allocation, std::uint8_t i) const {
        if ((allocation.parts >> i & 1U) == 0) return {allocation.base};
        return parts_[index_of(allocation)].of[i];
    }
    void set_part(Allocation& allocation, std::uint8_t i, const Part& part);

    bool keeps_all_ = false;
    bool keeps_previous_ = false;
    FlatMap by_base_;
    SortedBases bases_;
    bool has_blocks_ = false;  ///< some pool has handed one out
    FlatMap block_by_base_;
    SortedBases block_bases_;
    std::vector<Allocation, HugePages<Allocation>> records_;
    std::vector<bool> used_;
    std::vector<std::uint32_t> spare_;
    std::vector<std::vector<RangedUse>> lists_;
    std::vector<std::uint32_t> spare_lists_;
    std::vector<Previous> previous_;
    std::vector<Parts> parts_;  ///< few allocations need it: it is as long as the last of them
};

}  // namespace streamsan::order
