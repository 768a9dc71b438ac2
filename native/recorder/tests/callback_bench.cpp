// What the callbacks of a call cost: `cuda_callback_bench F.sst`. Warm: the same call again and again. Cold: between
// any two callbacks the program, here a walk through memory, has thrown the recorder's code and data out of the near
// caches. `cuda_callback_bench F.sst CASE COUNT` runs one case so often, for a profiler or a count of instructions.
// `--no-sites` first leaves call sites out; else the calls come from a dozen frames below main.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include "fired.hpp"
#include "recorder/cuda/announced_blocks.hpp"
#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/processes.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/run/settings.hpp"

namespace {

using namespace streamsan::recorder::cuda;

constexpr std::uint64_t device = 0x7f0000000000;
constexpr std::uint64_t megabyte = 1U << 20;
constexpr unsigned call_depth = 12;

std::uint64_t nanoseconds() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

/// Parameters of the kernels, by handle.
struct Layout {
    std::vector<std::size_t> sizes;
};
abi::Status parameter_info(abi::Word handle, std::size_t index, std::size_t* offset, std::size_t* size) {
    const auto& layout = *reinterpret_cast<const Layout*>(handle);
    if (index >= layout.sizes.size()) return 1;
    *offset = 8 * index;
    *size = layout.sizes[index];
    return 0;
}

/// As CUPTI does: nothing of it is inlined here.
const volatile abi::CallbackFunction callback = dispatch;

/// One call of the driver.
class Prepared {
public:
    Prepared(std::string_view name, std::initializer_list<std::uint64_t> arguments, const char* symbol = nullptr)
        : row_(fired::row(name)), symbol_(symbol != nullptr ? symbol : "garbage") {
        std::size_t position = 0;
        for (const std::uint64_t argument : arguments) {
            const auto& parameter = row_.parameters[position++];
            std::memcpy(parameters_ + parameter.offset, &argument, std::min<std::size_t>(parameter.size, 8));
        }
    }
    void enter() {
        ++number_;
        say(abi::CallbackSite::enter);
    }
    void exit() { say(abi::CallbackSite::exit); }

private:
    void say(abi::CallbackSite site) {
        const abi::CallbackData data{site, "", parameters_, &status_, symbol_, 0xc0, 1, &data_, number_};
        callback(nullptr, abi::Domain::driver, row_.id, &data);
    }

    const Callback& row_;
    const char* symbol_;
    alignas(8) unsigned char parameters_[256]{};
    abi::Status status_ = 0;
    std::uint64_t data_ = 0;
    static inline std::uint32_t number_ = 0;
};

std::vector<std::uint64_t> walked(4 * megabyte / 8);
std::uint64_t throw_out() {
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at < walked.size(); at += 8) sum += walked[at]++;
    return sum;
}

std::uint64_t median(std::vector<std::uint64_t>& times) {
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    return times[times.size() / 2];
}

std::uint64_t clock_cost() {
    std::uint64_t least = ~std::uint64_t{0};
    for (int index = 0; index < 1000; ++index) {
        const std::uint64_t begin = nanoseconds();
        least = std::min(least, nanoseconds() - begin);
    }
    return least;
}

void measure_call(const char* what, Prepared& call) {
    constexpr int warm_calls = 20'000;
    std::uint64_t best = ~std::uint64_t{0};
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t begin = nanoseconds();
        for (int index = 0; index < warm_calls / 10; ++index) {
            call.enter();
            call.exit();
        }
        best = std::min(best, (nanoseconds() - begin) * 10 / (warm_calls / 10));
    }
    const std::uint64_t clock = clock_cost();
    std::vector<std::uint64_t> enters, exits;
    std::uint64_t sum = 0;
    for (int index = 0; index < 300; ++index) {
        sum += throw_out();
        const std::uint64_t first = nanoseconds();
        call.enter();
        enters.push_back(nanoseconds() - first - clock);
        sum += throw_out();
        const std::uint64_t second = nanoseconds();
        call.exit();
        exits.push_back(nanoseconds() - second - clock);
    }
    std::printf("%-40s warm %5.1f ns   cold %4llu + %3llu ns%s\n", what, static_cast<double>(best) / 10,
                static_cast<unsigned long long>(median(enters)), static_cast<unsigned long long>(median(exits)),
                sum == 1 ? "." : "");
}

