// NCCL tells what a kernel is for when it has launched it, on the thread that did, before that makes another call of
// CUDA. Where a communicator needs the host's help over the network, it tells when the kernel is about to run, on a
// thread of the driver: nothing says then which launch it was.
#include "recorder/cuda/collectives.hpp"

#include <cerrno>
#include <limits>
#include <memory>
#include <vector>

#include "recorder/cuda/captures.hpp"
#include "recorder/cuda/node_sites.hpp"
#include "recorder/cuda/not_understood.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {
namespace {

constexpr auto collective_read = static_cast<std::uint8_t>(AccessMode::READ);
constexpr auto collective_write = static_cast<std::uint8_t>(AccessMode::WRITE);
constexpr std::string_view group_name = "ncclGroupEnd";

Gap collective_not_told{
    "NCCL did not tell what a collective reads and writes: one that is captured while the network needs the host, of "
    "symmetric memory, or of a version that does not tell it while a captured one is alive"};

std::string_view name_of(CollectiveKind kind) {
    switch (kind) {
        case CollectiveKind::ALL_GATHER: return "ncclAllGather";
        case CollectiveKind::ALL_REDUCE: return "ncclAllReduce";
        case CollectiveKind::BROADCAST: return "ncclBroadcast";
        case CollectiveKind::RECV: return "ncclRecv";
        case CollectiveKind::REDUCE: return "ncclReduce";
        case CollectiveKind::REDUCE_SCATTER: return "ncclReduceScatter";
        case CollectiveKind::SEND: return "ncclSend";
    }
    return group_name;
}

/// 0, which is "not known", for more than fits.
std::uint64_t times(std::uint64_t bytes, std::uint64_t ranks) {
    if (bytes == 0 || ranks > std::numeric_limits<std::uint64_t>::max() / bytes) return 0;
    return bytes * ranks;
}

void add(CollectiveUses& uses, std::uint64_t address, std::uint64_t size, std::uint8_t mode) {
    if (address != 0) uses.references[uses.count++] = {address, size, mode};
}

/// All ranks' parts are gathered, this rank's beside those of others.
void add_gathered(CollectiveUses& uses, const Collective& told) {
    const std::uint64_t all = times(told.bytes, told.ranks);
    const std::uint64_t before = times(told.bytes, told.rank);
    const bool in_place = all != 0 && told.rank < told.ranks && told.send == told.receive + before;
    if (!in_place) return add(uses, told.receive, all, collective_write);
    if (before != 0) add(uses, told.receive, before, collective_write);
    const std::uint64_t after = before + told.bytes;
    if (after < all) add(uses, told.receive + after, all - after, collective_write);
}

}  // namespace

bool is_collective_kernel(std::string_view symbol) {
    const std::size_t at = symbol.find("nccl");
    return at != std::string_view::npos && symbol.find("Kernel_", at) != std::string_view::npos;
}

CollectiveUses uses_of(const Collective& told) {
    CollectiveUses uses;
    switch (told.kind) {
        case CollectiveKind::ALL_REDUCE:
            add(uses, told.send, told.bytes, collective_read);
            add(uses, told.receive, told.bytes, collective_write);
            break;
        case CollectiveKind::REDUCE:
            add(uses, told.send, told.bytes, collective_read);
            if (told.is_root) add(uses, told.receive, told.bytes, collective_write);
            break;
        case CollectiveKind::BROADCAST:
            if (told.is_root) add(uses, told.send, told.bytes, collective_read);
            if (!told.is_root || told.send != told.receive) add(uses, told.receive, told.bytes, collective_write);
            break;
        case CollectiveKind::ALL_GATHER:
            add(uses, told.send, told.bytes, collective_read);
            add_gathered(uses, told);
            break;
        case CollectiveKind::REDUCE_SCATTER:
            add(uses, told.send, times(told.bytes, told.ranks), collective_read);
            add(uses, told.receive, told.bytes, collective_write);
            break;
        case CollectiveKind::SEND: add(uses, told.send, told.bytes, collective_read); break;
        case CollectiveKind::RECV: add(uses, told.receive, told.bytes, collective_write); break;
    }
    return uses;
}

