// What the callbacks of a training step cost where the program has a use of its own for the caches: a library, called
// by cold_callbacks.py from within Python. Before each callback so many megabytes are walked through, and a megabyte of
// other code is run: what the recorder had in the caches and in the branch predictors is gone.
#include <sys/mman.h>
#include <x86intrin.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "cuda_core_fired.hpp"
#include "recorder/cuda/abi_memory.hpp"
#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/processes.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/cuda/settings.hpp"

namespace {

using namespace streamsan::recorder::cuda;

constexpr std::uint64_t device = 0x7f0000000000;
constexpr std::uint64_t megabyte = 1U << 20;
constexpr std::uint64_t stream = 0x51;

/// Sizes of a kernel's parameters; the handle is its address.
struct Layout {
    std::vector<std::size_t> sizes;
};
abi::Status parameter_info(abi::Word handle, std::size_t index, std::size_t* offset, std::size_t* size) {
    const auto& layout = *reinterpret_cast<const Layout*>(handle);
    if (index >= layout.sizes.size()) return 1;
    *offset = 0;
    for (std::size_t before = 0; before < index; ++before) *offset += (layout.sizes[before] + 7) / 8 * 8;
    *size = layout.sizes[index];
    return 0;
}

class Others {
public:
    explicit Others(std::uint64_t megabytes) : data_(megabytes * megabyte / 8) {
        constexpr std::size_t size = megabyte;
        code_ = static_cast<unsigned char*>(
            mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (code_ == MAP_FAILED) std::abort();
        // A jump in each line, to the next one.
        for (std::size_t at = 0; at + 128 <= size; at += 64) {
            constexpr std::array<unsigned char, 5> jump{0xe9, 59, 0, 0, 0};
            std::memcpy(code_ + at, jump.data(), jump.size());
        }
        code_[size - 64] = 0xc3;
        mprotect(code_, size, PROT_READ | PROT_EXEC);
    }
    void run() {
        for (std::size_t at = 0; at < data_.size(); at += 8) ++data_[at];
        asm volatile("" ::: "memory");
        if (!data_.empty()) reinterpret_cast<void (*)()>(code_)();
    }

private:
    std::vector<std::uint64_t> data_;
    unsigned char* code_;
};

struct Kind {
    const char* name;
    std::vector<std::uint64_t> enters, exits;
};

/// A call of the driver with its arguments.
struct Work {
    Kind* kind;
    const Callback* row;
    const char* symbol;
    alignas(8) std::array<unsigned char, 256> parameters{};
    Layout layout;
    std::vector<std::vector<std::uint64_t>> values;
    std::vector<void*> arguments;
    abi::LaunchConfig configuration{};
    std::string name;
};

class Step {
public:
    Step() {
        for (int index = 0; index < 16; ++index) {
            std::vector<std::uint64_t> pointers(3);
            for (std::uint64_t& each : pointers) each = address();
            kernel(small_, "cuLaunchKernel", {{77}, {0}, pointers}, {4, 1, 24});
        }
        for (int index = 0; index < 2; ++index) {
            std::vector<std::uint64_t> words(411);
            for (std::size_t at = 0; at < words.size(); ++at) words[at] = at % 3 == 0 ? 0 : at * 1000 + 1;
            for (std::size_t at = 0; at < 29; ++at) words[at] = address();
            kernel(large_, "cuLaunchKernel", {{65536}, words, {0}, {0x3f800000}}, {4, 411 * 8, 1, 4});
        }
        for (int index = 0; index < 4; ++index) {
            std::vector<std::uint64_t> words(40, 5);
            for (std::size_t at = 0; at < 4; ++at) words[at] = address();
            kernel(configured_, "cuLaunchKernelEx", {words}, {320});
        }
        for (int index = 0; index < 3; ++index) {
            Work& made = add(fill_, "cuMemsetD8Async");
            put(made, {address(), 0, 4096, stream});
        }
    }
    void go(Others& others) {
        for (Work* work : all_) {
            others.run();
            say(*work, abi::CallbackSite::enter, work->kind->enters);
            others.run();
            say(*work, abi::CallbackSite::exit, work->kind->exits);
        }
    }
    void forget() {
        for (Kind* kind : {&small_, &large_, &configured_, &fill_}) {
            kind->enters.clear();
            kind->exits.clear();
        }
    }
    void report(const char* where, double ticks) {
        for (Kind* kind : {&small_, &large_, &configured_, &fill_}) {
            // The best of some stretches: what else runs on the machine uses its caches, too.
            const auto mean = [ticks](const std::vector<std::uint64_t>& times) {
                constexpr std::size_t stretches = 10;
                const std::size_t size = times.size() / stretches;
                double best = 1e9;
                for (std::size_t stretch = 0; stretch < stretches; ++stretch) {
                    std::vector<std::uint64_t> part(times.begin() + static_cast<std::ptrdiff_t>(stretch * size),
                                                    times.begin() + static_cast<std::ptrdiff_t>((stretch + 1) * size));
                    std::sort(part.begin(), part.end());
                    const std::size_t usual = size - size / 10;
                    double sum = 0;
                    for (std::size_t index = 0; index < usual; ++index) sum += static_cast<double>(part[index]);
                    best = std::min(best, sum / static_cast<double>(usual) / ticks);
                }
                return best;
            };
            const double enter = mean(kind->enters), exit = mean(kind->exits);
            std::printf("%-8s %-32s %5.0f + %3.0f ns\n", where, kind->name, enter, exit);
        }
        forget();
    }

