// Retain and release, the same for every sort of object: what the program holds is counted here, and a release of what
// it does not hold any more is not given to the runtime, which would destroy what it or others still use.
#pragma once
#include "recorder/opencl/live_objects.hpp"

namespace streamsan::recorder::opencl {

/// What the last release of a handle is: which operation, and of which sort of handle.
struct Ending {
    OperationKind kind;
    HandleKind sort;
    std::int32_t invalid;  ///< the status of a release that is stopped
};

/// Before a release: the end of the handle, or a use of it; stops one too many.
template <class Info>
Release begin_release(Call& call, Objects<Info>& objects, const Ending& ending) {
    const Word handle = call[0];
    const Release release = objects.release(handle);
    const bool too_many = release == Release::too_many;
    if (too_many && !unseen_makers.load(std::memory_order_relaxed)) {
        call.stopped = true;
        call.result = static_cast<Word>(static_cast<std::int64_t>(ending.invalid));
    }
    if (release == Release::last || (too_many && call.stopped)) {
        const bool plain = ending.kind == OperationKind::HANDLE_DESTROY;
        write_entered(call, ending.kind, plain ? Detail(ending.sort) : Detail(0), 0, handle);
    }
    return release;
}

/// Before a retain: of a handle that ended it is told.
template <class Info>
void begin_retain(Call& call, Objects<Info>& objects, HandleKind sort) {
    const Standing standing = objects.retain(call[0]);
    call.scratch[0] = standing == Standing::dead ? 1 : 0;
    if (standing == Standing::dead && !unseen_makers.load(std::memory_order_relaxed))
        write_entered(call, OperationKind::HANDLE_USE, sort, 0, call[0]);
}

/// After it: a retain that failed counts nothing.
template <class Info>
void end_retain(Call& call, Objects<Info>& objects) {
    complete(call);
    if (call.scratch[0] != 0 && call.succeeded()) objects.revive(call[0]);
    if (call.scratch[0] == 0 && !call.succeeded()) objects.release(call[0]);
}

}  // namespace streamsan::recorder::opencl
