#include "sync_keys.hpp"

namespace streamsan::order {

SyncKey& SyncKeys::at(std::uint64_t key) {
    std::uint32_t index = index_.find(key);
    if (index == none) {
        constexpr std::size_t most_keys = 16384;
        if (keys_.size() >= most_keys) {
            for (const SyncKey& old : keys_) forgotten_.join(old.clock, run_edge);
            keys_.clear();
            index_.clear();
        }
        index = static_cast<std::uint32_t>(keys_.size());
        keys_.emplace_back();
        index_.set(key, index);
    }
    return keys_[index];
}

}  // namespace streamsan::order
