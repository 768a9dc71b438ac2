// The sorts of edges that the engine adds. Tests take each away in turn, and see that its absence is noticed.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "clock.hpp"

namespace streamsan::order {

enum class EdgeKind : std::uint8_t {
    issue,                   ///< the call, before what it puts on a stream
    creation,                ///< a stream's creation, before what it is given
    legacy_after_blocking,   ///< what blocking streams were given, before an action on the legacy default stream
    legacy_after_destroyed,  ///< ... and those that were destroyed meanwhile
    blocking_after_legacy,   ///< an action on the legacy default stream, before what blocking streams are given later
    event_to_stream,
    event_to_host,
    stream_to_host,
    legacy_to_host,  ///< what a host that waits for a stream knows by the legacy stream's rules
    context_to_host,
    destroyed_to_host,  ///< work of destroyed streams, before a wait for their context
    stream_to_body,     ///< what is before a host function, before its body
    body_to_told,       ///< a host function, before those that its body tells something (believed, not promised)
    body_to_stream,     ///< a host function's body, before what is behind the function
    release,            ///< one host thread before another
    launch_to_launch,   ///< of one executable graph
    event_to_launch,    ///< an event node that waits, before the launch
    launch_to_event,    ///< a launch, before those that wait for what its nodes record
    node_to_node,       ///< in a graph's body
    kernel_start,       ///< what is before a kernel's begin, before that of a programmatic one behind it
    early_to_stream,    ///< what a kernel does without waiting, before what is behind it on its stream
    run_order,          ///< in a recording, calls of one thread before later ones of another
    unseen_teller,      ///< in a recording, who may have told everybody
    opaque,             ///< code that nobody can see, before what follows it
    unknown_event,      ///< whatever somebody unknown may have recorded, before who waits for it
    destroyed_event,    ///< what a wait that comes too late was meant for
    fork,               ///< the parent, before its child
    observed_wait,      ///< what a driver waits for at a free or reset, before the call returns
    count
};

constexpr std::array<std::string_view, static_cast<std::size_t>(EdgeKind::count)> edge_names = {
    "issue",
    "creation",
    "legacy_after_blocking",
    "legacy_after_destroyed",
    "blocking_after_legacy",
    "event_to_stream",
    "event_to_host",
    "stream_to_host",
    "legacy_to_host",
    "context_to_host",
    "destroyed_to_host",
    "stream_to_body",
    "body_to_told",
    "body_to_stream",
    "release",
    "launch_to_launch",
    "event_to_launch",
    "launch_to_event",
    "node_to_node",
    "kernel_start",
    "early_to_stream",
    "run_order",
    "unseen_teller",
    "opaque",
    "unknown_event",
    "destroyed_event",
    "fork",
    "observed_wait"};
static_assert(!edge_names.back().empty(), "each kind has a name");

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
