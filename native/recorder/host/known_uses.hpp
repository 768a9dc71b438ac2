// How often each use of a buffer was looked at: what is done thousands of times is not looked at each time.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace streamsan::recorder::host {

/// By buffer and call site. A fault costs microseconds, and a loop may have a million. After `always` noted accesses of
/// one use at one place every second one is looked at, after as many more every fourth, and so on: never less than one
/// in `rarest`.
class KnownUses {
public:
    static constexpr std::uint32_t always = 256;
    static constexpr std::uint32_t rarest = 256;

    /// The number of a use, for `noted`. Sets whether it is to be looked at now.
    std::uint32_t look(std::uint64_t begin, std::uint64_t end, std::uint32_t site, bool& now) noexcept {
        std::uint64_t key = (begin ^ end << 20 ^ std::uint64_t{site} << 40) * 0x9e3779b97f4a7c15;
        key |= 1;
        const auto place = static_cast<std::uint32_t>(key >> 52);
        Known& known = known_[place];
        // Another use had the place: it begins anew, and is looked at more often than it need be.
        if (known.key != key) known = {key, 0, 0};
        const std::uint32_t steps = std::min<std::uint32_t>(known.noted / always, 8);
        now = known.seen++ % std::min(1U << steps, rarest) == 0;
        return place;
    }
    void noted(std::uint32_t number) noexcept { ++known_[number].noted; }

private:
    struct Known {
        std::uint64_t key;
        std::uint32_t seen;
        std::uint32_t noted;
    };
    std::array<Known, 4096> known_{};
};

}  // namespace streamsan::recorder::host
