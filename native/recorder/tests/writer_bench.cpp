// What a slot costs: `trace_writer_bench FILE THREADS SLOTS PAUSE`. Prints nanoseconds for each slot of a thread, by
// parts. PAUSE: nanoseconds of other work between two slots, which are taken off; 0 shows what the file system can do
// at most.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "generated/vocabulary.hpp"
#include "recorder/trace_writer/writer.hpp"

namespace {

using namespace streamsan;
using namespace streamsan::recorder;
using Steady = std::chrono::steady_clock;

double nanoseconds(Steady::time_point begin, Steady::time_point end) {
    return std::chrono::duration<double, std::nano>(end - begin).count();
}

void append(Writer& writer, Lane& lane, std::uint16_t api, std::uint32_t site, std::uint64_t address) {
    Slot* slot = lane.reserve(0);
    if (slot == nullptr) std::exit(1);
    slot->address = address;
    slot->size = 4096;
    slot->stream = 1;
    slot->api = api;
    slot->site = site;
    slot->status = status_unknown;
    slot->kind = static_cast<std::uint8_t>(OperationKind::LAUNCH);
    slot->flags = static_cast<std::uint8_t>(SlotFlag::ENTER);
    lane.commit();
    Lane::complete(slot, 0, Writer::duration(2000 + (address & 1023)));
    static_cast<void>(writer);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 5) return 2;
    const unsigned threads = static_cast<unsigned>(std::atoi(arguments[2]));
    const std::uint64_t slots = std::strtoull(arguments[3], nullptr, 10);
    const std::uint64_t pause = std::strtoull(arguments[4], nullptr, 10);
    std::string error;
    const auto writer = Writer::open({arguments[1], R"({"platform":"cuda","origin":"synthetic"})", 0, ""}, error);
    if (!writer) {
        std::fprintf(stderr, "%s\n", error.c_str());
        return 1;
    }
    const std::uint16_t api = writer->api("cuLaunchKernel");
    const std::uint32_t site = writer->site({writer->string("bench.cu"), 0, 0, 0, 1, 1, 0, 0, 0});

    // Slots whose pages are there: the first of a segment, without the slow path.
    Lane* own = writer->lane();
    append(*writer, *own, api, site, 0);
    const auto begin = Steady::now();
    for (std::uint64_t index = 0; index < 1000; ++index) append(*writer, *own, api, site, index);
    const auto fast = Steady::now();
    std::atomic<std::uint64_t> spent{0};
    std::vector<std::thread> crew;
    for (unsigned index = 0; index < threads; ++index)
        crew.emplace_back([&] {
            std::uint64_t next = writer->now() + pause, busy = 0;
            for (std::uint64_t slot = 0; slot < slots; ++slot) {
                if (pause != 0) {
                    const std::uint64_t before = writer->now();
                    append(*writer, *writer->lane(), api, site, slot);
                    const std::uint64_t after = writer->now();
                    busy += after - before;
                    for (next = after + pause; writer->now() < next;) {
                    }
                } else {
                    append(*writer, *writer->lane(), api, site, slot);
                }
            }
            spent += busy;
        });
    for (auto& thread : crew) thread.join();
    const auto end = Steady::now();
    std::uint64_t sum = 0;
    for (int index = 0; index < 1000; ++index) sum += writer->now();
    const auto clock = Steady::now();
    const double clock_cost = nanoseconds(end, clock) / 1000;
    const double whole = nanoseconds(fast, end) / static_cast<double>(slots);
    const double paced = static_cast<double>(spent.load()) / static_cast<double>(slots * threads) - clock_cost;
    std::printf("pages there: %.1f ns; %u threads, with pages and segments: %.1f ns; clock %.1f ns (%llu)\n",
                nanoseconds(begin, fast) / 1000, threads, pause == 0 ? whole : paced, clock_cost,
                static_cast<unsigned long long>(sum & 1));
    writer->close();
    return 0;
}