/// A launch of a kernel that has these parameters; it refers to what it is given.
struct Launch {
    Launch(std::vector<std::size_t> sizes, const char* symbol, std::vector<void*> values, std::uint64_t blocks = 1)
        : layout{std::move(sizes)},
          given(std::move(values)),
          call("cuLaunchKernel",
               {reinterpret_cast<std::uint64_t>(&layout), blocks, 1, 1, 32, 1, 1, 0, 0x51,
                reinterpret_cast<std::uint64_t>(given.data()), 0},
               symbol) {}
    Launch(const Launch&) = delete;
    Launch& operator=(const Launch&) = delete;

    void operator()() {
        call.enter();
        call.exit();
    }

    Layout layout;
    std::vector<void*> given;
    Prepared call;
};

/// As the structures that PyTorch's optimisers pass by value: addresses in a row, sizes, leftovers.
struct Structure {
    explicit Structure(std::size_t pointers) {
        for (std::size_t index = 0; index < words.size(); ++index) words[index] = index % 3 == 0 ? 0 : index * 1000 + 1;
        for (std::size_t index = 0; index < pointers; ++index)
            words[index] = device + index % 64 * 4 * megabyte + 512 * index;
    }
    std::array<std::uint64_t, 438> words{};
};

/// What the cases pass.
struct Values {
    std::uint64_t a = device, b = device + 4 * megabyte, other = device + 8 * megabyte;
    std::uint32_t number = 7;
    Structure twenty{20}, fifty{50}, hundred{100};
    std::uint64_t step = 0;
    std::array<std::uint32_t, 30> seeds{};
};

void stream_ordered_pair() {
    static std::uint64_t out = device + 512 * megabyte;
    static Prepared allocation("cuMemAllocAsync", {reinterpret_cast<std::uint64_t>(&out), 4096, 0x51});
    static Prepared release("cuMemFreeAsync", {out, 0x51});
    allocation.enter();
    allocation.exit();
    release.enter();
    release.exit();
}

void pool_block() {
    static PoolWord hands_out{"bench::malloc"}, takes_back{"bench::free"};
    block_handed_out(hands_out, device + 4 * megabyte, 4096, 0x51);
    block_taken_back(takes_back, device + 4 * megabyte, 0x51);
}

/// Runs `work` this many frames further in.
[[gnu::noinline]] void deeper(unsigned frames, const std::function<void()>& work) {
    if (frames == 0) work();
    else deeper(frames - 1, work);
    asm volatile("");  // no tail call
}

/// One call or a few, again and again.
struct Case {
    std::string_view name;
    std::function<void()> run;
};

std::vector<Case> cases(Values& values) {
    static Launch small({8, 8, 4}, "_Z5scalePfPKfi", {&values.a, &values.b, &values.number});
    static Launch large({3504}, "_Z5large5Large", {values.fifty.words.data()});
    static std::uint32_t count = 0;
    static Launch counted({8, 8, 4}, "_Z5countPfPKfi", {&values.a, &values.b, &count});
    static Launch step({3504}, "_Z4step5Large", {values.hundred.words.data()});
    static Launch optimiser({3504}, "_Z9optimiser5Large", {values.twenty.words.data()});
    static std::vector<std::unique_ptr<Launch>> seeded, repeated;
    static std::vector<std::string> names;
    names.reserve(100);
    for (std::size_t kernel = 0; kernel < values.seeds.size(); ++kernel) {
        names.push_back("_Z4seed" + std::to_string(kernel));
        seeded.push_back(
            std::make_unique<Launch>(std::vector<std::size_t>{8, 8, 4, 4}, names.back().c_str(),
                                     std::vector<void*>{&values.a, &values.b, &values.number, &values.seeds[kernel]}));
    }
    // As the launches of a training step: a dozen kernels, most with one shape, some with three in turns.
    for (std::uint64_t launch = 0; launch < 40; ++launch) {
        names.push_back("_Z4part" + std::to_string(launch % 12));
        static std::vector<std::vector<std::size_t>> sizes{{8, 8, 4}, {8, 8, 8, 8, 4, 4}, {400}};
        static Structure few{5};
        const std::size_t kind = launch % 12 % 3;
        repeated.push_back(std::make_unique<Launch>(
            sizes[kind], names.back().c_str(),
            kind == 0 ? std::vector<void*>{&values.a, &values.b, &values.number}
            : kind == 1
                ? std::vector<void*>{&values.a, &values.b, &values.other, &values.a, &values.number, &values.number}
                : std::vector<void*>{few.words.data()},
            1 + (launch % 12 < 9 ? 0 : launch / 12)));
    }
    return {
        {"launch, two pointers", [] { small(); }},
        {"launch, 3504 bytes with 50 pointers", [] { large(); }},
        {"launch, two pointers and a counter",
         [] {
             ++count;
             counted();
         }},
        {"launch, 3504 bytes, 100 and a counter",
         [&values] {
             ++values.hundred.words[437];
             step();
         }},
        {"launch, 3504 bytes, 20, counters, a ring",
         [&values] {
             // What calls before left on the stack: numbers of theirs, times, one of eight addresses of the host.
             auto& words = values.twenty.words;
             const std::uint64_t step = ++values.step;
             words[30] = 41 * step;
             words[158] = 0x7ffc'0000'0000 + 360 * step;
             words[254] = 330 * step;
             words[255] = 0x7f5c'1e28'0000 + step % 8 * 0x10000;
             words[279] = (step % 8 << 32) + 256;
             optimiser();
         }},
        {"30 kernels with new seeds",
         [&values] {
             for (std::size_t kernel = 0; kernel < seeded.size(); ++kernel) {
                 ++values.seeds[kernel];
                 (*seeded[kernel])();
             }
         }},
        {"40 launches of a step",
         [] {
             for (const auto& launch : repeated) (*launch)();
         }},
        {"storm: 4 launches and a pair",
         [] {
             for (int launch = 0; launch < 4; ++launch) small();
             stream_ordered_pair();
         }},
        {"allocation and free, a pair", stream_ordered_pair},
        {"block of a pool, a pair", pool_block},
    };
}

