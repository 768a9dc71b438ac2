// Checks the map of addresses against a plain list of ranges, and under several threads: `memory_driver SEED`.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "recorder/memory/address_map.hpp"
#include "recorder/tests/check.hpp"

namespace {

using namespace streamsan;
using namespace streamsan::recorder;

constexpr std::uint64_t granule = std::uint64_t{2} << 20;

void limits() {
    AddressMap map;
    CHECK(!map.maybe(0) && !map.maybe(~std::uint64_t{0}) && !map.maybe(0x7f00'0000'0000) && !map.find(0));
    map.add({0x7f00'0000'0000, 4096, MemoryKind::PLAIN, 5});
    CHECK(map.maybe(0x7f00'0000'0000) && map.maybe(0x7f00'0000'0000 + granule - 1) &&
          !map.maybe(0x7f00'0000'0000 + granule));
    CHECK(!map.maybe(0x7f00'0000'0000 - 1));
    CHECK(map.find(0x7f00'0000'0fff) && map.find(0x7f00'0000'0fff)->sequence == 5 && !map.find(0x7f00'0000'1000));
    map.remove(0x7f00'0000'0001);
    CHECK(map.find(0x7f00'0000'0000));
    map.remove(0x7f00'0000'0000);
    CHECK(!map.find(0x7f00'0000'0000) && map.maybe(0x7f00'0000'0000));
    // A range of no size, one over many granules, one at the end of all addresses, one where there are no bits.
    map.add({0x1000, 0, MemoryKind::PINNED, 1});
    CHECK(map.find(0x1000) && !map.find(0x1001) && map.maybe(0));
    map.add({granule * 70, granule * 200 + 1, MemoryKind::MANAGED, 2});
    for (std::uint64_t index = 0; index < 201; ++index) CHECK(map.maybe(granule * (70 + index)));
    CHECK(!map.maybe(granule * 69) && !map.maybe(granule * 271));
    CHECK(!map.maybe(std::uint64_t{1} << 55));
    map.add({~std::uint64_t{0} - 10, 4096, MemoryKind::PLAIN, 3});
    CHECK(map.maybe(~std::uint64_t{0}) && map.maybe(std::uint64_t{1} << 55) && map.find(~std::uint64_t{0}));
    // What overlaps is gone.
    map.add({granule * 100, 16, MemoryKind::PLAIN, 4});
    CHECK(!map.find(granule * 71) && map.find(granule * 100)->sequence == 4 && !map.find(granule * 100 + 16));
    std::size_t count = 0;
    map.each([&](const Range&) { ++count; });
    CHECK(count == 3);
    const pid_t child = fork();
    if (child == 0) {
        map.forget_after_fork();
        CHECK(!map.find(granule * 100) && map.maybe(granule * 100));
        map.add({granule * 300, 16, MemoryKind::PLAIN, 6});
        CHECK(map.find(granule * 300) && map.maybe(granule * 300));
        std::_Exit(0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0 && !map.maybe(granule * 300));
}

/// The driver gives a device's addresses back to the system, which hands them out again for the process's own memory.
void host_memory_at_old_addresses() {
    AddressMap map;
    constexpr std::uint64_t size = 4 * granule;
    void* const reserved = mmap(nullptr, size + granule, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(reserved != MAP_FAILED);
    const std::uint64_t base = (reinterpret_cast<std::uint64_t>(reserved) + granule - 1) / granule * granule;
    const auto set_readable = [&](std::uint64_t at, bool readable) {
        CHECK(mprotect(reinterpret_cast<void*>(at), 4096, readable ? PROT_READ : PROT_NONE) == 0);
    };
    for (const MemoryKind kind : {MemoryKind::PLAIN, MemoryKind::PINNED}) {
        map.add({base, 3 * granule / 2, kind, 1});
        map.add({base + 3 * granule / 2, granule / 2, kind, 2});
        map.remove(base);
        CHECK(map.maybe(base) && !map.was_given_back(base));
        for (const std::uint64_t at : {base + 4096, base + granule + 4096}) set_readable(at, true);
        // Freed pinned memory may be readable still; and of the second granule a part is live.
        CHECK(map.maybe(base + 4096) == (kind == MemoryKind::PINNED) && map.maybe(base + granule + 4096));
        CHECK(map.was_given_back(base + 4096) == (kind == MemoryKind::PLAIN) && !map.was_given_back(base + granule));
        map.add({base, granule, kind, 3});
        CHECK(map.maybe(base + 4096) && !map.was_given_back(base + 4096));
        map.remove(base);
        map.remove(base + 3 * granule / 2);
        for (const std::uint64_t at : {base + 4096, base + granule + 4096}) set_readable(at, false);
    }
    // What the host could read before it was freed says nothing when it can read it afterwards.
    set_readable(base + 2 * granule, true);
    map.add({base + 2 * granule, granule, MemoryKind::PLAIN, 4});
    map.remove(base + 2 * granule);
    CHECK(map.maybe(base + 2 * granule));
    munmap(reserved, size + granule);
}

void against_a_list(unsigned seed) {
    std::mt19937_64 random(seed);
    AddressMap map;
    std::vector<Range> list;
    for (std::uint64_t step = 1; step < 4000; ++step) {
        const std::uint64_t base = 0x7f00'0000'0000 + random() % 4096 * 65536;
        if (random() % 3 != 0) {
            const Range range{base, 1 + random() % (random() % 8 == 0 ? 8 * granule : 65536), MemoryKind::PLAIN, step};
            std::erase_if(list, [&](const Range& one) {
                return one.base < range.base + range.size && range.base < one.base + one.size;
            });
            list.push_back(range);
            map.add(range);
        } else {
            std::erase_if(list, [&](const Range& one) { return one.base == base; });
            map.remove(base);
        }
        const std::uint64_t address = 0x7f00'0000'0000 + random() % (4096 * 65536);
        std::uint64_t expected = 0;
        for (const Range& one : list)
            if (address - one.base < one.size) expected = one.sequence;
        const auto found = map.find(address);
        CHECK((found ? found->sequence : 0) == expected);
        CHECK(expected == 0 || map.maybe(address));
    }
    std::size_t count = 0;
    map.each([&](const Range&) { ++count; });
    CHECK(count == list.size());
}

void in_threads() {
    AddressMap map;
    std::vector<std::thread> crew;
    for (unsigned index = 0; index < 4; ++index)
        crew.emplace_back([&map, index] {
            for (std::uint64_t step = 0; step < 3000; ++step) {
                const std::uint64_t base = (std::uint64_t{index + 1} << 40) + step % 50 * granule;
                map.add({base, 4096, MemoryKind::PLAIN, step});
                CHECK(map.maybe(base) && map.find(base + 4095)->sequence == step);
                if (step % 2 == 0) map.remove(base);
                CHECK(map.find(base).has_value() == (step % 2 != 0));
            }
        });
    for (auto& thread : crew) thread.join();
}

}  // namespace

int main(int count, char** arguments) {
    limits();
    host_memory_at_old_addresses();
    against_a_list(count > 1 ? static_cast<unsigned>(std::atoi(arguments[1])) : 1);
    in_threads();
    return 0;
}
