#include "recorder/cuda/batches.hpp"
#include "recorder/launch_path.hpp"

namespace streamsan::recorder::cuda {

STREAMSAN_LAUNCH_PATH void begin_batch(ThreadState& state, Call& call) {
    state.batch.clear();
    call.slot = nullptr;
}

STREAMSAN_LAUNCH_PATH Slot* write_batch_member(ThreadState& state, Call& call, OperationKind kind, Detail detail,
                                               std::uint64_t stream, std::uint64_t object, const Reference* references,
                                               std::size_t count) {
    if (call.slot != nullptr) state.batch.push_back(call.slot);
    return write_entered(state, call, kind, detail, stream, object, references, count);
}

STREAMSAN_LAUNCH_PATH void complete_batch(ThreadState& state, Call& call) {
    Slot* const latest = call.slot;
    for (Slot* const slot : state.batch) {
        call.slot = slot;
        complete(state, call, false);
    }
    state.batch.clear();
    call.slot = latest;
    complete(state, call, false);
}

}  // namespace streamsan::recorder::cuda