void measure_case(const Case& each) {
    constexpr int rounds = 20, calls = 500;
    std::uint64_t best = ~std::uint64_t{0};
    for (int round = 0; round < rounds; ++round) {
        const std::uint64_t begin = nanoseconds();
        for (int call = 0; call < calls; ++call) each.run();
        best = std::min(best, (nanoseconds() - begin) * 10 / calls);
    }
    const std::uint64_t clock = clock_cost();
    std::vector<std::uint64_t> cold;
    std::uint64_t sum = 0;
    for (int index = 0; index < 300; ++index) {
        sum += throw_out();
        const std::uint64_t first = nanoseconds();
        each.run();
        cold.push_back(nanoseconds() - first - clock);
    }
    std::printf("%-40s warm %7.1f ns   cold %6llu ns%s\n", std::string(each.name).c_str(),
                static_cast<double>(best) / 10, static_cast<unsigned long long>(median(cold)), sum == 1 ? "." : "");
}

}  // namespace

int main(int count, char** arguments) {
    const bool sites = count < 2 || std::string_view(arguments[1]) != "--no-sites";
    if (!sites) {
        ++arguments;
        --count;
    }
    if (count < 2) return 2;
    streamsan::recorder::Settings settings;
    settings.output = arguments[1];
    settings.root_pid = getpid();
    settings.sites = sites;
    std::string reason;
    if (!start_recorder(settings, reason)) {
        std::fprintf(stderr, "%s\n", reason.c_str());
        return 1;
    }
    static Driver driver{};
    driver.cuKernelGetParamInfo = parameter_info;
    recorder()->driver = &driver;
    recorder()->ready = true;
    phase = Phase::main;
    prepare_dispatch();

    std::uint64_t out = 0;
    for (std::uint64_t index = 0; index < 64; ++index) {
        out = device + index * 4 * megabyte;
        Prepared allocation("cuMemAlloc", {reinterpret_cast<std::uint64_t>(&out), megabyte});
        allocation.enter();
        allocation.exit();
    }
    static Values values;
    const std::vector<Case> all = cases(values);
    if (count > 3) {
        const auto found = std::ranges::find(all, std::string_view(arguments[2]), &Case::name);
        if (found == all.end()) return 2;
        deeper(call_depth, [&] {
            for (long call = std::atol(arguments[3]); call > 0; --call) found->run();
        });
    } else {
        deeper(call_depth, [&] {
            for (const Case& each : all) measure_case(each);
            Prepared graph("cuGraphLaunch", {0x6001, 0x51});
            measure_call("graph launch", graph);
            Prepared record("cuEventRecord", {0xe1, 0x51});
            measure_call("event record", record);
        });
    }
    recorder()->writer->close();
    return 0;
}
