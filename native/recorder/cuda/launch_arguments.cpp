#include "recorder/cuda/launch_arguments.hpp"

#include <algorithm>
#include <cstring>

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

/// Its position, from 1; 0 where there is no room for it.
inline std::size_t LaunchArguments::add(std::uint64_t address, std::uint8_t mode_flags) {
    std::size_t bucket = 0;
    if (mask_ == 0) {
        for (std::size_t at = 1; at <= count_; ++at) {
            if (found_[at].address != address) continue;
            meet_again(found_[at], mode_flags);
            return at;
        }
    } else {
        for (bucket = bucket_of(address) & mask_; index_[bucket] != 0; bucket = (bucket + 1) & mask_) {
            const std::size_t at = index_[bucket];
            if (found_[at].address != address) continue;
            meet_again(found_[at], mode_flags);
            return at;
        }
    }
    if (count_ >= most_further_references) {
        ++left_out_;
        return 0;
    }
    found_[++count_] = {address, 0, mode_flags};
    if (mask_ != 0) index_[bucket] = static_cast<std::uint16_t>(count_);
    if (count_ > few && (mask_ == 0 || count_ == buckets_at_first / 2)) [[unlikely]]
        index_all(mask_ == 0 ? buckets_at_first : buckets_at_most);
    return count_;
}

/// What follows the buffer up to a multiple of `padding` becomes zero.
inline void LaunchArguments::pad() { std::memset(buffer_ + size_ / padding * padding, 0, padding); }

/// Lays the arguments out as the driver does.
inline void LaunchArguments::copy(const Kernel& kernel, void* const* arguments) {
    size_ = kernel.argument_bytes;
    if (kernel.gaps) std::memset(buffer_, 0, size_);
    pad();
    for (const ParameterRoom room : kernel.parameter_rooms()) {
        const void* const value = *arguments++;
        unsigned char* const place = buffer_ + room.offset;
        if (value == nullptr) std::memset(place, 0, room.size);
        else if (room.size == word_bytes) std::memcpy(place, value, word_bytes);
        else if (room.size == sizeof(std::uint32_t)) std::memcpy(place, value, sizeof(std::uint32_t));
        else std::memcpy(place, value, room.size);
    }
}

void LaunchArguments::copy(const unsigned char* buffer, std::size_t size) {
    size_ = buffer == nullptr ? 0 : std::min(size, largest_buffer);
    pad();
    if (size_ != 0) std::memcpy(buffer_, buffer, size_);
}

[[gnu::hot]] inline void LaunchArguments::take(std::size_t offset, std::size_t words, std::uint8_t mode_flags) {
    const AddressMap& memory = recorder()->memory;
    const AddressMap::Window window = memory.window().within(lowest_address, highest_address);
    for (std::size_t at = offset; words != 0; --words, at += word_bytes) {
        const std::uint64_t word = load_word(buffer_ + at);
        if (!window.holds(word) || !memory.marked(word)) continue;
        const std::size_t position = add(word, mode_flags);
        if (position == 0) continue;
        places_[place_count_++] = {static_cast<std::uint16_t>(position - 1), static_cast<std::uint16_t>(at)};
        std::memset(buffer_ + at, 0, word_bytes);
    }
}

/// Looks at them where the caller has them: the buffer is not known, or its other words are not kept. Where the layout
/// is not known, the kernel's name tells which parameters are pointers, but not their places.
void LaunchArguments::take_outside(const Kernel& kernel, void* const* arguments) {
    const AddressMap& memory = recorder()->memory;
    const AddressMap::Window window = memory.window().within(lowest_address, highest_address);
    for (const ArgumentWords& each : kernel.argument_words()) {
        const auto* const value = static_cast<const unsigned char*>(arguments[each.parameter]);
        for (std::size_t at = 0; value != nullptr && at < each.count; ++at) {
            const std::uint64_t word = load_word(value + each.first + at * word_bytes);
            if (!window.holds(word) || !memory.marked(word)) continue;
            const std::size_t position = add(word, each.mode_flags);
            if (position == 0 || !kernel.layout_known) continue;
            places_[place_count_++] = {static_cast<std::uint16_t>(position - 1),
                                       static_cast<std::uint16_t>(each.buffer + at * word_bytes)};
        }
    }
}

void LaunchArguments::collect(const unsigned char* buffer, std::size_t size, std::uint8_t mode_flags) {
    copy(buffer, size);
    take(0, size_ / word_bytes, mode_flags);
}

STREAMSAN_LAUNCH_PATH void LaunchArguments::collect(const Kernel& kernel, void* const* arguments, void* const* extra) {
    if (arguments != nullptr) {
        if (!kernel.layout_known || kernel.arguments_vary.load(std::memory_order_relaxed))
            return take_outside(kernel, arguments);
        copy(kernel, arguments);
    } else {
        const ExtraBuffer given = extra == nullptr ? ExtraBuffer{} : buffer_in(extra);
        if (!kernel.layout_known) return collect(given.bytes, given.size, conditional_flag);
        // The buffer may end inside a parameter, which is then set in part (NCCL).
        copy(given.bytes, std::min<std::size_t>(given.size, kernel.argument_bytes));
    }
    for (const ArgumentWords& each : kernel.argument_words()) {
        if (each.buffer < size_)
            take(each.buffer, std::min<std::size_t>(each.count, (size_ - each.buffer) / word_bytes), each.mode_flags);
    }
}

}  // namespace streamsan::recorder::cuda