namespace {

/// What a thread has launched and not been told of, and what it is being told.
struct TellingState {
    enum class Stage : std::uint8_t { none, launched, telling };
    Stage stage = Stage::none;
    bool understood = true;
    std::size_t told = 0;
    Slot* slot = nullptr;  ///< of the launch; null where it was captured
    std::uint64_t stream = 0;
    abi::Word node = 0;
    std::string_view name;  ///< of the captured node: the only function, or the group
    std::vector<Reference> captured;
};

TellingState& telling(ThreadState& state) {
    if (state.collectives == nullptr) state.collectives = std::make_shared<TellingState>();
    return *static_cast<TellingState*>(state.collectives.get());
}

/// Where the program asked for it; the function is the site's label, as a kernel's name is.
std::uint32_t site_of(std::string_view name) {
    Recorder& all = *recorder();
    const std::uint32_t label = all.writer->string(name);
    if (all.settings.sites) return all.sites->here(label);
    SiteRecord record;
    record.label = label;
    return all.writer->site(record);
}

void say_not_told(ThreadState& state) {
    Call call;
    call.timed = false;
    call.entered = recorder()->writer->now();
    const bool wrote = state.runtime_wrote;
    say_not_understood(state, call, collective_not_told);
    state.runtime_wrote = wrote;
}

void await_telling(ThreadState& state, Slot* slot, std::uint64_t stream, abi::Word node) {
    TellingState& here = telling(state);
    if (here.stage != TellingState::Stage::none) say_not_told(state);
    here = {};
    here.stage = TellingState::Stage::launched;
    here.slot = slot;
    here.stream = stream;
    here.node = node;
}

/// An operation behind the kernel on its stream: no call of the API, though the library's function names it.
void write_use(ThreadState& state, TellingState& here, std::string_view name, const CollectiveUses& uses) {
    const bool wrote = state.runtime_wrote;
    Call call;
    call.timed = false;
    call.entered = recorder()->writer->now();
    call.site = site_of(name);
    Slot* const slot = prepare_returned(state, call, OperationKind::LAUNCH, WaitClass::NONE, here.stream, 0,
                                        uses.references.data(), uses.count);
    if (slot != nullptr) {
        slot->api = recorder()->writer->api(name);
        commit_prepared(state);
    }
    state.runtime_wrote = wrote;
}

/// A rotation leaves zeros where the launch was: then nothing is to be done.
void blank_references(Slot* slot) {
    if (slot == nullptr || slot->kind != static_cast<std::uint8_t>(OperationKind::LAUNCH)) return;
    slot->address = 0;
    slot->size = 0;
    for (unsigned further = 1; further <= slot->more; ++further) {
        auto& each = *reinterpret_cast<ReferencesSlot*>(slot + further);
        if (each.kind != static_cast<std::uint8_t>(OperationKind::REFERENCES)) return;
        each.first_address = each.first_size = 0;
        each.second_address = each.second_size = 0;
    }
}

/// Calls `work(state, here)` for a thread that is told something, outside of its own calls.
template <class Work>
void while_telling(const Work& work) noexcept {
    if (recorder() == nullptr) return;
    const int error = errno;
    ThreadState& state = this_thread();
    try {
        if (!state.inside) {
            const OwnCalls own(state);
            work(state, telling(state));
        }
    } catch (...) {
        // What goes wrong here does not reach the program.
    }
    errno = error;
}

}  // namespace

void collective_launched(ThreadState& state, const Call& call) {
    const Slot* const slot = call.slot;
    if (call.status != abi::success || slot == nullptr) return;
    // A rotation meanwhile leaves zeros.
    if (slot->kind == static_cast<std::uint8_t>(OperationKind::LAUNCH))
        await_telling(state, call.slot, slot->stream, 0);
}

void collective_captured(ThreadState& state, const Call& call) {
    if (const CapturedNode made = captured_node(state, call); made.node != 0)
        await_telling(state, nullptr, 0, made.node);
}

void begin_collectives() {
    while_telling([](ThreadState& state, TellingState& here) {
        if (here.stage != TellingState::Stage::launched) {
            say_not_told(state);
            here = {};
            return;
        }
        here.stage = TellingState::Stage::telling;
    });
}

void tell_collective(const std::optional<Collective>& collective) {
    while_telling([&](ThreadState& state, TellingState& here) {
        if (here.stage != TellingState::Stage::telling) return;
        if (!collective) {
            here.understood = false;
            return;
        }
        const std::string_view name = name_of(collective->kind);
        const CollectiveUses uses = uses_of(*collective);
        ++here.told;
        if (here.node == 0) return write_use(state, here, name, uses);
        here.name = here.told == 1 || here.name == name ? name : group_name;
        here.captured.insert(here.captured.end(), uses.references.begin(), uses.references.begin() + uses.count);
    });
}

void end_collectives() {
    while_telling([](ThreadState& state, TellingState& here) {
        if (here.stage != TellingState::Stage::telling) return;
        if (here.told == 0 || !here.understood) {
            say_not_told(state);
        } else if (here.node != 0) {
            node_sites().uses(here.node, site_of(here.name), recorder()->writer->api(here.name),
                              std::move(here.captured));
        } else {
            blank_references(here.slot);
        }
        here = {};
    });
}

}  // namespace streamsan::recorder::cuda
