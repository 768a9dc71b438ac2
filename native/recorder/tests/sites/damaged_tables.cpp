// Unwind rules of every kind of code of this process, and of a copy of its own tables with damaged bytes: no fault,
// whatever they hold.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

#include "recorder/sites/frame_description.hpp"
#include "recorder/sites/modules.hpp"
#include "recorder/sites/python_layout.hpp"
#include "recorder/sites/python_text.hpp"
#include "recorder/sites/unwind_rule.hpp"

using namespace streamsan::recorder::call_sites;

namespace {

std::mt19937_64 randomness(1);

std::uint64_t up_to(std::uint64_t limit) { return randomness() % limit; }

unsigned known_rules(const Module& module, AddressRange code, unsigned count) {
    unsigned known = 0;
    for (unsigned index = 0; index < count; ++index)
        if (unwind_rule(&module, code.begin + up_to(code.end - code.begin)).frame_address <= FrameAddress::bottom)
            ++known;
    return known;
}

/// The module's image in a buffer of its own, so that a reader that leaves it is seen.
struct Copy {
    std::unique_ptr<std::uint8_t[]> bytes;
    std::uint64_t size = 0;
    Module module;

    explicit Copy(const Module& original) {
        std::uint64_t low = ~std::uint64_t{0};
        std::uint64_t high = 0;
        for (const AddressRange& range : original.segments) {
            low = std::min(low, range.begin);
            high = std::max(high, range.end);
        }
        size = high - low;
        bytes = std::make_unique<std::uint8_t[]>(size);
        for (const AddressRange& range : original.segments)
            std::memcpy(bytes.get() + (range.begin - low), reinterpret_cast<const void*>(range.begin),
                        range.end - range.begin);
        const std::uint64_t shift = reinterpret_cast<std::uint64_t>(bytes.get()) - low;
        module.segments = {{low + shift, high + shift}};
        module.code = {{original.code.front().begin + shift, original.code.front().end + shift}};
        module.unwind_table = {original.unwind_table.begin + shift, original.unwind_table.end + shift};
    }
};

}  // namespace

int main(int count, char** arguments) {
    const unsigned rounds = count > 1 ? static_cast<unsigned>(std::atoi(arguments[1])) : 300;
    unsigned known = 0;
    unsigned asked = 0;
    const Module* library = nullptr;
    Modules::instance().each([&](const Module& module) {
        for (const AddressRange& code : module.code) {
            known += known_rules(module, code, 20000);
            asked += 20000;
        }
        if (module.loader) library = &module;
    });
    std::printf("%u of %u rules known\n", known, asked);
    if (known < asked / 2 || library == nullptr) return 1;
    const Copy intact(*library);
    if (known_rules(intact.module, intact.module.code.front(), 1000) < 500) return 1;
    for (unsigned round = 0; round < rounds; ++round) {
        Copy damaged(*library);
        const std::uint64_t table = damaged.module.unwind_table.begin - damaged.module.segments.front().begin;
        // .eh_frame follows its table.
        const std::uint64_t region = std::min<std::uint64_t>(damaged.size - table, 24000);
        for (std::uint64_t change = 0; change < 1 + round * 3; ++change)
            damaged.bytes[table + up_to(region)] = static_cast<std::uint8_t>(up_to(256));
        known_rules(damaged.module, damaged.module.code.front(), 200);
    }
    // Line tables of any bytes.
    for (unsigned round = 0; round < rounds * 20; ++round) {
        const std::uint64_t size = up_to(64);
        const auto table = std::make_unique<std::uint8_t[]>(size);
        for (std::uint64_t index = 0; index < size; ++index)
            table[index] = static_cast<std::uint8_t>(up_to(256) | (up_to(2) << 7));
        for (LineTable format : {LineTable::increments, LineTable::ranges, LineTable::locations})
            position_in(format, reinterpret_cast<std::uint64_t>(table.get()), size,
                        static_cast<std::int32_t>(up_to(1000)), static_cast<std::int64_t>(up_to(300)));
    }
    return 0;
}
