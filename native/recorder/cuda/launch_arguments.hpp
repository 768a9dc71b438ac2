// What one launch or kernel node is given: its argument buffer, and the addresses among the arguments.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "recorder/cuda/call.hpp"
#include "recorder/cuda/kernels.hpp"
#include "recorder/trace_writer/file_format.hpp"

namespace streamsan::recorder::cuda {

struct ArgumentRun;  // argument_variance.hpp

/// What a launch of a kernel was given, but for addresses: `places` in the order of its parameters, and the buffer.
struct ArgumentPattern {
    std::span<const PackedPlace> places;
    const unsigned char* buffer;
};

/// The addresses are those that lie in memory that is or was allocated, each once. One of these is used again and again
/// by a thread: it is too large for the stack of a small one.
class LaunchArguments {
public:
    LaunchArguments() { found_[0] = {}; }  // its arrays stay as they are: most launches need little of them

    /// Of a launch of this kernel: `arguments` is `kernelParams`, `extra` the other way to pass them; either may be
    /// null.
    void collect(const Kernel& kernel, void* const* arguments, void* const* extra);
    /// As `collect`, without the buffer, where the arguments are those of the pattern, but for addresses. Else false:
    /// then they are to be collected. No copy is made, and only words at the pattern's places, or not told, are looked
    /// up: the others were seen not to be addresses (`growth`).
    [[nodiscard]] bool follow(const Kernel& kernel, void* const* arguments, const ArgumentPattern& pattern);
    /// Bytes of the buffer in which the last `follow` found other values; none where it failed by something else.
    struct Difference {
        std::size_t begin = 0;
        std::size_t size = 0;
    };
    [[nodiscard]] Difference difference() const { return difference_; }
    /// A whole argument buffer, without any layout: every word may be an address.
    void collect(const unsigned char* buffer, std::size_t size, std::uint8_t mode_flags);

    [[nodiscard]] const Reference* references() const { return found_ + 1; }
    /// One more than `count`: the first is empty.
    [[nodiscard]] const Reference* references_after_empty() const { return found_; }
    [[nodiscard]] std::size_t count() const { return count_; }
    [[nodiscard]] std::size_t left_out() const { return left_out_; }  ///< for lack of room
    /// Where the references stand in the buffer, and which bytes of it are not told; in the order of the parameters.
    /// Addresses among leftovers that are not told have no place: they come last.
    [[nodiscard]] std::span<const PackedPlace> places() const { return {places_, place_count_}; }
    /// The argument buffer, in which the words that are references, and bytes that are not told, are zero; empty where
    /// it is not known. Zeros follow it up to a multiple of 32 bytes.
    [[nodiscard]] std::span<const unsigned char> buffer() const { return {buffer_, size_}; }
    /// Of the memory, when the arguments were looked through (AddressMap::growth).
    [[nodiscard]] std::uint32_t growth() const { return growth_; }
    /// Of the kernel, as it was known then.
    [[nodiscard]] const ArgumentVariance* variance() const { return variance_; }
    /// The last `follow` found addresses among bytes that are not told.
    [[nodiscard]] bool has_leftovers() const { return late_count_ != 0; }
    /// These are the references: of a launch that was given the same. Its buffer is not kept.
    void take(std::span<const Reference> references) {
        clear();
        count_ = references.size();
        std::copy(references.begin(), references.end(), found_ + 1);
    }
    /// Whether one of the words from here on, as many as are whole, may be an address of memory.
    [[nodiscard]] static bool has_address(const unsigned char* bytes, std::size_t size);
    void clear() {
        count_ = left_out_ = mask_ = place_count_ = size_ = late_count_ = 0;
        variance_ = nullptr;
        difference_ = {};
    }

private:
    void copy(const Kernel& kernel, void* const* arguments);
    void copy(const unsigned char* buffer, std::size_t size);
    void take(std::size_t offset, std::size_t words, std::uint8_t mode_flags);
    void take_outside(const Kernel& kernel, void* const* arguments);
    void zero_places();
    void leave_for_late(const Parameter& parameter, std::span<const ArgumentRun> runs);
    void put_runs(std::span<const ArgumentRun> runs, std::size_t first_place);
    bool pass_over(const Parameter& parameter, const unsigned char* value, std::size_t begin, std::size_t end);
    void add_late();
    [[nodiscard]] std::size_t position_of(std::uint64_t address, std::size_t& bucket) const;
    void append(std::uint64_t address, std::uint8_t mode_flags, std::size_t bucket);
    std::size_t add(std::uint64_t address, std::uint8_t mode_flags);
    bool add_expected(std::uint64_t address, std::uint8_t mode_flags, std::size_t position);
    void add_at(std::size_t offset, std::uint64_t address, std::uint8_t mode_flags);
    void meet_again(Reference& known, std::uint8_t mode_flags);
    void index_all(std::size_t buckets);
    void pad();

    static constexpr std::size_t few = 8;  // looked through one by one
    static constexpr std::size_t buckets_at_first = 256;
    static constexpr std::size_t buckets_at_most = 2048;
    static constexpr std::size_t padding = 32;
    std::size_t count_ = 0;
    std::size_t left_out_ = 0;
    std::size_t mask_ = 0;  // buckets in use, less one; 0: only a few
    std::size_t place_count_ = 0;
    std::size_t size_ = 0;
    std::uint32_t growth_ = 0;
    const ArgumentVariance* variance_ = nullptr;
    std::size_t late_count_ = 0;
    Difference difference_;
    alignas(64) Reference found_[1 + most_further_references];
    std::uint16_t index_[buckets_at_most];               // position in `found_`, 0: none
    PackedPlace places_[3 * largest_buffer / 8 + 2048];  // two for each run, which a place may cut in two
    std::uint64_t late_[largest_buffer / 8];             // addresses among leftovers that are not told
    alignas(64) unsigned char buffer_[largest_buffer + padding];
};

}  // namespace streamsan::recorder::cuda