    static void allocate_all() {
        for (std::uint64_t index = 0; index < 64; ++index) {
            std::uint64_t out = device + index * 4 * megabyte;
            fired::Call("cuMemAlloc").with(0, &out).with(1, megabyte).done();
        }
    }

private:
    std::uint64_t address() {
        ++next_;
        return device + (next_ * 7 % 64) * 4 * megabyte + next_ * 512;
    }
    Work& add(Kind& kind, const char* api) {
        auto* const made = new Work;
        made->kind = &kind;
        made->row = &fired::row(api);
        all_.push_back(made);
        return *made;
    }
    static void put(Work& work, std::initializer_list<std::uint64_t> arguments) {
        std::size_t position = 0;
        for (const std::uint64_t argument : arguments) {
            const auto& parameter = work.row->parameters[position++];
            std::memcpy(work.parameters.data() + parameter.offset, &argument, std::min<std::size_t>(parameter.size, 8));
        }
    }
    void kernel(Kind& kind, const char* api, std::vector<std::vector<std::uint64_t>> values,
                std::vector<std::size_t> sizes) {
        Work& made = add(kind, api);
        made.layout.sizes = std::move(sizes);
        made.values = std::move(values);
        for (auto& each : made.values) made.arguments.push_back(each.data());
        made.name = "_Z6kernel" + std::to_string(all_.size()) + "v";
        made.symbol = made.name.c_str();
        const auto layout = reinterpret_cast<std::uint64_t>(&made.layout),
                   arguments = reinterpret_cast<std::uint64_t>(made.arguments.data());
        if (std::strcmp(api, "cuLaunchKernelEx") == 0) {
            made.configuration.stream = stream;
            const abi::LaunchKernelExCall call{&made.configuration, layout, made.arguments.data(), nullptr};
            std::memcpy(made.parameters.data(), &call, sizeof call);
        } else {
            put(made, {layout, 1, 1, 1, 32, 1, 1, 0, stream, arguments, 0});
        }
    }
    /// As deep in calls as the driver and CUPTI are.
    template <int deep>
    [[gnu::noinline]] static void through(const Work& work, const abi::CallbackData& data) {
        if constexpr (deep == 0) dispatch(nullptr, abi::Domain::driver, work.row->id, &data);
        else through<deep - 1>(work, data);
        asm volatile("" ::: "memory");
    }
    void say(Work& work, abi::CallbackSite site, std::vector<std::uint64_t>& times) {
        if (site == abi::CallbackSite::enter) ++number_;
        const abi::CallbackData data{site, "", work.parameters.data(), &status_, work.symbol, 0xc0, 1, &data_, number_};
        unsigned unused;
        const std::uint64_t begin = __rdtscp(&unused);
        _mm_lfence();
        through<5>(work, data);
        times.push_back(__rdtscp(&unused) - begin);
    }

    Kind small_{"kernel, 3 references", {}, {}};
    Kind large_{"kernel, 411 words, 29 references", {}, {}};
    Kind configured_{"cuLaunchKernelEx, 40 words", {}, {}};
    Kind fill_{"memset", {}, {}};
    std::vector<Work*> all_;
    std::uint64_t next_ = 0;
    abi::Status status_ = 0;
    std::uint64_t data_ = 0;
    std::uint32_t number_ = 0;
};

template <int deep, class Body>
[[gnu::noinline]] void at_depth(Body& body) {
    if constexpr (deep == 0) body();
    else at_depth<deep - 1>(body);
    asm volatile("" ::: "memory");
}

double ticks_of_nanosecond() {
    timespec begin{}, now{};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    const std::uint64_t first = __rdtsc();
    double passed = 0;
    while (passed < 2e7) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        passed =
            static_cast<double>(now.tv_sec - begin.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec - begin.tv_nsec);
    }
    return static_cast<double>(__rdtsc() - first) / passed;
}

}  // namespace

/// Prints nanoseconds of enter and exit by kind of call: on the calling thread, inside its Python frames, and on a
/// thread without.
extern "C" [[gnu::visibility("default")]] int cold_callbacks(const char* path, int sites, unsigned megabytes,
                                                             unsigned steps) {
    Settings settings;
    settings.output = path;
    settings.root_pid = getpid();
    settings.sites = sites != 0;
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
    Step::allocate_all();
    Others none(0), others(megabytes);
    const double ticks = ticks_of_nanosecond();
    const auto measure = [&](const char* where) {
        Step step;
        for (unsigned index = 0; index < 4; ++index) step.go(none);
        step.forget();
        for (unsigned index = 0; index < 4 * steps; ++index) step.go(none);
        step.report((std::string(where) + " hot").c_str(), ticks);
        for (unsigned index = 0; index < steps; ++index) step.go(others);
        step.report(where, ticks);
    };
    auto on_this = [&] { measure("python"); };
    at_depth<8>(on_this);
    std::thread([&] {
        auto body = [&] { measure("native"); };
        at_depth<24>(body);
    }).join();
    std::fflush(stdout);
    recorder()->writer->close();
    return 0;
}
