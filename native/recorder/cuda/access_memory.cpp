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
constexpr std::size_t head_alignment = std::size_t{1} << DeviceNotes::head_alignment_log2;
constexpr std::uint32_t entries_of_note = 4, records_of_note = 2;

constexpr std::size_t bytes_of_entries(std::uint32_t notes) {
    return std::size_t{entries_of_note} * notes * sizeof(DeviceNotes::Entry);
}

/// A head with its entries, notes and records behind it.
constexpr std::size_t bytes_of_part(std::uint32_t notes) {
    const std::size_t bytes = sizeof(DeviceNotes) + bytes_of_entries(notes) + notes * bytes_of_note +
                              std::size_t{records_of_note} * notes * sizeof(DeviceNotes::Record);
    return (bytes + head_alignment - 1) / head_alignment * head_alignment;
}
static_assert(most_budget / AccessMemory::parts / bytes_of_note <=
              (std::uint64_t{1} << 32) / DeviceNotes::bits);  // the patch counts bits in 32

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
        const auto notes = static_cast<std::uint32_t>(budget / parts / bytes_of_note);
        const std::size_t bytes = bytes_of_part(notes);
        void* base = nullptr;
        if (api.allocate(context, &base, parts * bytes + head_alignment) != abi::sanitizer_success) continue;
        auto* at = reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(base) + head_alignment - 1) /
                                           head_alignment * head_alignment);
        entries_log2_ = static_cast<unsigned>(std::countr_zero(entries_of_note * notes));
        bool cleared = true;
        for (Part& part : parts_) {
            part.head = at;
            const auto head_address = reinterpret_cast<std::uint64_t>(at);
            part.entries = reinterpret_cast<char*>(DeviceNotes::entries_of(head_address));
            part.bits = reinterpret_cast<char*>(DeviceNotes::bits_of_notes(head_address, entries_log2_));
            part.records = part.bits + notes * bytes_of_note;
            DeviceNotes head{};
            head.record_count = records_of_note * notes;
            head.note_count = notes;
            head.records = reinterpret_cast<DeviceNotes::Record*>(part.records);
            std::memcpy(staging_, &head, sizeof head);
            cleared = cleared && api.fill(at, 0, bytes, stream_) == abi::sanitizer_success &&
                      api.copy_to_device(at, staging_, sizeof head, stream_) == abi::sanitizer_success &&
                      api.stream_synchronize(stream_) == abi::sanitizer_success;
            at += bytes;
        }
        return cleared;
    }
    return false;
}

/// Copies to `to`, which is in `staging_`.
bool AccessMemory::stage(const Sanitizer& api, void* to, const void* from, std::size_t bytes) {
    auto* const source = const_cast<char*>(static_cast<const char*>(from));
    return bytes == 0 || api.copy_to_host(to, source, bytes, stream_) == abi::sanitizer_success;
}

bool AccessMemory::read(const Sanitizer& api, std::size_t part, TouchedByLaunch& touched, NotedAmount& amount) {
    const Part& from = parts_[part];
    if (!stage(api, staging_, from.head, sizeof(DeviceNotes))) return false;
    DeviceNotes now{};
    std::memcpy(&now, staging_, sizeof now);
    amount.records = std::min(now.taken, now.record_count);
    amount.notes = std::min(amount.records, now.note_count);
    amount.whole = now.lost == 0;
    // As many records at once as there is room for their notes behind them.
    constexpr std::uint32_t most = staging_bytes / (bytes_of_note + sizeof(DeviceNotes::Record));
    auto* const records = static_cast<DeviceNotes::Record*>(staging_);
    auto* const bits = reinterpret_cast<std::uint32_t*>(records + most);
    for (std::uint32_t first = 0; first < amount.records;) {
        const std::uint32_t count = std::min(most, (first < amount.notes ? amount.notes : amount.records) - first);
        const std::uint32_t notes = first < amount.notes ? count : 0;
        if (!stage(api, records, from.records + first * sizeof(DeviceNotes::Record),
                   count * sizeof(DeviceNotes::Record)) ||
            !stage(api, bits, from.bits + first * bytes_of_note, notes * bytes_of_note))
            return false;
        touched.add({records, count}, {bits, std::size_t{notes} * DeviceNotes::words});
        first += count;
    }
    return true;
}

void AccessMemory::clear(const Sanitizer& api, std::size_t part, const NotedAmount& amount) {
    const Part& used = parts_[part];
    constexpr std::size_t counts = 2 * sizeof(std::uint32_t);
    static_assert(offsetof(DeviceNotes, taken) == 0 && offsetof(DeviceNotes, lost) == sizeof(std::uint32_t));
    if (amount.records != 0) {
        api.fill(used.entries, 0, sizeof(DeviceNotes::Entry) << entries_log2_, stream_);
        api.fill(used.records, 0, amount.records * sizeof(DeviceNotes::Record), stream_);
        if (amount.notes != 0) api.fill(used.bits, 0, amount.notes * bytes_of_note, stream_);
    }
    api.fill(used.head, 0, counts, stream_);
    api.stream_synchronize(stream_);
}

}  // namespace streamsan::recorder::cuda
