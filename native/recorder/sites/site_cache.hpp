// Call stacks seen before, and their sites. One for each thread: no lock.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace streamsan::recorder::call_sites {

/// Maps a stack (some words) to a site id. Bounded: when it is full it is emptied.
class SiteCache {
public:
    static constexpr std::uint32_t none = 0xffffffff;

    /// Multiplications of different words do not wait for each other; only a rotation does.
    [[nodiscard]] static std::uint64_t hash_of(const std::uint64_t* words, unsigned count) noexcept {
        std::uint64_t hash = count;
        for (unsigned index = 0; index < count; ++index) {
            const std::uint64_t mixed = words[index] * 0x9e3779b97f4a7c15;
            hash = std::rotl(hash, 7) ^ mixed ^ mixed >> 32;
        }
        hash *= 0xff51afd7ed558ccd;
        return hash ^ hash >> 32;
    }

    [[nodiscard]] std::uint32_t find(const std::uint64_t* words, unsigned count, std::uint64_t hash) const noexcept {
        if (buckets_.empty()) return none;
        for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
            const Bucket& bucket = buckets_[at];
            if (bucket.count == 0) return none;
            if (bucket.hash == hash && bucket.count == count &&
                std::equal(words, words + count, words_.data() + bucket.first))
                return bucket.site;
        }
    }

    void put(const std::uint64_t* words, unsigned count, std::uint64_t hash, std::uint32_t site) {
        if (used_ > buckets / 2 || words_.size() + count > words_at_most) clear();
        if (buckets_.empty()) buckets_.resize(buckets);
        std::size_t at = hash & mask;
        while (buckets_[at].count != 0) at = (at + 1) & mask;
        buckets_[at] = {hash, static_cast<std::uint32_t>(words_.size()), count, site};
        words_.insert(words_.end(), words, words + count);
        ++used_;
    }

    void clear() {
        buckets_.clear();
        words_.clear();
        used_ = 0;
    }

private:
    struct Bucket {
        std::uint64_t hash = 0;
        std::uint32_t first = 0;  // of its words
        std::uint32_t count = 0;  // 0: empty
        std::uint32_t site = 0;
    };
    static constexpr std::size_t buckets = 4096;
    static constexpr std::size_t mask = buckets - 1;
    static constexpr std::size_t words_at_most = 65536;
    std::vector<Bucket> buckets_;
    std::vector<std::uint64_t> words_;
    std::size_t used_ = 0;
};

}  // namespace streamsan::recorder::call_sites
