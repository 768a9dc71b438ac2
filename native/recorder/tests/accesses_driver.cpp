// Checks what becomes of notes against plain sets of bytes: `accesses_driver SEED`.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "recorder/accesses/access_ranges.hpp"
#include "recorder/tests/check.hpp"

namespace {

using namespace streamsan;
using namespace streamsan::recorder;

constexpr std::uint64_t base = 0x7f00'0000'0000;

/// Notes as a device writes them.
class Notes {
public:
    explicit Notes(std::size_t room) : room_(room) {}

    void access(std::uint32_t launch, std::uint64_t address, std::uint32_t bytes, PageUse use) {
        const bool words = ((address | bytes) & 3) == 0;
        const unsigned shift = words ? DeviceNotes::word_shift : 0, page_bits = DeviceNotes::bits_log2 + shift;
        const std::uint64_t page = address >> page_bits;
        const auto [place, fresh] = places_.emplace(std::tuple(launch, page, words, use), records.size());
        if (fresh) {
            records.push_back({std::uint64_t{launch} << DeviceNotes::launch_shift | page << DeviceNotes::page_shift |
                                   (words ? 0 : DeviceNotes::bytes_bit) | (static_cast<std::uint64_t>(use) + 1),
                               0, 0});
            if (records.size() <= room_) bits.resize(records.size() * DeviceNotes::words);
        }
        const auto offset = static_cast<std::uint32_t>(address & ((1U << page_bits) - 1));
        if (place->second >= room_) {
            DeviceNotes::Record& record = records[place->second];
            record.below_end = std::max(record.below_end, (1U << 16) - offset);
            record.end = std::max(record.end, offset + bytes);
            return;
        }
        for (std::uint32_t at = offset; at < offset + bytes; at += 1U << shift) {
            const std::uint32_t bit = at >> shift;
            bits[place->second * DeviceNotes::words + bit / 32] |= 1U << (bit % 32);
        }
    }

    void begin(std::uint32_t launch) {
        records.push_back({std::uint64_t{launch} << DeviceNotes::launch_shift | DeviceNotes::bytes_bit | 1, 0, 0});
        if (records.size() <= room_) bits.resize(records.size() * DeviceNotes::words);
    }

