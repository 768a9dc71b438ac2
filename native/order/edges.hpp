// The sorts of edges that the engine adds. Tests take each away in turn, and see that its absence is noticed.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "clock.hpp"

namespace streamsan::order {

#define STREAMSAN_EDGE_KINDS(kind)                                                                                     \
    kind(issue)                     /* the call, before what it puts on a stream */                                    \
        kind(creation)              /* a stream's creation, before what it is given */                                 \
        kind(legacy_after_blocking) /* what blocking streams were given, before an action on the legacy default stream \
                                     */                                                                                \
        kind(legacy_after_destroyed) /* ... and those that were destroyed meanwhile */                                 \
        kind(blocking_after_legacy)  /* an action on the legacy default stream, before what blocking streams are given \
                                        later */                                                                       \
        kind(event_to_stream) kind(event_to_host) kind(stream_to_host)                                                 \
            kind(legacy_to_host) /* what a host that waits for a stream knows by the legacy stream's rules */          \
        kind(context_to_host) kind(destroyed_to_host) /* work of destroyed streams, before a wait for their context */ \
        kind(stream_to_body)                          /* what is before a host function, before its body */            \
        kind(body_to_told) /* a host function, before those that its body tells something (believed, not promised) */  \
        kind(body_to_stream)       /* a host function's body, before what is behind the function */                    \
        kind(release)              /* one host thread before another */                                                \
        kind(launch_to_launch)     /* of one executable graph */                                                       \
        kind(event_to_launch)      /* an event node that waits, before the launch */                                   \
        kind(launch_to_event)      /* a launch, before those that wait for what its nodes record */                    \
        kind(node_to_node)         /* in a graph's body */                                                             \
        kind(kernel_start)         /* what is before a kernel's begin, before that of a programmatic one behind it */  \
        kind(early_to_stream)      /* what a kernel does without waiting, before what is behind it on its stream */    \
        kind(run_order)            /* in a recording, calls of one thread before later ones of another */              \
        kind(unseen_teller)        /* in a recording, who may have told everybody */                                   \
        kind(opaque)               /* code that nobody can see, before what follows it */                              \
        kind(unknown_event)        /* whatever somebody unknown may have recorded, before who waits for it */          \
        kind(destroyed_event)      /* what a wait that comes too late was meant for */                                 \
        kind(value_to_wait)        /* a write of a value, before what waits for that value */                          \
        kind(word_to_poller)       /* whoever wrote a word, before a kernel that polls it (believed) */                \
        kind(command_to_queue)     /* a command of an out-of-order queue, before a wait for the queue */               \
        kind(queue_to_marker)      /* ... and before a marker or barrier that waits for all before it */               \
        kind(barrier_to_command)   /* a barrier, before later commands of its queue */                                 \
        kind(command_to_callback)  /* what an event captured, before a callback's body */                              \
        kind(use_to_callback)      /* uses of a memory object, before the body that is told of its end */              \
        kind(use_to_blocking_free) /* uses of memory, before a free that promises to wait for them returns */          \
        kind(fork)                 /* the parent, before its child */                                                  \
        kind(observed_wait)        /* what a driver waits for at a free, reset or copy, before the call returns */

#define STREAMSAN_ENUMERATOR(name) name,
enum class EdgeKind : std::uint8_t { STREAMSAN_EDGE_KINDS(STREAMSAN_ENUMERATOR) };
#undef STREAMSAN_ENUMERATOR

#define STREAMSAN_NAME(name) std::string_view(#name),
inline constexpr std::array edge_names = {STREAMSAN_EDGE_KINDS(STREAMSAN_NAME)};
#undef STREAMSAN_NAME

/// Which kinds an engine adds: all, but for tests of the tests.
class EdgeKinds {
public:
    explicit EdgeKinds(std::uint64_t without) : without_(without) {}

    [[nodiscard]] bool has(EdgeKind kind) const { return (without_ >> static_cast<unsigned>(kind) & 1U) == 0; }
    /// The relations that such an edge belongs to; none where the kind is left out.
    [[nodiscard]] Lanes in(EdgeKind kind, Lanes relations) const { return has(kind) ? relations : Lanes{}; }

private:
    std::uint64_t without_;
};

}  // namespace streamsan::order
