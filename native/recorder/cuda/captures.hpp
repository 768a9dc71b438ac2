// Captures under way: which streams began them, and which calls they swallow. handlers.hpp declares what dispatch
// calls.
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/call.hpp"
#include "recorder/cuda/handlers.hpp"

namespace streamsan::recorder::cuda {

/// A capture that has begun and not ended.
struct Capture {
    std::uint64_t id;   ///< unique in the process
    abi::Word stream;   ///< that it began on; only there it ends
    abi::Word context;  ///< that was current
    bool into_graph;    ///< it adds to a graph that the program had already
};

/// The captures of this process. Any thread may use it; nothing here calls the driver. `Recorder::captures` counts
/// these and the calls under way that begin one.
class Captures {
public:
    void begun(const Capture& capture);
    [[nodiscard]] std::optional<Capture> begun_on(abi::Word stream) const;
    [[nodiscard]] std::optional<Capture> of_id(std::uint64_t id) const;
    /// Takes out the capture that began on this stream. Returns how many there were: 0 or 1.
    std::uint32_t end(abi::Word stream);
    /// Takes out the captures of a context that is gone. Returns how many there were.
    std::uint32_t end_context(abi::Word context);
    /// An id for a capture whose own the driver does not tell.
    std::uint64_t fresh_id();

private:
    mutable std::mutex mutex_;
    std::vector<Capture> captures_;
    std::uint64_t ids_ = 0;
};

/// Of this process. Never destroyed.
Captures& captures();

/// Whether a stream takes part in a capture, as the driver says. Any thread, outside of callbacks too.
bool stream_captures(abi::Word stream);

/// A node of a graph that is being captured.
struct CapturedNode {
    abi::Word graph = 0;
    abi::Word node = 0;
};
/// The node that the stream of a captured call goes on behind: after the call, the one that it made, if it made one.
/// Zeros where there is none.
CapturedNode captured_node(ThreadState& state, const Call& call);

/// Lets own calls of the driver be made while a capture forbids unsafe ones: the thread's mode is relaxed for its life.
/// Costs nothing while nothing captures, unless it is for calls that take time: another thread may begin a capture
/// meanwhile. Use inside an OwnCalls.
class RelaxedCaptures {
public:
    explicit RelaxedCaptures(bool also_later = false);
    ~RelaxedCaptures();
    RelaxedCaptures(const RelaxedCaptures&) = delete;
    RelaxedCaptures& operator=(const RelaxedCaptures&) = delete;

private:
    int mode_ = 0;
    bool exchanged_ = false;
};

void register_captures(HandlerTable& table);

}  // namespace streamsan::recorder::cuda
