// Feeds the engine arbitrary slots: every field random, weighted towards values that meet each other.
// Built with the address and undefined-behaviour sanitizers; any fault ends it with a status that is not 0.
// usage: arbitrary_slots SEED SLOTS [FILE: raw slots to feed instead]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "generated/vocabulary.hpp"
#include "order/engine.hpp"
#include "order/reference_patches.hpp"

namespace {

using namespace streamsan;

class Generator {
public:
    explicit Generator(std::uint64_t seed) : random_(seed) {}

    Slot slot(std::uint64_t sequence) {
        static constexpr std::uint8_t kinds[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 16, 17, 18, 19,  20,  21,
                                                 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 48, 48, 48,  49,  49,
                                                 49, 50, 51, 52, 64, 64, 64, 65, 65, 66, 67, 68, 69, 90, 240, 241, 255,
                                                 80, 81, 82, 83, 83, 83, 84, 84, 85, 86, 87, 87, 87, 88, 89};
        Slot slot{};
        slot.sequence = rarely() ? random_() : sequence;
        slot.time = random_();
        slot.stream = below(40) == 0 ? random_() : below(12);
        slot.object = below(30) == 0 ? random_() : below(14);
        slot.address = address();
        slot.size = size();
        slot.site = static_cast<std::uint32_t>(below(200));
        slot.api = static_cast<std::uint16_t>(below(4));
        slot.thread = static_cast<std::uint16_t>(rarely() ? random_() : below(6));
        slot.status = static_cast<std::int16_t>(below(12) == 0   ? static_cast<std::int64_t>(random_())
                                                : below(12) == 0 ? status_unknown
                                                                 : 0);
        slot.kind = kinds[below(sizeof kinds)];
        if (slot.kind == 82 || slot.kind == 85) {
            body_of_ = slot.object = 1 + below(4);
            parts_ = slot.size = below(8) == 0 ? below(500) : below(30);  // now and then a deep one
            node_ = 0;
            slot.thread = static_cast<std::uint16_t>(below(3));
            thread_ = slot.thread;
        } else if (parts_ > 0 && below(200) != 0) {
            --parts_;
            slot.kind = below(3) == 0 ? 84 : 83;
            slot.stream = body_of_;
            slot.object = slot.kind == 83 ? ++node_ : 1 + below(node_ + 2);
            // Edges between nodes that are there, mostly, and mostly to the next ones.
            if (slot.kind == 84) slot.address = slot.object + below(4);
            else slot.detail = static_cast<std::uint8_t>(rarely() ? random_() : 1 + below(9));
            slot.thread = thread_;
            slot.more = static_cast<std::uint8_t>(below(2));
        } else if (slot.kind == 86 || slot.kind == 87) {
            slot.object = 1 + below(4);
            if (slot.kind == 86) slot.address = below(4) == 0 ? below(400) : below(20);
        }
        if ((slot.kind == 4 || slot.kind == 7) && below(400) != 0) slot.kind = 64;  // little is looked at after these
        if (slot.detail == 0) slot.detail = static_cast<std::uint8_t>(rarely() ? random_() : below(12));
        slot.flags = static_cast<std::uint8_t>(below(4) == 0 ? random_() : below(4));
        slot.more = static_cast<std::uint8_t>(below(20) == 0 ? random_() : below(8) == 0 ? below(4) : 0);
        slot.duration = static_cast<std::uint16_t>(random_());
        return slot;
    }

    ReferencesSlot references() {
        ReferencesSlot slot{};
        slot.first_address = address();
        slot.first_size = size();
        slot.second_address = address();
        slot.second_size = size();
        slot.first_generation = static_cast<std::uint32_t>(below(3));
        slot.second_generation = static_cast<std::uint32_t>(random_());
        slot.kind = 240;
        slot.first_mode = static_cast<std::uint8_t>(random_());
        slot.second_mode = static_cast<std::uint8_t>(random_());
        slot.count = static_cast<std::uint8_t>(rarely() ? random_() : below(3));
        return slot;
    }

