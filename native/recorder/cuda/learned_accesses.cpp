#include "recorder/cuda/learned_accesses.hpp"

#include <algorithm>
#include <tuple>

namespace streamsan::recorder::cuda {
namespace {

/// References of launches that wait for what the first of their kind shows, and kinds: a program that never waits for
/// its device, or launches other things for ever, must not fill the memory.
constexpr std::size_t most_waiting = 1U << 20, most_kinds = 1U << 14;

auto all_of(const AccessRows& rows) {
    return std::tuple(rows.begin, rows.width, rows.pitch, rows.rows, rows.slice_pitch, rows.slices, rows.mode,
                      rows.atomic, rows.bound);
}

bool same(std::vector<AccessRows> ones, std::vector<AccessRows> others) {
    const auto before = [](const auto& one, const auto& other) { return all_of(one) < all_of(other); };
    std::ranges::sort(ones, before);
    std::ranges::sort(others, before);
    return std::ranges::equal(ones, others,
                              [](const auto& one, const auto& other) { return all_of(one) == all_of(other); });
}

}  // namespace

PlacedLaunch placed_launch(const LaunchShape& shape, std::span<const Reference> references, const AddressMap& memory) {
    PlacedLaunch placed{&shape, {}};
    placed.anchors.reserve(references.size());
    for (const Reference& reference : references) {
        const std::uint64_t address = reference.address;
        const std::optional<Range> range = memory.find(address);
        if (range) placed.anchors.push_back({address, range->base, range->base + range->size});
        else placed.anchors.push_back({address, address, address});
    }
    return placed;
}

LearnedAccesses::Key LearnedAccesses::key_of(const PlacedLaunch& launch) {
    Key key{launch.shape, {}};
    std::map<std::uint64_t, std::size_t> first;  // reference into the memory that begins there
    for (std::size_t index = 0; index < launch.anchors.size(); ++index) {
        const Anchor& anchor = launch.anchors[index];
        const std::size_t leader = first.emplace(anchor.begin, index).first->second;
        key.second.push_back(leader);
        key.second.push_back(anchor.address - launch.anchors[leader].address);
    }
    return key;
}

LearnedAccesses::Answer LearnedAccesses::ask(const PlacedLaunch& launch, std::uint64_t sequence,
                                             TrustedLaunch& trusted) {
    Key key = key_of(launch);
    const std::lock_guard lock(mutex_);
    auto place = kinds_.find(key);
    if (place == kinds_.end()) {
        if (kinds_.size() == most_kinds) return Answer::WATCH;
        place = kinds_.emplace(std::move(key), Kind{}).first;
    }
    Kind& kind = place->second;
    if (kind.differs) return Answer::WATCH;
    if (kind.asked < most_) {
        ++kind.asked;
        return Answer::LOOK;
    }
    if (kind.learned < most_) {
        const std::size_t more = 1 + launch.anchors.size();
        if (waiting_ + more > most_waiting) return Answer::WATCH;
        waiting_ += more;
        kind.waiting.push_back({sequence, launch.anchors});
        return Answer::WAIT;
    }
    std::optional<std::vector<AccessRows>> rows = moved(kind, launch.anchors);
    if (!rows) return Answer::WATCH;
    trusted = {sequence, std::move(*rows)};
    return Answer::TRUST;
}

/// What the first launch of a kind touched, by the references that lead there. False where none leads to some of it: a
/// pointer does that the kernel found in memory, and a later launch may find another one.
bool LearnedAccesses::take_first(Kind& kind, const PlacedLaunch& launch, const LaunchAccesses& touched,
                                 const AddressMap& memory) {
    if (!touched.whole) return false;
    kind.anchors = launch.anchors;
    kind.rows = touched.rows;
    for (const AccessRows& rows : touched.rows) {
        const auto anchor = std::ranges::find_if(
            launch.anchors, [&](const Anchor& each) { return each.begin <= rows.begin && rows.end() <= each.end; });
        if (anchor != launch.anchors.end()) {
            kind.anchor_of_row.push_back(static_cast<std::size_t>(anchor - launch.anchors.begin()));
            continue;
        }
        const std::optional<Range> range = memory.find(rows.begin);
        if (!range || range->kind != MemoryKind::DEVICE_SYMBOL) return false;
        kind.anchor_of_row.push_back(fixed);
    }
    return true;
}

/// What a launch of this kind with these anchors touches. Nothing where that would not be within its memory.
std::optional<std::vector<AccessRows>> LearnedAccesses::moved(const Kind& kind, const std::vector<Anchor>& anchors) {
    std::vector<AccessRows> rows = kind.rows;
    for (std::size_t index = 0; index < rows.size(); ++index) {
        if (kind.anchor_of_row[index] == fixed) continue;
        const Anchor& now = anchors[kind.anchor_of_row[index]];
        rows[index].begin += now.address - kind.anchors[kind.anchor_of_row[index]].address;
        if (rows[index].begin < now.begin || rows[index].end() > now.end) return std::nullopt;
    }
    return rows;
}

std::vector<TrustedLaunch> LearnedAccesses::learn(const PlacedLaunch& launch, const LaunchAccesses& touched,
                                                  const AddressMap& memory) {
    const std::lock_guard lock(mutex_);
    const auto place = kinds_.find(key_of(launch));
    if (place == kinds_.end()) return {};
    Kind& kind = place->second;
    if (!kind.differs) {
        if (kind.learned == 0) {
            kind.differs = !take_first(kind, launch, touched, memory);
        } else {
            const auto expected = moved(kind, launch.anchors);
            kind.differs = !touched.whole || !expected || !same(*expected, touched.rows);
        }
        ++kind.learned;
    }
    if (!kind.differs && kind.learned < most_) return {};
    std::vector<TrustedLaunch> told;
    for (const Waiting& each : std::exchange(kind.waiting, {})) {
        waiting_ -= 1 + each.anchors.size();
        // Of what waited in vain nothing is said.
        if (kind.differs) continue;
        if (auto rows = moved(kind, each.anchors)) told.push_back({each.sequence, std::move(*rows)});
    }
    return told;
}

void LearnedAccesses::forget(const PlacedLaunch& launch) {
    const std::lock_guard lock(mutex_);
    const auto place = kinds_.find(key_of(launch));
    if (place != kinds_.end() && place->second.asked > place->second.learned) --place->second.asked;
}

}  // namespace streamsan::recorder::cuda
