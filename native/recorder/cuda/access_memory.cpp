#include "recorder/cuda/access_memory.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {
namespace {

constexpr std::size_t staging_bytes = std::size_t{4} << 20;
constexpr std::size_t bytes_of_note = DeviceNotes::words * sizeof(std::uint32_t);
/// Notes of all parts together: so much of the device's memory, between bounds.
constexpr std::size_t share_of_memory = 64;
constexpr std::size_t least_budget = std::size_t{32} << 20, most_budget = std::size_t{2} << 30;
constexpr std::size_t head_alignment = std::size_t{1} << DeviceNotes::launch_bits;

/// How a part is laid out behind its head, from address 0 on; `bytes`: all of it.
DeviceNotes laid_out(std::uint32_t notes, std::size_t& bytes) {
    DeviceNotes layout{};
    layout.note_count = notes;
    layout.record_count = 2 * notes;
    layout.entry_mask = 4 * notes - 1;
    std::size_t at = 256;  // the head
    const auto place = [&at](std::size_t size) {
        const std::size_t here = at;
        at += size;
        return here;
    };
    layout.entries =
        reinterpret_cast<DeviceNotes::Entry*>(place(std::size_t{layout.entry_mask + 1} * sizeof(DeviceNotes::Entry)));
    layout.records = reinterpret_cast<DeviceNotes::Record*>(place(layout.record_count * sizeof(DeviceNotes::Record)));
    layout.bits_of_notes = reinterpret_cast<std::uint32_t*>(place(notes * bytes_of_note));
    bytes = (at + head_alignment - 1) / head_alignment * head_alignment;
    return layout;
}

template <class Pointer>
Pointer moved(Pointer offset, void* by) {
    return reinterpret_cast<Pointer>(reinterpret_cast<std::uintptr_t>(offset) + reinterpret_cast<std::uintptr_t>(by));
}

}  // namespace

bool AccessMemory::allocate(const Sanitizer& api, abi::Word context) {
    constexpr std::uint32_t non_blocking = 1;
    const Driver* const driver = recorder()->driver;
    abi::Word stream = 0;
    if (driver == nullptr || driver->cuStreamCreate == nullptr) return false;
    if (driver->cuStreamCreate(&stream, non_blocking) != abi::success) return false;
    if (api.stream_handle(context, stream, &stream_) != abi::sanitizer_success) return false;
    if (api.allocate_host(context, &staging_, staging_bytes) != abi::sanitizer_success) return false;
    std::size_t unused = 0, memory = 0;
    if (driver->cuMemGetInfo_v2 != nullptr) driver->cuMemGetInfo_v2(&unused, &memory);
    std::size_t budget = std::bit_floor(std::clamp(memory / share_of_memory, least_budget, most_budget));
    for (; budget >= least_budget; budget /= 4) {
        std::size_t bytes = 0;
        const DeviceNotes layout = laid_out(static_cast<std::uint32_t>(budget / parts / bytes_of_note), bytes);
        void* base = nullptr;
        if (api.allocate(context, &base, parts * bytes + head_alignment) != abi::sanitizer_success) continue;
        auto* at = reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(base) + head_alignment - 1) /
                                           head_alignment * head_alignment);
        bool cleared = true;
        for (Head& head : heads_) {
            head.device = at;
            head.layout = layout;
            head.layout.entries = moved(layout.entries, at);
            head.layout.records = moved(layout.records, at);
            head.layout.bits_of_notes = moved(layout.bits_of_notes, at);
            std::memcpy(staging_, &head.layout, sizeof head.layout);
            cleared = cleared && api.fill(at, 0, bytes, stream_) == abi::sanitizer_success &&
                      api.copy_to_device(at, staging_, sizeof head.layout, stream_) == abi::sanitizer_success &&
                      api.stream_synchronize(stream_) == abi::sanitizer_success;
            at += bytes;
        }
        return cleared;
    }
    return false;
}

bool AccessMemory::copy(const Sanitizer& api, void* to, const void* from, std::size_t bytes) {
    auto* next = static_cast<char*>(to);
    auto* source = const_cast<char*>(static_cast<const char*>(from));
    while (bytes != 0) {
        const std::size_t size = std::min(bytes, staging_bytes);
        if (api.copy_to_host(staging_, source, size, stream_) != abi::sanitizer_success) return false;
        std::memcpy(next, staging_, size);
        next += size;
        source += size;
        bytes -= size;
    }
    return true;
}

bool AccessMemory::read(const Sanitizer& api, std::size_t part, ReadNotes& notes) {
    const Head& head = heads_[part];
    DeviceNotes now{};
    if (!copy(api, &now, head.device, sizeof now)) return false;
    const std::uint32_t records = std::min(now.taken, head.layout.record_count);
    const std::uint32_t noted = std::min(records, head.layout.note_count);
    records_.resize(records);
    bits_.resize(std::size_t{noted} * DeviceNotes::words);
    if (!copy(api, records_.data(), head.layout.records, records * sizeof(DeviceNotes::Record))) return false;
    if (!copy(api, bits_.data(), head.layout.bits_of_notes, noted * bytes_of_note)) return false;
    notes = {records_, bits_, now.lost == 0};
    return true;
}

void AccessMemory::clear(const Sanitizer& api, std::size_t part, const ReadNotes& notes) {
    const Head& head = heads_[part];
    constexpr std::size_t counts = 2 * sizeof(std::uint32_t);
    static_assert(offsetof(DeviceNotes, taken) == 0 && offsetof(DeviceNotes, lost) == sizeof(std::uint32_t));
    if (!notes.records.empty()) {
        api.fill(head.layout.entries, 0, std::size_t{head.layout.entry_mask + 1} * sizeof(DeviceNotes::Entry), stream_);
        api.fill(head.layout.records, 0, notes.records.size_bytes(), stream_);
        if (!notes.bits.empty()) api.fill(head.layout.bits_of_notes, 0, notes.bits.size_bytes(), stream_);
    }
    api.fill(head.device, 0, counts, stream_);
    api.stream_synchronize(stream_);
}

}  // namespace streamsan::recorder::cuda
