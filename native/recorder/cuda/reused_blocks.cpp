#include "recorder/cuda/reused_blocks.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/poison.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {
namespace {

/// Bytes that a pool has told of.
struct Block {
    std::uint64_t end;
    std::uint64_t asked_end;  ///< of what its owner asked for: up to there its pointers go
    bool has_owner;
    bool had_owner;       ///< another one, before
    bool undefined;       ///< the pool promises nothing of its contents
    bool tells_all;       ///< nor has anybody else memory of the same allocation of the driver
    bool used_by_nobody;  ///< work used it while the pool had it: perhaps the pool has cleared it
    bool untouched;       ///< no work was issued since it was handed out
};

class ReusedBlocks {
public:
    static ReusedBlocks& instance() {
        static ReusedBlocks& only = *new ReusedBlocks;
        return only;
    }

    void begin(const PoolWord& word, std::uint64_t address, std::uint64_t size, std::uint64_t asked) {
        const std::uint64_t end = end_of(address, size);
        if (end == address) return;
        const std::lock_guard lock(mutex_);
        const Before before = cut(address, end);
        const std::uint64_t asked_end = std::min(end, end_of(address, asked));
        blocks_[address] = {.end = end,
                            .asked_end = asked_end,
                            .has_owner = true,
                            .had_owner = before.any,
                            .undefined = !word.promises_contents,
                            .tells_all = word.tells_all,
                            .used_by_nobody = before.used_by_nobody,
                            .untouched = true};
        fresh_.push_back(address);
    }

    void end(std::uint64_t address) {
        const std::lock_guard lock(mutex_);
        const auto found = blocks_.find(address);
        if (found == blocks_.end()) return;
        found->second.has_owner = found->second.used_by_nobody = found->second.untouched = false;
        std::erase(fresh_, address);
    }

    void forget(std::uint64_t address, std::uint64_t size) {
        const std::lock_guard lock(mutex_);
        cut(address, end_of(address, size));
        std::erase_if(fresh_, [&](std::uint64_t block) { return !blocks_.contains(block); });
    }

    void share(std::uint64_t address) {
        const auto memory = recorder()->memory.find(address);
        const std::lock_guard lock(mutex_);
        if (memory) shared_.insert(memory->base);
    }
    void share_all(MemoryKind kind) {
        const std::lock_guard lock(mutex_);
        shared_kinds_ |= 1U << static_cast<unsigned>(kind);
    }

    /// The blocks of which this work is the first use, to be overwritten; all others have had their chance.
    std::vector<Bytes> take(OperationKind kind, const Reference* references, std::size_t count) {
        const std::lock_guard lock(mutex_);
        if (blocks_.empty()) return {};
        verdicts_.clear();
        for (std::size_t at = 0; at < count; ++at) look_at(kind, references[at]);
        std::vector<Bytes> found;
        for (const std::uint64_t address : fresh_) {
            Block& block = blocks_.at(address);
            block.untouched = false;
            if (!block.had_owner || !block.undefined) continue;
            const auto verdict = verdicts_.find(address);
            const Poisoned outcome = block.used_by_nobody                 ? Poisoned::HELD_BY_POOL
                                     : verdict == verdicts_.end()         ? Poisoned::OTHER_WORK
                                     : verdict->second != Poisoned::BLOCK ? verdict->second
                                                                          : of_memory(address);
            if (outcome == Poisoned::BLOCK) found.push_back({address, block.end - address});
            else count_poisoned(outcome);
        }
        fresh_.clear();
        return found;
    }

private:
    using Blocks = std::map<std::uint64_t, Block>;

    struct Before {
        bool any = false;
        bool used_by_nobody = false;
    };

    static std::uint64_t end_of(std::uint64_t address, std::uint64_t size) {
        return address + std::min(size, ~std::uint64_t{0} - address);
    }

    /// The block that holds an address.
    Blocks::iterator holder(std::uint64_t address) {
        auto after = blocks_.upper_bound(address);
        if (after == blocks_.begin() || std::prev(after)->second.end <= address) return blocks_.end();
        return std::prev(after);
    }

    /// No block lies in [address, end) any more. What is left of one that the pool had stays the pool's; of one with an
    /// owner, whose end was missed, nothing is known.
    Before cut(std::uint64_t address, std::uint64_t end) {
        Before before;
        auto at = holder(address);
        if (at == blocks_.end()) at = blocks_.lower_bound(address);
        while (at != blocks_.end() && at->first < end) {
            const auto [begin, block] = *at;
            at = blocks_.erase(at);
            before.any = true;
            before.used_by_nobody |= block.used_by_nobody && !block.has_owner;
            if (block.has_owner) std::erase(fresh_, begin);
            if (block.has_owner) continue;
            Block rest = block;
            if (begin < address) {
                rest.end = address;
                blocks_[begin] = rest;
            }
            if (block.end > end) {
                rest.end = block.end;
                at = std::next(blocks_.insert_or_assign(end, rest).first);
            }
        }
        return before;
    }

    void look_at(OperationKind kind, const Reference& reference) {
        if (reference.address == 0 || (reference.mode_flags & conditional_flag) != 0) return;
        const bool extent_is_known = kind != OperationKind::LAUNCH && reference.size != 0;
        const std::uint64_t end = end_of(reference.address, extent_is_known ? reference.size : 1);
        auto at = holder(reference.address);
        const auto first = at;
        if (at == blocks_.end()) at = blocks_.lower_bound(reference.address);
        for (; at != blocks_.end() && at->first < end; ++at) {
            if (!at->second.has_owner) at->second.used_by_nobody = true;
            else if (at == first && at->second.untouched) judge(kind, reference, at);
        }
    }

