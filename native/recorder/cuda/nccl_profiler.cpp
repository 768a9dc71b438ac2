// The recorder as a profiler plugin of NCCL, which the variable NCCL_PROFILER_PLUGIN names. Only collectives and
// transfers are asked for: these events cost a call each, on the thread that launches.
#include <cstring>
#include <optional>
#include <string_view>

#include "recorder/cuda/collectives.hpp"
#include "recorder/cuda/nccl_profiler_abi.hpp"
#include "recorder/cuda/recorder.hpp"

namespace {

using namespace streamsan::recorder;
using namespace streamsan::recorder::cuda;

/// A communicator, in the word that NCCL keeps for the plugin: nothing has to be freed.
struct Communicator {
    std::uint64_t ranks = 0;  ///< 0: not known
    std::uint64_t rank = 0;
};

void* packed(int ranks, int rank) {
    const auto word = std::uint64_t{static_cast<std::uint32_t>(ranks)} << 32 | static_cast<std::uint32_t>(rank);
    return reinterpret_cast<void*>(word);
}

Communicator unpacked(const void* context) {
    const auto word = reinterpret_cast<std::uint64_t>(context);
    return {word >> 32, word & 0xFFFFFFFFU};
}

/// In the order of their names. The numbers are version 1's.
struct Function {
    std::string_view name;
    std::uint8_t number;
    CollectiveKind kind;
};
constexpr Function functions[collective_kinds]{
    {"AllGather", 2, CollectiveKind::ALL_GATHER},
    {"AllReduce", 4, CollectiveKind::ALL_REDUCE},
    {"Broadcast", 0, CollectiveKind::BROADCAST},
    {"Recv", 7, CollectiveKind::RECV},
    {"Reduce", 1, CollectiveKind::REDUCE},
    {"ReduceScatter", 3, CollectiveKind::REDUCE_SCATTER},
    {"Send", 6, CollectiveKind::SEND},
};

std::optional<CollectiveKind> kind_of(const char* name) {
    if (name == nullptr) return std::nullopt;
    for (const Function& each : functions)
        if (each.name == name) return each.kind;
    return std::nullopt;
}

std::optional<CollectiveKind> kind_of(std::uint8_t number) {
    for (const Function& each : functions)
        if (each.number == number) return each.kind;
    return std::nullopt;
}

struct Type {
    std::string_view name;
    std::size_t size;
};
/// In the order of version 1's numbers.
constexpr Type types[]{{"ncclInt8", 1},    {"ncclUint8", 1},    {"ncclInt32", 4},      {"ncclUint32", 4},
                       {"ncclInt64", 8},   {"ncclUint64", 8},   {"ncclFloat16", 2},    {"ncclFloat32", 4},
                       {"ncclFloat64", 8}, {"ncclBfloat16", 2}, {"ncclFloat8e4m3", 1}, {"ncclFloat8e5m2", 1}};

/// 0: not known. NCCL has no name for its unsigned bytes.
std::size_t size_of(const char* name) {
    if (name == nullptr) return 0;
    for (const Type& each : types)
        if (each.name == name) return each.size;
    return 0;
}

std::size_t size_of(std::uint8_t number) { return number < std::size(types) ? types[number].size : 0; }

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

std::uint64_t bytes_of(std::size_t count, std::size_t size) {
    return size == 0 || count > UINT64_MAX / size ? 0 : std::uint64_t{count} * size;
}

template <class Told>
std::optional<Collective> collective_of(const Told& told, const Communicator& communicator) {
    const std::optional<CollectiveKind> kind = kind_of(told.function);
    if (!kind) return std::nullopt;
    Collective found;
    found.kind = *kind;
    found.send = address_of(told.send);
    found.receive = address_of(told.receive);
    found.bytes = bytes_of(told.count, size_of(told.type));
    found.ranks = communicator.ranks;
    found.rank = communicator.rank;
    found.is_root = told.event.rank == told.root;
    return found;
}

template <class Told>
std::optional<Collective> transfer_of(const Told& told) {
    const std::optional<CollectiveKind> kind = kind_of(told.function);
    const bool sends = kind == CollectiveKind::SEND;
    if (!sends && kind != CollectiveKind::RECV) return std::nullopt;
    Collective found;
    found.kind = *kind;
    (sends ? found.send : found.receive) = address_of(told.buffer);
    found.bytes = bytes_of(told.count, size_of(told.type));
    return found;
}

/// A group is told by its address; all else needs no name.
char group_mark;

template <class CollectiveEvent, class TransferEvent, bool wide_sort>
nccl::Result start(void* context, void** handle, const nccl::Event* event) {
    if (event == nullptr) return nccl::success;
    const std::uint64_t sort = wide_sort ? event->sort : event->sort & 0xFF;
    if (handle != nullptr) *handle = sort == nccl::group_event ? &group_mark : nullptr;
    if (sort == nccl::group_event) {
        begin_collectives();
    } else if (sort == nccl::collective_event) {
        tell_collective(collective_of(*reinterpret_cast<const CollectiveEvent*>(event), unpacked(context)));
    } else if (sort == nccl::transfer_event) {
        // Of no bytes it only orders.
        const auto& transfer = *reinterpret_cast<const TransferEvent*>(event);
        if (transfer.count != 0) tell_collective(transfer_of(transfer));
    }
    return nccl::success;
}

nccl::Result stop(void* handle) {
    if (handle == &group_mark) end_collectives();
    return nccl::success;
}

nccl::Result record(void*, int, const void*) { return nccl::success; }

nccl::Result finalize(void*) { return nccl::success; }

nccl::Result begin(void** context, int* wanted, void* communicator) {
    if (context != nullptr) *context = communicator;
    if (wanted == nullptr) return nccl::success;
    const bool hears = recorder() != nullptr;
    *wanted = hears ? static_cast<int>(nccl::collective_event | nccl::transfer_event) : 0;
    if (hears) {
        static const bool said = (recorder()->writer->add_metadata("\"collectives\": true"), true);
        static_cast<void>(said);
    }
    return nccl::success;
}

nccl::Result init1(void** context, int* wanted) { return begin(context, wanted, nullptr); }

nccl::Result init4(void** context, int* wanted, const char*, std::uint64_t, int, int ranks, int rank, nccl::Logger) {
    return begin(context, wanted, packed(ranks, rank));
}

nccl::Result init5(void** context, std::uint64_t, int* wanted, const char*, int, int ranks, int rank, nccl::Logger) {
    return begin(context, wanted, packed(ranks, rank));
}

constexpr char name[] = "streamsan";
constexpr auto start1 = start<nccl::Collective1, nccl::Transfer1, false>;
constexpr auto start2 = start<nccl::Collective2, nccl::Transfer2, false>;
constexpr auto start4 = start<nccl::Collective4, nccl::Transfer4, false>;
constexpr auto start5 = start<nccl::Collective4, nccl::Transfer4, true>;

}  // namespace

#pragma GCC visibility push(default)
// NCCL looks these names up, the highest number that it knows first.
extern "C" {
nccl::Plugin<nccl::Init1> ncclProfiler_v1{name, init1, start1, stop, record, finalize};
nccl::Plugin<nccl::Init1> ncclProfiler_v2{name, init1, start2, stop, record, finalize};
nccl::Plugin<nccl::Init1> ncclProfiler_v3{name, init1, start2, stop, record, finalize};
nccl::Plugin<nccl::Init4> ncclProfiler_v4{name, init4, start4, stop, record, finalize};
nccl::Plugin<nccl::Init5> ncclProfiler_v5{name, init5, start5, stop, record, finalize};
nccl::Plugin<nccl::Init5> ncclProfiler_v6{name, init5, start5, stop, record, finalize};
}
#pragma GCC visibility pop
