// What few allocations have: a record of its own, by process and allocation.
#pragma once
#include <cstdint>
#include <vector>

#include "flat_map.hpp"

namespace streamsan::order {

/// Records keep their index until they are dropped; then it is given to another allocation.
template <class Record>
class AllocationRecords {
public:
    [[nodiscard]] std::uint32_t find(std::uint32_t process, std::uint32_t allocation) const {
        return index_.find(key(process, allocation));
    }
    /// The index of a new record, for an allocation that has none.
    std::uint32_t make(std::uint32_t process, std::uint32_t allocation) {
        std::uint32_t at;
        if (spare_.empty()) {
            at = static_cast<std::uint32_t>(records_.size());
            records_.emplace_back();
        } else {
            at = spare_.back();
            spare_.pop_back();
        }
        index_.set(key(process, allocation), at);
        return at;
    }
    void drop(std::uint32_t process, std::uint32_t allocation) {
        const std::uint32_t at = find(process, allocation);
        if (at == none) return;
        index_.erase(key(process, allocation));
        records_[at] = {};
        spare_.push_back(at);
    }
    [[nodiscard]] Record& operator[](std::uint32_t at) { return records_[at]; }
    [[nodiscard]] const Record& operator[](std::uint32_t at) const { return records_[at]; }
    /// All of them, those that were dropped as new ones.
    [[nodiscard]] std::vector<Record>& all() { return records_; }

private:
    static std::uint64_t key(std::uint32_t process, std::uint32_t allocation) {
        return std::uint64_t{process} << 32 | allocation;
    }
    FlatMap index_;
    std::vector<Record> records_;
    std::vector<std::uint32_t> spare_;
};

}  // namespace streamsan::order
