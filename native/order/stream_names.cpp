#include "stream_names.hpp"

namespace streamsan::order {

std::uint32_t StreamNames::intern(const StreamName& name) {
    std::uint64_t key =
        spread(name.handle) ^ (std::uint64_t{name.site} << 16 |
                               std::uint64_t{static_cast<std::uint8_t>(name.kind)} << 8 | (name.assumed ? 1U : 0U));
    for (;; ++key) {
        const std::uint32_t index = index_.find(key);
        if (index == none) {
            index_.set(key, static_cast<std::uint32_t>(names_.size()));
            names_.push_back(name);
            if (name.handle > handle::per_thread_default_stream) names_.back().number = ++numbers_;
            return static_cast<std::uint32_t>(names_.size() - 1);
        }
        const StreamName& known = names_[index];
        if (known.handle == name.handle && known.site == name.site && known.kind == name.kind &&
            known.assumed == name.assumed) {
            return index;
        }
    }
}

}  // namespace streamsan::order