    std::vector<DeviceNotes::Record> records;
    std::vector<std::uint32_t> bits;

private:
    std::size_t room_;
    std::map<std::tuple<std::uint32_t, std::uint64_t, bool, PageUse>, std::size_t> places_;
};

std::map<std::uint32_t, TouchedRanges> touched_by(const std::vector<DeviceNotes::Record>& records,
                                                  const std::vector<std::uint32_t>& bits) {
    // In two pieces, as a device is read.
    TouchedByLaunch touched;
    const std::size_t first = std::min(records.size() / 2, bits.size() / DeviceNotes::words);
    touched.add(std::span(records).first(first), std::span(bits).first(first * DeviceNotes::words));
    touched.add(std::span(records).subspan(first), std::span(bits).subspan(first * DeviceNotes::words));
    return touched.take();
}

using Bytes = std::set<std::uint64_t>;

void add(Bytes& bytes, std::uint64_t begin, std::uint64_t end) {
    for (; begin < end; ++begin) bytes.insert(begin);
}

Bytes bytes_of(const AccessRows& rows) {
    Bytes found;
    for (std::uint64_t slice = 0; slice < rows.slices; ++slice)
        for (std::uint64_t row = 0; row < rows.rows; ++row) {
            const std::uint64_t begin = rows.begin + slice * rows.slice_pitch + row * rows.pitch;
            add(found, begin, begin + rows.width);
        }
    return found;
}

void tiles() {
    // A column tile of a matrix of 3 slices of 40 rows.
    Notes notes(100);
    notes.begin(5);
    for (std::uint64_t slice = 0; slice < 3; ++slice)
        for (std::uint64_t row = 0; row < 40; ++row)
            for (std::uint64_t at = 0; at < 48; at += 16)
                notes.access(5, base + slice * 65536 + row * 1024 + 192 + at, 16, PageUse::write);
    const auto touched = touched_by(notes.records, notes.bits);
    CHECK(touched.size() == 1);
    const std::vector<std::uint64_t> bases{base};
    const LaunchAccesses found = accesses_of(touched.at(5), bases, 48, 168);
    CHECK(found.whole && found.rows.size() == 1);
    const AccessRows& rows = found.rows[0];
    CHECK(rows.begin == base + 192 && rows.width == 48 && rows.pitch == 1024 && rows.rows == 40);
    CHECK(rows.slices == 3 && rows.slice_pitch == 65536 && rows.mode == AccessMode::WRITE && !rows.bound);
}

void modes() {
    Notes notes(100);
    for (const PageUse use : {PageUse::read, PageUse::write}) notes.access(1, base, 16, use);
    notes.access(1, base + 64, 4, PageUse::atomic);
    notes.access(2, base, 2, PageUse::read);
    const auto touched = touched_by(notes.records, notes.bits);
    const LaunchAccesses one = accesses_of(touched.at(1), {}, 48, 168), two = accesses_of(touched.at(2), {}, 48, 168);
    CHECK(one.rows.size() == 2 && one.rows[0].mode == AccessMode::READ_WRITE && !one.rows[0].atomic);
    CHECK(one.rows[1].atomic && one.rows[1].begin == base + 64);
    CHECK(two.rows.size() == 1 && two.rows[0].mode == AccessMode::READ && two.rows[0].end() == base + 2);
}

void ranges_end_where_memory_begins() {
    Notes notes(100);
    for (std::uint64_t at = 0; at < 2048; at += 16) notes.access(0, base + at, 16, PageUse::write);
    const std::vector<std::uint64_t> bases{base - 512, base + 512, base + 1024, base + 4096};
    const auto touched = touched_by(notes.records, notes.bits);
    const LaunchAccesses found = accesses_of(touched.at(0), bases, 48, 168);
    CHECK(found.rows.size() == 3);
    CHECK(found.rows[0].end() == base + 512 && found.rows[1].end() == base + 1024 &&
          found.rows[2].end() == base + 2048);
}

void what_has_no_room() {
    Notes notes(1);
    notes.access(0, base, 4, PageUse::write);
    notes.access(0, base + (1U << 20) + 100, 4, PageUse::write);
    notes.access(0, base + (1U << 20) + 3000, 4, PageUse::write);
    // The record that a slower thread took, and left empty.
    notes.records.push_back({0, 0, 0});
    const auto touched = touched_by(notes.records, notes.bits);
    const LaunchAccesses found = accesses_of(touched.at(0), {}, 48, 168);
    CHECK(found.rows.size() == 2 && !found.rows[0].bound && found.rows[1].bound);
    CHECK(found.rows[1].begin == base + (1U << 20) + 100 && found.rows[1].end() == base + (1U << 20) + 3004);
    // Of a kernel that was not patched nothing is known.
    Notes unpatched(10);
    unpatched.access(0, base, 4, PageUse::write);
    CHECK(!accesses_of(touched_by(unpatched.records, unpatched.bits).at(0), {}, 48, 168).whole);
}

void too_many() {
    std::mt19937_64 random(1);
    Notes notes(100);
    std::uint64_t at = base;
    for (int access = 0; access < 300; ++access) notes.access(0, at += 4 * (2 + random() % 30), 4, PageUse::read);
    const auto touched = touched_by(notes.records, notes.bits);
    const LaunchAccesses found = accesses_of(touched.at(0), {}, 48, 168);
    CHECK(found.rows.size() == 1 && found.rows[0].bound && found.rows[0].end() == at + 4);
}

void random_accesses(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Notes notes(1000);
    std::map<std::pair<std::uint32_t, PageUse>, Bytes> expected;
    for (int access = 0; access < 400; ++access) {
        const auto launch = static_cast<std::uint32_t>(random() % 3);
        const auto use = static_cast<PageUse>(random() % 3);
        const auto bytes = static_cast<std::uint32_t>(1U << random() % 5);
        const std::uint64_t address = base + (random() % 3 << 16) + random() % 4096 / bytes * bytes;
        notes.access(launch, address, bytes, use);
        add(expected[{launch, use}], address, address + bytes);
    }
    for (const auto& [launch, touched] : touched_by(notes.records, notes.bits)) {
        Bytes read, written, atomic;
        const std::vector<std::uint64_t> bases{base, base + 1000, base + 70000};
        for (const AccessRows& rows : accesses_of(touched, bases, 10000, 10000).rows) {
            CHECK(!rows.bound);
            const Bytes bytes = bytes_of(rows);
            if (rows.atomic) atomic.insert(bytes.begin(), bytes.end());
            else if (rows.mode == AccessMode::WRITE) written.insert(bytes.begin(), bytes.end());
            else read.insert(bytes.begin(), bytes.end());
            if (!rows.atomic && rows.mode == AccessMode::READ_WRITE) written.insert(bytes.begin(), bytes.end());
        }
        CHECK((read == expected[{launch, PageUse::read}]));
        CHECK((written == expected[{launch, PageUse::write}]));
        CHECK((atomic == expected[{launch, PageUse::atomic}]));
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) return 2;
    tiles();
    modes();
    ranges_end_where_memory_begins();
    what_has_no_room();
    too_many();
    const std::uint64_t seed = std::strtoull(arguments[1], nullptr, 10);
    for (std::uint64_t round = 0; round < 20; ++round) random_accesses(seed * 100 + round);
    std::puts("ok");
}
