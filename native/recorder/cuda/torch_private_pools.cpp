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

Telling TorchPrivatePools::freed(TorchPool pool, bool captured) {
    if (pool.of_capture != 0) return Telling::nobody;
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(pool.of_program);
    if (found == known_.end()) return Telling::nobody;
    Known& known = found->second;
    known.captured |= captured;
    if (!known.told) return Telling::nobody;
    return known.captured ? Telling::no_more : Telling::block;
}

}  // namespace streamsan::recorder::cuda
