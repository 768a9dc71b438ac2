// The timelines of host threads and streams.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "clock.hpp"

namespace streamsan::order {

/// Timelines by their number, which is their slot in every clock. They stay where they are.
class Timelines {
public:
    /// Hard bound: what is made beyond it shares one timeline, the last.
    static constexpr std::size_t most = 8192;
    static constexpr std::uint32_t last = most - 1;

    /// A new one, or a retired one of which `creator` (null: nobody) knows all that happened there.
    std::uint32_t make(const Timeline* creator);
    /// Nobody goes on there. The last one is shared, and stays.
    void retire(std::uint32_t index) {
        if (index != last) retired_.push_back({index, list_[index]->tick});
    }
    [[nodiscard]] Timeline& operator[](std::uint32_t index) { return *list_[index]; }
    [[nodiscard]] const Timeline& operator[](std::uint32_t index) const { return *list_[index]; }
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(list_.size()); }
    /// How often the bound was met.
    [[nodiscard]] std::uint64_t shared() const { return shared_; }

private:
    struct Retired {
        std::uint32_t timeline;
        Tick tick;
    };
    std::vector<std::unique_ptr<Timeline>> list_;
    std::vector<Retired> retired_;
    std::uint64_t shared_ = 0;
};

}  // namespace streamsan::order
