// What the callbacks of a call cost: `cuda_callback_bench F.sst`. Warm: the same call again and again. Cold: between
// any two callbacks the program, here a walk through memory, has thrown the recorder's code and data out of the near
// caches.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <unistd.h>
#include <vector>

#include "fired.hpp"
#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/processes.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/cuda/settings.hpp"

namespace {

using namespace streamsan::recorder::cuda;

constexpr std::uint64_t device = 0x7f0000000000;
constexpr std::uint64_t megabyte = 1U << 20;

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
        dispatch(nullptr, abi::Domain::driver, row_.id, &data);
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

void measure(const char* what, Prepared& call) {
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

}  // namespace

int main(int count, char** arguments) {
    if (count < 2) return 2;
    Settings settings;
    settings.output = arguments[1];
    settings.root_pid = getpid();
    settings.sites = count > 2;
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
    std::uint64_t a = device, b = device + 4 * megabyte;
    std::uint32_t number = 7;
    Layout two{{8, 8, 4}}, big{{3504}};
    void* two_arguments[]{&a, &b, &number};
    const auto launch = [](Layout& layout, const char* symbol, void** given) {
        return Prepared("cuLaunchKernel",
                        {reinterpret_cast<std::uint64_t>(&layout), 1, 1, 1, 32, 1, 1, 0, 0x51,
                         reinterpret_cast<std::uint64_t>(given), 0},
                        symbol);
    };
    Prepared small = launch(two, "_Z5scalePfPKfi", two_arguments);
    measure("launch, two pointers", small);

    std::array<std::uint64_t, 438> words{};
    void* one_argument[]{words.data()};
    for (std::size_t index = 0; index < words.size(); ++index) words[index] = index % 3 == 0 ? 0 : index * 1000 + 1;
    for (std::size_t index = 0; index < 50; ++index) words[index] = device + index * 4 * megabyte + 512 * index;
    Prepared large = launch(big, "_Z5large5Large", one_argument);
    measure("launch, 3504 bytes with 50 pointers", large);

    // Another number at each launch, as of an optimiser's step.
    const auto count_on = [](const char* what, Prepared& call, auto& counter) {
        constexpr int launches = 20'000;
        const std::uint64_t begin = nanoseconds();
        for (int index = 0; index < launches; ++index) {
            ++counter;
            call.enter();
            call.exit();
        }
        std::printf("%-40s warm %5.1f ns\n", what, static_cast<double>(nanoseconds() - begin) / launches);
    };
    Layout three{{8, 8, 4}}, step{{3504}};
    Prepared counted = launch(three, "_Z5countPfPKfi", two_arguments);
    count_on("launch, two pointers and a counter", counted, number);
    Prepared counted_large = launch(step, "_Z4step5Large", one_argument);
    count_on("launch, 3504 bytes with a counter", counted_large, words[437]);

    Prepared graph("cuGraphLaunch", {0x6001, 0x51});
    measure("graph launch", graph);
    Prepared record("cuEventRecord", {0xe1, 0x51});
    measure("event record", record);

    out = device + 512 * megabyte;
    Prepared allocation("cuMemAllocAsync", {reinterpret_cast<std::uint64_t>(&out), 4096, 0x51});
    Prepared release("cuMemFreeAsync", {out, 0x51});
    constexpr int pairs = 20'000;
    const std::uint64_t begin = nanoseconds();
    for (int index = 0; index < pairs; ++index) {
        allocation.enter();
        allocation.exit();
        release.enter();
        release.exit();
    }
    std::printf("%-40s warm %5.1f ns\n", "allocation and free, a pair",
                static_cast<double>(nanoseconds() - begin) / pairs);
    std::vector<std::uint64_t> times[4];
    const std::uint64_t clock = clock_cost();
    std::uint64_t sum = 0;
    for (int index = 0; index < 300; ++index) {
        for (int part = 0; part < 4; ++part) {
            sum += throw_out();
            const std::uint64_t first = nanoseconds();
            if (part == 0) allocation.enter();
            if (part == 1) allocation.exit();
            if (part == 2) release.enter();
            if (part == 3) release.exit();
            times[part].push_back(nanoseconds() - first - clock);
        }
    }
    std::printf("%-40s cold %llu + %llu, %llu + %llu ns; clock %llu ns%s\n", "allocation, free",
                static_cast<unsigned long long>(median(times[0])), static_cast<unsigned long long>(median(times[1])),
                static_cast<unsigned long long>(median(times[2])), static_cast<unsigned long long>(median(times[3])),
                static_cast<unsigned long long>(clock), sum == 1 ? "." : "");
    recorder()->writer->close();
    return 0;
}
