#include "recorder/cuda/several.hpp"
#include "recorder/launch_path.hpp"

namespace streamsan::recorder::cuda {

STREAMSAN_LAUNCH_PATH void begin_several(ThreadState& state, Call& call) {
    state.several.clear();
    call.slot = nullptr;
}

STREAMSAN_LAUNCH_PATH Slot* write_one_of_several(ThreadState& state, Call& call, OperationKind kind,
                                                 std::uint8_t detail, std::uint64_t stream, std::uint64_t object,
                                                 const Reference* references, std::size_t count) {
    if (call.slot != nullptr) state.several.push_back(call.slot);
    return write_entered(state, call, kind, detail, stream, object, references, count);
}

STREAMSAN_LAUNCH_PATH void complete_several(ThreadState& state, Call& call) {
    Slot* const latest = call.slot;
    for (Slot* const slot : state.several) {
        call.slot = slot;
        complete(state, call, false);
    }
    state.several.clear();
    call.slot = latest;
    complete(state, call, false);
}

}  // namespace streamsan::recorder::cuda