    RowsSlot rows() {
        RowsSlot slot = patterns[below(std::size(patterns))];
        for (std::uint64_t* const each : {&slot.width, &slot.pitch, &slot.rows, &slot.slice_pitch, &slot.slices}) {
            if (rarely()) *each = random_();
        }
        slot.reference = static_cast<std::uint8_t>(below(20) == 0 ? random_() : below(3));
        slot.kind = 242;
        return slot;
    }

    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

private:
    bool rarely() { return below(100) == 0; }
    std::uint64_t address() {
        switch (below(12)) {
            case 0: return 0;
            case 1: return random_();
            case 2: return UINT64_MAX - below(64);
            default: return 0x1000 * (1 + below(24)) + (below(4) == 0 ? below(0x2000) : 0);
        }
    }
    std::uint64_t size() {
        if (below(4) == 0) {
            const RowsSlot& each = patterns[below(std::size(patterns))];
            return (each.slices - 1) * each.slice_pitch + (each.rows - 1) * each.pitch + each.width;
        }
        return below(10) == 0 ? random_() : below(10) == 0 ? 0 : below(0x1800);
    }

    static constexpr RowsSlot patterns[] = {
        {16, 64, 8, 0, 1, {}, 0, 0, 242, {}},        {48, 64, 8, 0, 1, {}, 0, 0, 242, {}},
        {1, 2, 1000, 0, 1, {}, 0, 0, 242, {}},       {16, 96, 4, 512, 3, {}, 0, 0, 242, {}},
        {8, 64, 4, 512, 3, {}, 0, 0, 242, {}},       {16, 16, 4, 64, 2, {}, 0, 0, 242, {}},
        {1, 7, 20000, 200000, 9, {}, 0, 0, 242, {}}, {1, 3, 1u << 30, 1ull << 33, 1u << 20, {}, 0, 0, 242, {}},
    };
    std::mt19937_64 random_;
    std::uint64_t body_of_ = 0;  ///< executable graph whose body is being written ...
    std::uint64_t parts_ = 0;    ///< ... with so many parts to come
    std::uint64_t node_ = 0;
    std::uint16_t thread_ = 0;
};

/// Patch the references of launches in copies of the slots by arbitrary tables, piece by piece.
void patch_references(Generator& generator, const std::vector<unsigned char>& bytes) {
    std::vector<order::ReferencePatch> patches(generator.below(200));
    for (order::ReferencePatch& each : patches) {
        each.verdict = static_cast<order::ReferencePatch::Verdict>(generator.below(3));
        each.bits = static_cast<std::uint8_t>(generator.below(256));
        each.begin = generator.below(2) == 0 ? 0 : UINT64_MAX - generator.below(64);
        each.size = generator.below(3) == 0 ? UINT64_MAX : generator.below(64);
    }
    std::vector<order::ShapePatches> shapes(generator.below(20));
    for (order::ShapePatches& each : shapes) {
        // More than there are, too.
        each.first = generator.below(250);
        each.count = generator.below(20);
        each.room = static_cast<std::uint8_t>(generator.below(256));
        each.talks = generator.below(2) == 0;
    }
    order::ReferencePatches all(patches, shapes, 0x83, 0xff);
    std::vector<std::int64_t> launches(1 + generator.below(20));
    std::vector<std::uint8_t> patched(generator.below(300)), talkers(patched.size());
    std::size_t found = 0;
    for (std::size_t at = 0, slots = bytes.size() / sizeof(Slot); at < slots;) {
        const std::size_t piece = std::min<std::size_t>(slots - at, 1 + generator.below(400));
        std::vector<Slot> part(piece);
        std::memcpy(part.data(), bytes.data() + at * sizeof(Slot), piece * sizeof(Slot));
        for (Slot& each : part) {
            // Mostly of a shape that there is.
            const bool launch = each.kind == static_cast<std::uint8_t>(OperationKind::LAUNCH);
            if (launch) each.object = generator.below(22) << 32;
            else if (each.kind < first_continuation_kind && generator.below(2) == 0) each.size = generator.below(22);
        }
        found += all.patch(part, {launches, patched, talkers}) ? 1 : 0;
        at += piece;
    }
    std::printf("%zu pieces with patched references\n", found);
}

/// Times for every slot, of which many contradict the order.
struct ArbitraryTimes {
    ArbitraryTimes(Generator& generator, std::size_t count) {
        constexpr std::uint64_t latest = std::uint64_t{1} << 53;
        const auto moment = [&] {
            const std::uint64_t most = generator.below(3) == 0 ? latest : 100'000;
            return static_cast<order::Nanoseconds>(generator.below(most));
        };
        for (std::size_t i = 0; i < count; ++i) {
            sequences.push_back(i + 1);
            threads.push_back(static_cast<std::uint16_t>(generator.below(5)));
            const order::Nanoseconds entered = moment(), begun = generator.below(2) == 0 ? -1 : moment();
            times.push_back({entered, entered + moment(), begun, begun < 0 ? -1 : begun + moment()});
            fills.push_back(static_cast<std::uint16_t>(generator.below(1001)));
            engines.push_back(static_cast<std::uint8_t>(generator.below(6)));
        }
        own.resize(count);
        unbound.resize(count);
        predicted.resize(count);
    }

