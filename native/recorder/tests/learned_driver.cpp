// What launches are trusted to touch, and which are looked at.
#include "recorder/cuda/learned_accesses.hpp"
#include "recorder/tests/check.hpp"

namespace streamsan::recorder::cuda {
struct LaunchShape {};
}  // namespace streamsan::recorder::cuda

namespace {

using namespace streamsan;
using namespace streamsan::recorder;
using namespace streamsan::recorder::cuda;
using Answer = LearnedAccesses::Answer;

constexpr std::uint64_t first = 0x7f00'0000'0000, second = 0x7f00'0010'0000, variable = 0x7f00'0020'0000;
constexpr LaunchShape shape{}, other_shape{};

class Device {
public:
    Device(std::uint32_t launches) : learned(launches) {
        memory.add({first, 4096, MemoryKind::PLAIN, 1});
        memory.add({second, 4096, MemoryKind::PLAIN, 2});
        memory.add({variable, 64, MemoryKind::DEVICE_SYMBOL, 3});
    }
    PlacedLaunch launch(std::vector<std::uint64_t> addresses, const LaunchShape& of = shape) {
        std::vector<Reference> references;
        for (const std::uint64_t address : addresses) references.push_back({address, 0, 0});
        return placed_launch(of, references, memory);
    }
    Answer ask(const PlacedLaunch& launch) { return learned.ask(launch, ++sequence, trusted); }
    std::vector<TrustedLaunch> learn(const PlacedLaunch& launch, std::vector<AccessRows> rows, bool whole = true) {
        return learned.learn(launch, {std::move(rows), whole}, memory);
    }

    AddressMap memory;
    LearnedAccesses learned;
    std::uint64_t sequence = 0;
    TrustedLaunch trusted;
};

AccessRows row(std::uint64_t begin, std::uint64_t width = 64) {
    return {begin, width, width, 1, 0, 1, AccessMode::WRITE, false, false};
}

void beside_its_own_references() {
    Device device(1);
    const PlacedLaunch launch = device.launch({first + 256});
    CHECK(device.ask(launch) == Answer::LOOK);
    CHECK(device.ask(device.launch({second})) == Answer::WAIT);
    // What lies before the reference moves with it, as what lies behind.
    const auto told = device.learn(launch, {row(first + 128), row(variable, 8)});
    CHECK(told.empty());  // 128 bytes before the other buffer is no memory of it
    CHECK(device.ask(device.launch({second + 512})) == Answer::TRUST);
    CHECK(device.trusted.rows.size() == 2 && device.trusted.rows[0].begin == second + 384);
    CHECK(device.trusted.rows[1].begin == variable);  // stays
    CHECK(device.ask(device.launch({second + 100})) == Answer::WATCH);
    CHECK(device.ask(device.launch({second}, other_shape)) == Answer::LOOK);
}

void references_into_one_allocation() {
    Device device(1);
    const PlacedLaunch launch = device.launch({first, first + 1024});
    CHECK(device.ask(launch) == Answer::LOOK);
    device.learn(launch, {row(first), row(first + 1024)});
    CHECK(device.ask(device.launch({second + 64, second + 1088})) == Answer::TRUST);
    CHECK(device.trusted.rows[1].begin == second + 1088);
    // Apart, or in two allocations: which of them leads to what is not known.
    CHECK(device.ask(device.launch({second, second + 2048})) == Answer::LOOK);
    CHECK(device.ask(device.launch({first, second})) == Answer::LOOK);
}

void what_no_argument_leads_to() {
    Device device(1);
    const PlacedLaunch launch = device.launch({first});
    CHECK(device.ask(launch) == Answer::LOOK);
    CHECK(device.ask(launch) == Answer::WAIT);
    CHECK(device.learn(launch, {row(first), row(second)}).empty());
    CHECK(device.ask(launch) == Answer::WATCH);
    const PlacedLaunch some = device.launch({first}, other_shape);
    CHECK(device.ask(some) == Answer::LOOK);
    device.learn(some, {row(first)}, false);
    CHECK(device.ask(some) == Answer::WATCH);
}

void launches_that_differ() {
    Device device(2);
    const PlacedLaunch launch = device.launch({first}), elsewhere = device.launch({second});
    CHECK(device.ask(launch) == Answer::LOOK && device.ask(elsewhere) == Answer::LOOK);
    device.learn(launch, {row(first)});
    CHECK(device.ask(launch) == Answer::WAIT);
    CHECK(device.learn(elsewhere, {row(second, 128)}).empty());
    CHECK(device.ask(launch) == Answer::WATCH);
    // These agree, in whatever order the rows come.
    Device alike(2);
    CHECK(alike.ask(launch) == Answer::LOOK && alike.ask(elsewhere) == Answer::LOOK &&
          alike.ask(launch) == Answer::WAIT);
    alike.learn(launch, {row(first), row(first + 512)});
    const auto told = alike.learn(elsewhere, {row(second + 512), row(second)});
    CHECK(told.size() == 1 && told[0].sequence == 3 && told[0].rows[0].begin == first);
}

void a_launch_that_showed_nothing() {
    Device device(1);
    const PlacedLaunch launch = device.launch({first});
    CHECK(device.ask(launch) == Answer::LOOK && device.ask(launch) == Answer::WAIT);
    device.learned.forget(launch);
    CHECK(device.ask(launch) == Answer::LOOK);
    CHECK(device.learn(launch, {row(first)}).size() == 1);
}

}  // namespace

int main() {
    beside_its_own_references();
    references_into_one_allocation();
    what_no_argument_leads_to();
    launches_that_differ();
    a_launch_that_showed_nothing();
}
