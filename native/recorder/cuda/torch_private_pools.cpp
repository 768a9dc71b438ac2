#include "recorder/cuda/torch_private_pools.hpp"

namespace streamsan::recorder::cuda {

Telling TorchPrivatePools::allocated(TorchPool pool, bool captured) {
    if (pool.of_capture != 0) return Telling::nobody;
    const std::lock_guard lock(mutex_);
    Known& known = known_[pool.of_program];
    known.captured |= captured;
    if (known.captured) return known.told ? Telling::no_more : Telling::nobody;
    known.told = true;
    return Telling::block;
}

Telling TorchPrivatePools::freed(TorchPool pool) {
    if (pool.of_capture != 0) return Telling::nobody;
    const std::lock_guard lock(mutex_);
    // One that was told of before the first capture may be freed after it.
    const auto found = known_.find(pool.of_program);
    return found != known_.end() && found->second.told ? Telling::block : Telling::nobody;
}

}  // namespace streamsan::recorder::cuda
