// What is handed on between host threads and the bodies of host functions, by key.
#pragma once
#include <cstdint>
#include <vector>

#include "clock.hpp"
#include "flat_map.hpp"
#include "operation.hpp"

namespace streamsan::order {

/// What was released under a key.
struct SyncKey {
    Clock clock;
    Operation callback;        ///< what registered the callback whose body runs under it; no sequence: none
    bool of_callback = false;  ///< a runtime calls the body that runs under it, on any thread
    Epoch function;            ///< the host function whose body runs under it; tick 0: none
};

/// The keys in use. They have no end of life: old ones are folded into one clock.
class SyncKeys {
public:
    /// The key, made when it is new.
    SyncKey& at(std::uint64_t key) {
        constexpr std::size_t most_keys = 16384;
        if (keys_.size() >= most_keys && index_.find(key) == none) {
            for (const SyncKey& old : keys_) forgotten_.join(old.clock, run_edge);
            keys_.clear();
            index_.clear();
        }
        const std::uint32_t index = index_.number(key, keys_.size());
        if (index == keys_.size()) keys_.emplace_back();
        return keys_[index];
    }
    [[nodiscard]] const SyncKey* find(std::uint64_t key) const {
        const std::uint32_t index = index_.find(key);
        return index == none ? nullptr : &keys_[index];
    }
    /// What was released under keys that are forgotten: it stands for a run edge from all of them.
    [[nodiscard]] const Clock& forgotten() const { return forgotten_; }

private:
    FlatMap index_;
    std::vector<SyncKey> keys_;
    Clock forgotten_;
};

}  // namespace streamsan::order
