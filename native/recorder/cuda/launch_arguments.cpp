#include "recorder/cuda/launch_arguments.hpp"

#include <algorithm>
#include <cstring>

#include "recorder/cuda/argument_variance.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/launch_path.hpp"

namespace streamsan::recorder::cuda {
namespace {

constexpr std::size_t word_bytes = 8;
constexpr std::uint8_t mode_bits = 3;
/// Of user space on all systems of CUDA.
constexpr std::uint64_t lowest_address = 1U << 16;
constexpr std::uint64_t highest_address = (std::uint64_t{1} << 57) - 1;

std::uint64_t load_word(const unsigned char* at) {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

std::size_t bucket_of(std::uint64_t address) {
    return static_cast<std::size_t>((address ^ address >> 32) * 0x9E3779B97F4A7C15U >> 32);
}

/// The buffer that `extra` of a launch has.
struct ExtraBuffer {
    const unsigned char* bytes = nullptr;
    std::size_t size = 0;
};

ExtraBuffer buffer_in(void* const* extra) {
    // CU_LAUNCH_PARAM_END, _BUFFER_POINTER, _BUFFER_SIZE: pairs of what it is and where, until the end.
    constexpr std::uintptr_t end_mark = 0;
    constexpr std::uintptr_t pointer_mark = 1;
    constexpr std::uintptr_t size_mark = 2;
    constexpr int most_pairs = 8;
    ExtraBuffer found;
    for (int pair = 0; pair < most_pairs; ++pair, extra += 2) {
        const auto mark = reinterpret_cast<std::uintptr_t>(extra[0]);
        if (mark == pointer_mark) {
            found.bytes = static_cast<const unsigned char*>(extra[1]);
        } else if (mark == size_mark) {
            if (extra[1] != nullptr) std::memcpy(&found.size, extra[1], sizeof found.size);
        } else {
            if (mark != end_mark) return {};  // not what any published version knows
            break;
        }
    }
    return found;
}

/// Which words may be addresses of memory. Most are small numbers: four are tried at once.
class Candidates {
public:
    Candidates() : memory_(recorder()->memory), window_(memory_.window().within(lowest_address, highest_address)) {}

    [[nodiscard]] bool holds(std::uint64_t word) const { return window_.holds(word) && memory_.marked(word); }

    /// Calls `visit(index, word)` for those of `count` words in a row.
    template <class Visit>
    void each(const unsigned char* words, std::size_t count, const Visit& visit) const {
        constexpr std::size_t step = 4;
        std::size_t index = 0;
        for (; index + step <= count; index += step) {
            std::uint64_t nearest = ~std::uint64_t{0};
            for (std::size_t each = 0; each < step; ++each)
                nearest = std::min(nearest, load_word(words + (index + each) * word_bytes) - window_.lowest);
            if (nearest > window_.extent) continue;
            for (std::size_t each = 0; each < step; ++each) visit_one(words, index + each, visit);
        }
        for (; index < count; ++index) visit_one(words, index, visit);
    }

private:
    template <class Visit>
    void visit_one(const unsigned char* words, std::size_t index, const Visit& visit) const {
        const std::uint64_t word = load_word(words + index * word_bytes);
        if (holds(word)) visit(index, word);
    }

    const AddressMap& memory_;
    AddressMap::Window window_;
};

/// Of a parameter, where its bytes are those of another launch.
inline bool same_bytes(const unsigned char* one, const unsigned char* other, std::size_t size) {
    const auto same = [&]<class Word>(Word) {
        Word first, second;
        std::memcpy(&first, one, sizeof(Word));
        std::memcpy(&second, other, sizeof(Word));
        return first == second;
    };
    if (size == sizeof(std::uint32_t)) return same(std::uint32_t{});
    if (size == sizeof(std::uint64_t)) return same(std::uint64_t{});
    return std::memcmp(one, other, size) == 0;
}

}  // namespace

void LaunchArguments::meet_again(Reference& known, std::uint8_t mode_flags) {
    // What is sure to be an argument comes first; a leftover on the stack adds nothing to it.
    const bool less_sure = (mode_flags & conditional_flag) != 0 && (known.mode_flags & conditional_flag) == 0;
    if (less_sure || (known.mode_flags & mode_bits) == (mode_flags & mode_bits)) return;
    known.mode_flags =
        static_cast<std::uint8_t>((known.mode_flags & ~mode_bits) | static_cast<std::uint8_t>(AccessMode::OPAQUE));
}

[[gnu::noinline]] void LaunchArguments::index_all(std::size_t buckets) {
    std::memset(index_, 0, buckets * sizeof *index_);
    mask_ = buckets - 1;
    for (std::size_t each = 1; each <= count_; ++each) {
        std::size_t bucket = bucket_of(found_[each].address) & mask_;
        while (index_[bucket] != 0) bucket = (bucket + 1) & mask_;
        index_[bucket] = static_cast<std::uint16_t>(each);
    }
}

/// Its position, from 1; 0: it is not there, and belongs in `bucket`.
[[gnu::always_inline]] inline std::size_t LaunchArguments::position_of(std::uint64_t address,
                                                                       std::size_t& bucket) const {
    if (mask_ == 0) {
        std::size_t at = count_;
        while (at != 0 && found_[at].address != address) --at;
        return at;
    }
    for (bucket = bucket_of(address) & mask_; index_[bucket] != 0; bucket = (bucket + 1) & mask_)
        if (found_[index_[bucket]].address == address) return index_[bucket];
    return 0;
}

/// One that is not there. There is room.
[[gnu::always_inline]] inline void LaunchArguments::append(std::uint64_t address, std::uint8_t mode_flags,
                                                           std::size_t bucket) {
    found_[++count_] = {address, 0, mode_flags};
    if (mask_ != 0) index_[bucket] = static_cast<std::uint16_t>(count_);
    else if (count_ <= few) [[likely]] return;
    if (mask_ == 0 || count_ == buckets_at_first / 2) [[unlikely]]
        index_all(mask_ == 0 ? buckets_at_first : buckets_at_most);
}

/// Its position, from 1; 0 where there is no room for it.
std::size_t LaunchArguments::add(std::uint64_t address, std::uint8_t mode_flags) {
    std::size_t bucket = 0;
    if (const std::size_t at = position_of(address, bucket); at != 0) {
        meet_again(found_[at], mode_flags);
        return at;
    }
    if (count_ >= most_further_references) {
        ++left_out_;
        return 0;
    }
    append(address, mode_flags, bucket);
    return count_;
}

/// As `add`, where the address has this position, from 0. Else false.
[[gnu::always_inline]] inline bool LaunchArguments::add_expected(std::uint64_t address, std::uint8_t mode_flags,
                                                                 std::size_t position) {
    if (position < count_) {
        Reference& known = found_[position + 1];
        if (known.address != address) return false;
        meet_again(known, mode_flags);
        return true;
    }
    std::size_t bucket = 0;
    if (position != count_ || count_ >= most_further_references || position_of(address, bucket) != 0) return false;
    append(address, mode_flags, bucket);
    return true;
}

/// What follows the buffer up to a multiple of `padding` becomes zero.
inline void LaunchArguments::pad() { std::memset(buffer_ + size_ / padding * padding, 0, padding); }

/// Lays the arguments out as the driver does.
void LaunchArguments::copy(const Kernel& kernel, void* const* arguments) {
    size_ = kernel.argument_bytes;
    if (kernel.gaps) std::memset(buffer_, 0, size_);
    pad();
    for (const Parameter& parameter : kernel.parameters()) {
        const void* const value = arguments[parameter.index];
        if (value == nullptr) std::memset(buffer_ + parameter.offset, 0, parameter.size);
        else std::memcpy(buffer_ + parameter.offset, value, parameter.size);
    }
}

void LaunchArguments::copy(const unsigned char* buffer, std::size_t size) {
    size_ = buffer == nullptr ? 0 : std::min(size, largest_buffer);
    pad();
    if (size_ != 0) std::memcpy(buffer_, buffer, size_);
}

void LaunchArguments::add_at(std::size_t offset, std::uint64_t address, std::uint8_t mode_flags) {
    if (const std::size_t position = add(address, mode_flags); position != 0)
        places_[place_count_++] = {static_cast<std::uint16_t>(position - 1), static_cast<std::uint16_t>(offset)};
}

/// Of the buffer. What is an address becomes zero.
void LaunchArguments::take(std::size_t offset, std::size_t words, std::uint8_t mode_flags) {
    Candidates().each(buffer_ + offset, words, [&](std::size_t index, std::uint64_t word) {
        add_at(offset + index * word_bytes, word, mode_flags);
    });
}

/// Looks at them where the caller has them: the buffer is not known, or its other words are not kept. Where the layout
/// is not known, the kernel's name tells which parameters are pointers, but not their places.
void LaunchArguments::take_outside(const Kernel& kernel, void* const* arguments) {
    const Candidates candidates;
    for (const Parameter& parameter : kernel.parameters()) {
        const auto* const value = static_cast<const unsigned char*>(arguments[parameter.index]);
        if (value == nullptr || parameter.words == 0) continue;
        candidates.each(value + parameter.first, parameter.words, [&](std::size_t index, std::uint64_t word) {
            if (kernel.layout_known)
                add_at(parameter.offset + parameter.first + index * word_bytes, word, parameter.mode_flags);
            else add(word, parameter.mode_flags);
        });
    }
}

void LaunchArguments::zero_places() {
    for (const PackedPlace* place = places_; place != places_ + place_count_; ++place) {
        const std::size_t begin = place->offset;
        if (place->reference != not_told) std::memset(buffer_ + begin, 0, word_bytes);
        else std::memset(buffer_ + begin, 0, (++place)->offset - begin);
    }
}

/// The leftovers of a large structure: which of them are addresses differs, too, and says little.
void LaunchArguments::leave_for_late(const Parameter& parameter, std::span<const ArgumentRun> runs) {
    const Candidates candidates;
    for (const ArgumentRun& run : runs) {
        if (run.begin >= size_) break;
        const std::size_t end = std::min<std::size_t>(run.end, size_);
        const std::size_t first = std::max<std::size_t>(run.begin, parameter.offset + std::size_t{parameter.first});
        if (first < end)
            candidates.each(buffer_ + first, (end - first) / word_bytes,
                            [&](std::size_t, std::uint64_t word) { late_[late_count_++] = word; });
        std::memset(buffer_ + run.begin, 0, end - run.begin);
    }
}

/// Tells the runs of one parameter among its places. One that is an address now, and surely an argument, is told.
void LaunchArguments::put_runs(std::span<const ArgumentRun> runs, std::size_t first_place) {
    const std::size_t last_place = place_count_;
    const auto put = [&](std::size_t begin, std::size_t end) {
        if (begin >= end) return;
        for (const std::size_t offset : {begin, end})
            places_[place_count_++] = {not_told, static_cast<std::uint16_t>(offset)};
    };
    for (const ArgumentRun& run : runs) {
        std::size_t begin = run.begin;
        const std::size_t end = std::min<std::size_t>(run.end, size_);
        for (std::size_t at = first_place; at < last_place; ++at) {
            const std::size_t offset = places_[at].offset;
            if (offset < begin || offset >= end) continue;
            put(begin, offset);
            begin = offset + word_bytes;
        }
        put(begin, end);
    }
    // A run ends before the place behind it.
    std::sort(places_ + first_place, places_ + place_count_, [](const PackedPlace one, const PackedPlace other) {
        return one.offset != other.offset ? one.offset < other.offset : one.reference > other.reference;
    });
}

bool LaunchArguments::has_address(const unsigned char* bytes, std::size_t size) {
    bool found = false;
    Candidates().each(bytes, size / word_bytes, [&](std::size_t, std::uint64_t) { found = true; });
    return found;
}

void LaunchArguments::add_late() {
    for (std::size_t at = 0; at < late_count_; ++at)
        add(late_[at], static_cast<std::uint8_t>(AccessMode::OPAQUE) | conditional_flag);
}

void LaunchArguments::collect(const unsigned char* buffer, std::size_t size, std::uint8_t mode_flags) {
    copy(buffer, size);
    take(0, size_ / word_bytes, mode_flags);
    zero_places();
}

void LaunchArguments::collect(const Kernel& kernel, void* const* arguments, void* const* extra) {
    clear();
    growth_ = recorder()->memory.growth();
    variance_ = kernel.variance.load(std::memory_order_acquire);
    if (arguments != nullptr) {
        const bool all_vary = variance_ != nullptr && variance_->round == ArgumentVariance::all_vary;
        if (!kernel.layout_known || all_vary) return take_outside(kernel, arguments);
        copy(kernel, arguments);
    } else {
        const ExtraBuffer given = extra == nullptr ? ExtraBuffer{} : buffer_in(extra);
        if (!kernel.layout_known) return collect(given.bytes, given.size, conditional_flag);
        // The buffer may end inside a parameter, which is then set in part (NCCL).
        copy(given.bytes, std::min<std::size_t>(given.size, kernel.argument_bytes));
    }
    std::span<const ArgumentRun> runs;
    if (variance_ != nullptr) runs = variance_->runs;
    std::size_t number = 0;
    for (const Parameter& parameter : kernel.parameters()) {
        std::size_t count = 0;
        while (count < runs.size() && runs[count].parameter == number) ++count;
        const std::span<const ArgumentRun> own = runs.first(count);
        runs = runs.subspan(count);
        ++number;
        const std::size_t begin = parameter.offset + parameter.first, before = place_count_;
        if (count != 0 && (parameter.mode_flags & conditional_flag) != 0) leave_for_late(parameter, own);
        if (begin < size_)
            take(begin, std::min<std::size_t>(parameter.words, (size_ - begin) / word_bytes), parameter.mode_flags);
        if (count != 0) put_runs(own, before);
    }
    zero_places();
    add_late();
}

/// Bytes of a parameter that are not told. False where one of them is an address now that is to be told.
[[gnu::hot]] inline bool LaunchArguments::pass_over(const Parameter& parameter, const unsigned char* value,
                                                    std::size_t begin, std::size_t end) {
    const std::size_t first = std::max<std::size_t>(begin, parameter.first), before = late_count_;
    if (first < end)
        Candidates().each(value + first, (end - first) / word_bytes,
                          [&](std::size_t, std::uint64_t word) { late_[late_count_++] = word; });
    return late_count_ == before || (parameter.mode_flags & conditional_flag) != 0;
}

STREAMSAN_LAUNCH_PATH bool LaunchArguments::follow(const Kernel& kernel, void* const* arguments,
                                                   const ArgumentPattern& pattern) {
    clear();
    const Candidates candidates;
    const PackedPlace* place = pattern.places.data();
    const PackedPlace* const last = place + pattern.places.size();
    for (const Parameter& parameter : kernel.parameters()) {
        const auto* const value = static_cast<const unsigned char*>(arguments[parameter.index]);
        if (value == nullptr) return false;
        const unsigned char* const expected = pattern.buffer + parameter.offset;
        std::size_t at = 0;
        const auto as_expected = [&](std::size_t end) {
            if (end == at || same_bytes(value + at, expected + at, end - at)) [[likely]]
                return true;
            difference_ = {parameter.offset + at, end - at};
            return false;
        };
        for (; place != last; ++place) {
            const std::size_t offset = place->offset - std::size_t{parameter.offset};
            if (offset >= parameter.size) break;  // of another parameter
            if (!as_expected(offset)) return false;
            if (place->reference == not_told) [[unlikely]] {
                at = (++place)->offset - std::size_t{parameter.offset};
                if (!pass_over(parameter, value, offset, at)) return false;
                continue;
            }
            const std::uint64_t word = load_word(value + offset);
            if (!candidates.holds(word) || !add_expected(word, parameter.mode_flags, place->reference)) return false;
            at = offset + word_bytes;
        }
        if (!as_expected(parameter.size)) return false;
    }
    if (place != last) return false;
    if (late_count_ != 0) [[unlikely]]
        add_late();
    return true;
}

}  // namespace streamsan::recorder::cuda
