#include "recorder/cuda/arrays.hpp"

#include <algorithm>
#include <new>

#include "generated/vocabulary.hpp"
#include "recorder/cuda/extents.hpp"

namespace streamsan::recorder::cuda {
namespace {

constexpr std::uint64_t gap = 1U << 21;
constexpr std::uint64_t largest_array = std::uint64_t{1} << 44;

std::uint64_t at_least_one(std::size_t extent) { return std::max<std::uint64_t>(extent, 1); }

/// The bytes of one level, 0 if they make no sense.
std::uint64_t bytes(std::uint64_t width, std::uint64_t height, std::uint64_t depth, std::uint64_t element) {
    const std::uint64_t all = product(product(product(width, height), depth), element);
    return all > largest_array ? 0 : all;
}

}  // namespace

std::uint64_t format_bytes(std::uint32_t format) {
    switch (format) {
        case 0x01:
        case 0x08: return 1;
        case 0x02:
        case 0x09:
        case 0x10: return 2;
        case 0x03:
        case 0x0a:
        case 0x20: return 4;
        default: return 0;
    }
}

ArrayPlace Arrays::add(abi::Word handle, const abi::ArrayDescriptor& description, unsigned levels,
                       std::uint64_t context) {
    ArrayPlace place;
    place.element = format_bytes(description.format) * std::min<std::uint64_t>(description.channels, 16);
    std::uint64_t width = at_least_one(description.width);
    std::uint64_t height = at_least_one(description.height);
    std::uint64_t depth = at_least_one(description.depth);
    place.row = bytes(width, 1, 1, place.element);
    place.slice = bytes(width, height, 1, place.element);
    constexpr std::uint32_t layered = 1;
    constexpr unsigned most_levels = 64;
    for (unsigned level = 0; level < std::min(levels, most_levels); ++level) {
        const std::uint64_t more = bytes(width, height, depth, place.element);
        if (more == 0 || place.size > largest_array) {
            place = {};
            break;
        }
        place.size += more;
        width = std::max<std::uint64_t>(width / 2, 1);
        height = std::max<std::uint64_t>(height / 2, 1);
        if ((description.flags & layered) == 0) depth = std::max<std::uint64_t>(depth / 2, 1);
    }
    const std::lock_guard lock(mutex_);
    place.base = next_;
    next_ += (place.size + 2 * gap - 1) / gap * gap;
    Known known;
    known.place = place;
    known.context = context;
    known_[handle] = known;
    return place;
}

void Arrays::add_part(abi::Word handle, abi::Word whole) {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(whole);
    if (found == known_.end() || handle == whole) return;
    Known part = found->second;
    part.part = true;
    part.place = {part.place.base, 0, 0, 0, 0};
    known_[handle] = part;
}

std::optional<ArrayPlace> Arrays::find(abi::Word handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(handle);
    return found == known_.end() ? std::nullopt : std::optional(found->second.place);
}

void Arrays::set_sequence(abi::Word handle, const Slot& slot) {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(handle);
    if (found == known_.end()) return;
    found->second.sequence = slot.sequence;
    found->second.site = slot.site;
    found->second.thread = slot.thread;
}

void Arrays::remove(abi::Word handle) {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(handle); found != known_.end()) found->second.alive = false;
}

void Arrays::restore(abi::Word handle) {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(handle); found != known_.end()) found->second.alive = true;
}

void Arrays::lose_context(std::uint64_t context) {
    const std::lock_guard lock(mutex_);
    for (auto& [handle, known] : known_) {
        if (known.context == context) known.alive = false;
    }
}

void Arrays::restate(Lane& lane) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [handle, known] : known_) {
        if (!known.alive || known.part) continue;
        Slot* const slot = lane.reserve(0);
        if (slot == nullptr) return;
        slot->kind = static_cast<std::uint8_t>(OperationKind::ALLOC);
        slot->detail = static_cast<std::uint8_t>(MemoryKind::ARRAY);
        slot->address = known.place.base;
        slot->size = known.place.size;
        slot->sequence = known.sequence;
        slot->site = known.site;
        slot->thread = known.thread;
        lane.commit();
    }
}

void Arrays::after_fork() {
    new (&mutex_) std::mutex;  // another thread of the parent may have held it
}

Arrays& arrays() {
    static auto* const all = new Arrays;
    return *all;
}

}  // namespace streamsan::recorder::cuda