    void judge(OperationKind kind, const Reference& reference, Blocks::const_iterator block) {
        const auto mode = static_cast<AccessMode>(reference.mode_flags & 3);
        Poisoned verdict = Poisoned::BLOCK;
        if (mode == AccessMode::READ) verdict = Poisoned::READ_FIRST;
        else if (kind == OperationKind::LAUNCH && reference.address == block->first && may_be_an_end(block))
            verdict = Poisoned::NEIGHBOUR;
        const auto [known, is_new] = verdicts_.try_emplace(block->first, verdict);
        if (is_new || known->second == Poisoned::READ_FIRST) return;
        // One pointer that is its own is enough; one that reads spoils it.
        if (verdict == Poisoned::READ_FIRST || verdict == Poisoned::BLOCK) known->second = verdict;
    }

    /// Whether memory that is somebody else's ends where the block begins: its owner may pass one past its end.
    bool may_be_an_end(Blocks::const_iterator block) const {
        const std::uint64_t begin = block->first;
        if (block != blocks_.begin()) {
            const Block& before = std::prev(block)->second;
            if (before.end == begin) return before.has_owner && before.asked_end == begin;
        }
        const auto memory = recorder()->memory.find(begin - 1);
        if (!memory) return false;
        // What no pool that tells all has handed out of its own memory is nobody's.
        const auto told = blocks_.lower_bound(memory->base);
        return told == blocks_.end() || told->first > begin - 1 || !told->second.tells_all;
    }

    [[nodiscard]] Poisoned of_memory(std::uint64_t address) const {
        const auto memory = recorder()->memory.find(address);
        if (!memory) return Poisoned::ELSEWHERE;
        const bool of_device = memory->kind == MemoryKind::PLAIN || memory->kind == MemoryKind::STREAM_ORDERED ||
                               memory->kind == MemoryKind::MAPPED;
        if (!of_device) return Poisoned::ELSEWHERE;
        const bool shared =
            (shared_kinds_ >> static_cast<unsigned>(memory->kind) & 1) != 0 || shared_.contains(memory->base);
        return shared ? Poisoned::SHARED : Poisoned::BLOCK;
    }

    std::mutex mutex_;
    Blocks blocks_;
    std::vector<std::uint64_t> fresh_;            ///< with an owner, no work issued since
    std::map<std::uint64_t, Poisoned> verdicts_;  ///< of the work that is looked at
    std::set<std::uint64_t> shared_;              ///< allocations
    std::uint32_t shared_kinds_ = 0;
};

/// Whether an operation may use memory that it does not name. Waits, events, allocations and words about handles use
/// none.
bool is_work(OperationKind kind) {
    switch (kind) {
        case OperationKind::LAUNCH:
        case OperationKind::COPY:
        case OperationKind::MEMSET:
        case OperationKind::HOST_FUNCTION:
        case OperationKind::PREFETCH:
        case OperationKind::STREAM_MEMORY_OP:
        case OperationKind::GRAPH_LAUNCH:
        case OperationKind::OPAQUE_CALL: return true;
        default: return false;
    }
}

/// By an address among their arguments.
constexpr std::string_view shares_address[] = {
    "cuIpcGetMemHandle",     "cuMemPoolExportPointer", "cuMemGetHandleForAddressRange",
    "cuPointerSetAttribute",  // a driver of a network card is told that it may rely on order
    "cuMulticastBindAddr",
};
/// By a handle: which of the mapped memory, or of the pools', is not followed.
constexpr std::string_view shares_mapped[] = {"cuMemExportToShareableHandle", "cuMemImportFromShareableHandle",
                                              "cuMulticastBindMem"};
constexpr std::string_view shares_pool[] = {"cuMemPoolExportToShareableHandle"};

template <class Names>
bool names_function(const Names& list, std::string_view name) {
    return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

}  // namespace

void reused_block_begins(const PoolWord& word, std::uint64_t address, std::uint64_t size, std::uint64_t asked) {
    ReusedBlocks::instance().begin(word, address, size, asked);
}

void reused_block_ends(std::uint64_t address) { ReusedBlocks::instance().end(address); }

void reused_blocks_forgotten(std::uint64_t address, std::uint64_t size) {
    ReusedBlocks::instance().forget(address, size);
}

void poison_before(ThreadState& state, const Call& call, OperationKind kind, std::uint64_t stream,
                   const Reference* references, std::size_t count) {
    // What is written when its call has returned is over, or not the program's call at all.
    // Of the runtime's calls only those are written at their entry that name a handle which is gone.
    if (call.callback == nullptr || call.callback->runtime || call.status != status_unknown || call.captured ||
        !is_work(kind))
        return;
    wait_for_poison(state, stream);
    const std::vector<Bytes> blocks = ReusedBlocks::instance().take(kind, references, count);
    if (!blocks.empty()) poison_before_use(state, call, stream, blocks);
}

bool shares_memory(const Callback& callback) {
    return names_function(shares_address, callback.name) || names_function(shares_mapped, callback.name) ||
           names_function(shares_pool, callback.name);
}

void memory_is_shared(const Call& call) {
    if (names_function(shares_mapped, call.callback->name)) {
        ReusedBlocks::instance().share_all(MemoryKind::MAPPED);
    } else if (names_function(shares_pool, call.callback->name)) {
        ReusedBlocks::instance().share_all(MemoryKind::STREAM_ORDERED);
    } else if (const CallbackParameter* const address = call.find(Role::INSPECTED); address != nullptr) {
        ReusedBlocks::instance().share(call.value(address));
    } else {
        ReusedBlocks::instance().share_all(MemoryKind::PLAIN);
        ReusedBlocks::instance().share_all(MemoryKind::MAPPED);
    }
}

}  // namespace streamsan::recorder::cuda
