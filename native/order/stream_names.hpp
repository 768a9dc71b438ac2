// What findings say of streams.
#pragma once
#include <cstdint>
#include <vector>

#include "flat_map.hpp"
#include "operation.hpp"

namespace streamsan::order {

/// What is said of a stream in a finding; many operations share one.
struct StreamName {
    std::uint64_t handle = 0;
    std::uint32_t site = 0;
    StreamKind kind{};
    bool assumed = false;
    std::uint64_t apart = 0;  ///< of one that is assumed, see Stream::apart
    [[nodiscard]] bool of_anyone() const { return assumed && apart == 0; }
    std::uint32_t number = 0;  ///< in the order in which streams became known, from 1; 0: a default stream
};

/// The names, each once, however many streams bore it. Operations keep an index; 0 is the host.
class StreamNames {
public:
    std::uint32_t intern(const StreamName& name) {
        std::uint64_t key = spread(name.handle) ^
                            (std::uint64_t{name.site} << 16 | std::uint64_t{static_cast<std::uint8_t>(name.kind)} << 8 |
                             (name.assumed ? 1U : 0U)) ^
                            spread(name.apart);
        for (;; ++key) {
            const std::uint32_t index = index_.number(key, names_.size());
            if (index == names_.size()) {
                names_.push_back(name);
                if (name.handle > handle::per_thread_default_stream) names_.back().number = ++numbers_;
                return index;
            }
            const StreamName& known = names_[index];
            if (known.handle == name.handle && known.site == name.site && known.kind == name.kind &&
                known.assumed == name.assumed && known.apart == name.apart) {
                return index;
            }
        }
    }
    [[nodiscard]] const StreamName& operator[](std::uint32_t index) const { return names_[index]; }

private:
    std::vector<StreamName> names_ = std::vector<StreamName>(1);
    FlatMap index_;
    std::uint32_t numbers_ = 0;
};

}  // namespace streamsan::order