    [[nodiscard]] order::TimedOperations operations() {
        return {sequences, threads, times, own, unbound, fills, engines, predicted, 3000};
    }

    std::vector<std::uint64_t> sequences;
    std::vector<std::uint16_t> threads;
    std::vector<order::CallTimes> times, predicted;
    std::vector<order::OwnTimes> own;
    std::vector<std::uint8_t> unbound, engines;
    std::vector<std::uint16_t> fills;
};

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
    const std::size_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100000;
    Generator generator(seed);
    std::vector<unsigned char> bytes;
    if (argc > 3) {
        std::ifstream file(argv[3], std::ios::binary);
        bytes.assign(std::istreambuf_iterator<char>(file), {});
    } else {
        bytes.resize(count * sizeof(Slot));
        for (std::size_t i = 0; i < count; ++i) {
            unsigned char* place = bytes.data() + i * sizeof(Slot);
            if (generator.below(40) == 0) {
                TextSlot text{};
                text.length = static_cast<std::uint16_t>(generator.below(4) == 0 ? 65535 : generator.below(60));
                text.kind = 241;
                std::memcpy(place, &text, sizeof text);
            } else if (generator.below(12) == 0) {
                const RowsSlot slot = generator.rows();
                std::memcpy(place, &slot, sizeof slot);
            } else if (generator.below(4) == 0) {
                const ReferencesSlot slot = generator.references();
                std::memcpy(place, &slot, sizeof slot);
            } else {
                const Slot slot = generator.slot(i + 1);
                std::memcpy(place, &slot, sizeof slot);
            }
        }
    }
    patch_references(generator, bytes);
    ArbitraryTimes times(generator, bytes.size() / sizeof(Slot) * 9 / 10);
    enum class Mode { source, requirements, recording, later_part, measured, predicted };
    for (const Mode mode :
         {Mode::source, Mode::requirements, Mode::recording, Mode::later_part, Mode::measured, Mode::predicted}) {
        const bool recording = mode != Mode::source && mode != Mode::requirements;
        order::Engine engine({0, 0, 0, 1, 7}, mode == Mode::requirements, {1}, {2}, recording,
                             mode == Mode::later_part ? count / 4 : 0);
        if (mode == Mode::measured) engine.retiming().measure(times.operations());
        if (mode == Mode::predicted) engine.retiming().predict(times.operations());
        const std::size_t slots = bytes.size() / sizeof(Slot);
        for (std::size_t at = 0; at < slots;) {
            // In pieces, each in a block of its own size, so that reading past its end is seen.
            const std::size_t piece = std::min<std::size_t>(slots - at, 1 + generator.below(400));
            const std::vector<unsigned char> part(
                bytes.begin() + static_cast<std::ptrdiff_t>(at * sizeof(Slot)),
                bytes.begin() + static_cast<std::ptrdiff_t>((at + piece) * sizeof(Slot)));
            engine.feed(part.data(), piece);
            at += piece;
        }
        engine.finish();
        std::printf("%zu explanations, %zu calls that did not return\n", engine.explanations().size(),
                    engine.inside().size());
        std::printf("%llu operations, %llu problems, %zu facts\n", static_cast<unsigned long long>(engine.operations()),
                    static_cast<unsigned long long>(engine.problems()), engine.facts().size());
    }
    return 0;
}
