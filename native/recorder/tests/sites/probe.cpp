#include "probe.hpp"

#include <pthread.h>
#include <time.h>
#include <unwind.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "recorder/sites/modules.hpp"
#include "recorder/sites/sites.hpp"

using namespace streamsan::recorder;
using namespace streamsan::recorder::call_sites;

namespace {

constexpr unsigned kept = 24;

/// As the real one: a child of a fork can use it.
Writer& writer() {
    static Writer& made = []() -> Writer& {
        auto& all = *new Writer;
        pthread_atfork([] { writer().mutex.lock(); }, [] { writer().mutex.unlock(); }, [] { writer().mutex.unlock(); });
        return all;
    }();
    return made;
}

Sites& sites() {
    static Sites& made = *new Sites(writer());
    return made;
}

std::uint64_t base_of(const std::string& path) {
    std::uint64_t base = 0;
    Modules::instance().each([&](const Module& module) {
        if (module.path == path) base = module.base;
    });
    return base;
}

}  // namespace

extern "C" {

[[gnu::noinline]] unsigned probe_chain(std::uint64_t* addresses, unsigned limit) {
    std::uint32_t site = sites().here(0);
    unsigned count = 0;
    for (; site != 0 && count < limit; site = writer().sites.at(site).caller) {
        const SiteRecord& record = writer().sites.at(site);
        addresses[count++] = base_of(writer().modules.at(record.module).first) + record.offset + 1;
    }
    return count;
}

[[gnu::noinline]] unsigned probe_backtrace(std::uint64_t* addresses, unsigned limit) {
    struct Walk {
        std::uint64_t* addresses;
        unsigned limit;
        unsigned count;
    } walk{addresses, limit, 0};
    _Unwind_Backtrace(
        [](_Unwind_Context* context, void* argument) {
            auto& state = *static_cast<Walk*>(argument);
            int before = 0;
            const std::uint64_t address = _Unwind_GetIPInfo(context, &before) + (before != 0 ? 1u : 0u);
            if (address <= 1) return _URC_END_OF_STACK;
            const Module* module = Modules::instance().find(address - 1);
            if (module != nullptr && module->of_the_api) return _URC_NO_REASON;
            if (state.count == state.limit) return _URC_NORMAL_STOP;
            state.addresses[state.count++] = address;
            return _URC_NO_REASON;
        },
        &walk);
    return walk.count;
}

[[gnu::noinline]] int probe_agrees(const char* name) {
    std::array<std::uint64_t, kept> expected{};
    const unsigned count = probe_backtrace(expected.data(), kept);
    for (int attempt = 0; attempt < 3; ++attempt) {
        std::array<std::uint64_t, 64> found{};
        const unsigned seen = probe_chain(found.data(), 64);
        if (seen == count && std::memcmp(expected.data(), found.data(), count * 8) == 0) continue;
        std::printf("%s: attempt %d: %u frames, %u expected\n", name, attempt, seen, count);
        for (unsigned index = 0; index < std::max(seen, count); ++index)
            std::printf("  %12lx %12lx\n", static_cast<unsigned long>(found[index]),
                        static_cast<unsigned long>(index < kept ? expected[index] : 0));
        return 0;
    }
    std::printf("%s: %u frames\n", name, count);
    return 1;
}

[[gnu::noinline]] std::uint32_t probe_site(std::uint32_t label) { return sites().here(label); }

[[gnu::noinline]] unsigned probe_text(char* text, std::size_t size) {
    std::string all;
    unsigned count = 0;
    for (std::uint32_t site = sites().here(0); site != 0; ++count) {
        const SiteRecord& record = writer().sites.at(site);
        all += writer().strings.at(record.file) + '\t' + writer().strings.at(record.function) + '\t' +
               std::to_string(record.line) + '\t' + std::to_string(record.column) + '\t' +
               writer().modules.at(record.module).first + '\n';
        site = record.caller;
    }
    if (size != 0) {
        const std::size_t length = std::min(size - 1, all.size());
        std::memcpy(text, all.data(), length);
        text[length] = 0;
    }
    return count;
}

int probe_main_has_begun() { return sites().main_has_begun() ? 1 : 0; }

void probe_forget() { sites().forget(); }
}
