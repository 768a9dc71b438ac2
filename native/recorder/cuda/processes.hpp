// The life of the process: main, fork, exit.
#pragma once
#include <atomic>
#include <cstdint>

#include "generated/vocabulary.hpp"
#include "recorder/cuda/call.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {

/// `forked`: a child that has not used CUDA yet, and records nothing; `beginning`: one of its threads makes its file.
enum class Phase : std::uint8_t { before_main, main, after_main, forked, beginning };

/// Of this process. Changed by look_for_main, fork and the exit handler alone.
inline std::atomic<Phase> phase{Phase::before_main};

inline bool inside_main() { return phase.load(std::memory_order_relaxed) == Phase::main; }

/// The flag of an operation outside main, 0 inside: of one from this call site (0: of none). A thread that runs exit
/// handlers is outside; others go on meanwhile.
[[gnu::always_inline]] inline std::uint8_t outside_main(std::uint32_t site) {
    const Sites* const sites = recorder()->sites.get();
    const bool inside = inside_main() && (sites == nullptr || !sites->is_after_main(site));
    return inside ? 0 : static_cast<std::uint8_t>(SlotFlag::OUTSIDE);
}

/// Outside main: whether it has begun meanwhile. Writes MAIN_BEGIN if so. In a forked child the first call makes its
/// file.
void look_for_main(ThreadState& state);

/// Whether the callbacks of hot runtime functions are enabled: around a fork, so that they are in the child, which the
/// driver does not answer any more (I-02 in docs/facts.md).
inline std::atomic<bool> hot_enabled{false};

/// Registers the handlers of fork and exit. Once.
void watch_process();

/// An operation of the process itself, without call or site.
void write_event(OperationKind kind, Detail detail, std::uint64_t object);

}  // namespace streamsan::recorder::cuda
