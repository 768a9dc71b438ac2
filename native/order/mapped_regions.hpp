// Regions of OpenCL memory that are mapped for the host: commands must keep away from them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "operation.hpp"

namespace streamsan::order {

/// One map that has no unmap yet.
struct MappedRegion {
    std::uint64_t pointer = 0;  ///< that the host got
    std::uint64_t begin = 0;    ///< of the region, in the memory object
    std::uint64_t end = 0;
    AccessMode mode = AccessMode::OPAQUE;  ///< what the host may do there
    Operation made;
    bool reported = false;
};

/// The maps of a process, the latest last.
class MappedRegions {
public:
    [[nodiscard]] bool empty() const { return regions_.empty(); }
    void add(const MappedRegion& region) {
        if (regions_.size() >= most) regions_.erase(regions_.begin());
        regions_.push_back(region);
    }
    /// Ends the latest map that gave the pointer; whether there was one.
    bool end(std::uint64_t pointer) {
        for (std::size_t i = regions_.size(); i-- > 0;) {
            if (regions_[i].pointer != pointer) continue;
            regions_.erase(regions_.begin() + static_cast<std::ptrdiff_t>(i));
            return true;
        }
        return false;
    }
    [[nodiscard]] bool has(std::uint64_t pointer) const {
        for (const MappedRegion& each : regions_) {
            if (each.pointer == pointer) return true;
        }
        return false;
    }
    [[nodiscard]] std::vector<MappedRegion>& list() { return regions_; }

private:
    static constexpr std::size_t most = 4096;
    std::vector<MappedRegion> regions_;
};

}  // namespace streamsan::order
