// What NCCL tells a profiler plugin, as its published headers document it: versions 1 (NCCL 2.23) to 6 (2.29). NCCL
// asks for the newest version that it knows and the plugin has. Nothing of NCCL is needed to build this.
#pragma once
#include <cstddef>
#include <cstdint>

namespace streamsan::recorder::nccl {

using Result = int;
constexpr Result success = 0;

// The sorts of events, as bits of what a plugin asks for. One of a sort brings those that hold it along.
constexpr std::uint64_t group_event = 1U << 0;  ///< the collectives and transfers of one kernel
constexpr std::uint64_t collective_event = 1U << 1;
constexpr std::uint64_t transfer_event = 1U << 2;  ///< a send or a receive

/// What all events begin with. Up to version 4 the first byte alone is the sort.
struct Event {
    std::uint64_t sort;
    void* parent;
    int rank;
};

/// Version 1 has numbers for functions and types.
struct Collective1 {
    Event event;
    const char* communicator;
    std::uint64_t hash;
    std::uint64_t number;
    std::uint8_t function;
    const void* send;
    void* receive;
    std::size_t count;
    int root;
    std::uint8_t type;
};

struct Transfer1 {
    Event event;
    const char* communicator;
    std::uint64_t hash;
    std::uint8_t function;
    void* buffer;
    std::uint8_t type;
    std::size_t count;
    int peer;
};

/// Versions 2 and 3.
struct Collective2 {
    Event event;
    const char* communicator;
    std::uint64_t hash;
    std::uint64_t number;
    const char* function;
    const void* send;
    void* receive;
    std::size_t count;
    int root;
    const char* type;
};

struct Transfer2 {
    Event event;
    const char* communicator;
    std::uint64_t hash;
    const char* function;
    void* buffer;
    const char* type;
    std::size_t count;
    int peer;
};

/// From version 4 on a communicator tells of itself when it is made.
struct Collective4 {
    Event event;
    std::uint64_t number;
    const char* function;
    const void* send;
    void* receive;
    std::size_t count;
    int root;
    const char* type;
};

struct Transfer4 {
    Event event;
    const char* function;
    void* buffer;
    const char* type;
    std::size_t count;
    int peer;
};

using StartEvent = Result (*)(void* context, void** handle, const Event* event);
using StopEvent = Result (*)(void* handle);
using RecordState = Result (*)(void* handle, int state, const void* arguments);
using Finalize = Result (*)(void* context);
using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);

/// `Init` is what differs.
template <class Init>
struct Plugin {
    const char* name;
    Init init;
    StartEvent start;
    StopEvent stop;
    RecordState record;
    Finalize finalize;
};
using Init1 = Result (*)(void** context, int* wanted);
using Init4 = Result (*)(void** context, int* wanted, const char* name, std::uint64_t hash, int nodes, int ranks,
                         int rank, Logger logger);
using Init5 = Result (*)(void** context, std::uint64_t hash, int* wanted, const char* name, int nodes, int ranks,
                         int rank, Logger logger);

static_assert(sizeof(Event) == 24);
static_assert(offsetof(Collective1, send) == 56 && offsetof(Collective1, root) == 80 &&
              offsetof(Collective1, type) == 84);
static_assert(offsetof(Transfer1, buffer) == 48 && offsetof(Transfer1, type) == 56 && offsetof(Transfer1, count) == 64);
static_assert(offsetof(Collective2, send) == 56 && offsetof(Collective2, type) == 88);
static_assert(offsetof(Transfer2, buffer) == 48 && offsetof(Transfer2, count) == 64);
static_assert(offsetof(Collective4, function) == 32 && offsetof(Collective4, send) == 40 &&
              offsetof(Collective4, type) == 72);
static_assert(offsetof(Transfer4, function) == 24 && offsetof(Transfer4, buffer) == 32 &&
              offsetof(Transfer4, count) == 48);

}  // namespace streamsan::recorder::nccl
