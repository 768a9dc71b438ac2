// What kernels are launched with, as calls without a driver below them.
#include <array>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "driver_calls.hpp"
#include "recorder/cuda/abi_memory.hpp"
#include "recorder/tests/fired.hpp"
#include "scenarios.hpp"

namespace recorded {
namespace shape_calls {

Scenarios scenarios;

namespace abi = streamsan::recorder::cuda::abi;
using fake::Kernel;

constexpr std::uint64_t device = 0x7f0000000000;
constexpr std::uint64_t megabyte = 1U << 20;
constexpr std::uint64_t stream = 0x1001;

const Kernel scale{"_Z5scalePfPKfi", {8, 8, 4}};
const Kernel mixed{"_Z5mixedciPdc", {1, 4, 8, 1}};  // with room between its parameters
const Kernel nothing{"_Z7nothingv", {}};
const Kernel large{"_Z5large5Large", {4000}};
const Kernel padded{"_Z6paddediiPf", {4, 16, 8}};
const Kernel inner{"_Z5inner5Inneri", {400, 4}};
const Kernel counted{"_Z7countedmmPf", {8, 8, 8}};

template <class T>
std::uint64_t at(T& variable) {
    return reinterpret_cast<std::uint64_t>(&variable);
}

std::uint64_t allocate(std::uint64_t index) {
    std::uint64_t out = 0;
    fired::Call made("cuMemAlloc");
    made.all({at(out), megabyte}).enter();
    out = device + index * 4 * megabyte;
    made.exit();
    return out;
}

void launch(const Kernel& kernel, std::vector<const void*> arguments, std::uint64_t blocks = 4) {
    fired::Call made("cuLaunchKernel");
    made.all({at(kernel), blocks, 3, 2, 32, 2, 1, 64, stream, reinterpret_cast<std::uint64_t>(arguments.data()), 0});
    made.symbol(kernel.mangled).done();
}

void launch_scale(std::uint64_t to, std::uint64_t from, int count, std::uint64_t blocks = 4) {
    launch(scale, {&to, &from, &count}, blocks);
}

SCENARIO(launches) {
    const std::uint64_t a = allocate(0), b = allocate(1), c = allocate(2);
    launch_scale(a, b, 7);
    launch_scale(a, b, 7);
    launch_scale(b + 64, c, 7);  // a ring of buffers has one shape
    launch_scale(a, b, 8);
    launch_scale(a, b, 7, 5);
    launch_scale(a, a, 7);       // one reference with two places
    launch_scale(a, 0x1234, 7);  // a number
    launch(nothing, {});
    const char one = 1, two = 2;
    const int three = 3;
    launch(mixed, {&one, &three, &a, &two});
    // The library's own stack, dirty between the parameters, is no part of it.
    launch(mixed, {&one, &three, &b, &two});
}

SCENARIO(kinds_of_calls) {
    std::uint64_t a = allocate(0), b = allocate(1);
    int count = 7;
    void* arguments[]{&a, &b, &count};
    abi::LaunchConfig configuration{{4, 3, 2}, {32, 2, 1}, 64, stream, nullptr, 0};
    fired::Call("cuLaunchKernelEx").all({at(configuration), at(scale), at(arguments), 0}).symbol(scale.mangled).done();
    fired::Call("cuLaunchCooperativeKernel")
        .all({at(scale), 4, 3, 2, 32, 2, 1, 64, stream, at(arguments)})
        .symbol(scale.mangled)
        .done();
    abi::LaunchParameters parameters{at(scale), {4, 3, 2}, {32, 2, 1}, 64, stream, arguments};
    fired::Call("cuLaunchCooperativeKernelMultiDevice").all({at(parameters), 1, 0}).done();
    std::uint64_t buffer[3]{a, b, 7};
    std::size_t size = 20;
    void* extra[]{reinterpret_cast<void*>(1), buffer, reinterpret_cast<void*>(2), &size, nullptr};
    fired::Call("cuLaunchKernel")
        .all({at(scale), 4, 3, 2, 32, 2, 1, 64, stream, 0, at(extra)})
        .symbol(scale.mangled)
        .done();
    size = 12;  // ends inside of a parameter
    fired::Call("cuLaunchKernel")
        .all({at(scale), 4, 3, 2, 32, 2, 1, 64, stream, 0, at(extra)})
        .symbol(scale.mangled)
        .done();
    fired::Call("cuFuncSetBlockShape").all({at(scale), 32, 2, 1}).done();
    fired::Call("cuFuncSetSharedSize").all({at(scale), 64}).done();
    fired::Call("cuParamSetv").all({at(scale), 0, at(buffer), 16}).done();
    fired::Call("cuParamSeti").all({at(scale), 16, 7}).done();
    fired::Call("cuLaunchGridAsync").all({at(scale), 4, 3, stream}).done();
    fired::Call("cuLaunch").all({at(scale)}).done();
}

SCENARIO(older_driver) {
    const std::uint64_t a = allocate(0), b = allocate(1);
    launch_scale(a, b, 7);
    std::uint64_t buffer[3]{a, b, 7};
    std::size_t size = 20;
    void* extra[]{reinterpret_cast<void*>(1), buffer, reinterpret_cast<void*>(2), &size, nullptr};
    fired::Call("cuLaunchKernel")
        .all({at(scale), 1, 1, 1, 32, 1, 1, 0, stream, 0, at(extra)})
        .symbol(scale.mangled)
        .done();
}

/// The same numbers in each run: test_recorded_shapes.py draws them again.
class Draws {
public:
    std::uint32_t below(std::uint32_t end) {
        state_ = state_ * 1664525 + 1013904223;
        return (state_ >> 16) % end;
    }

private:
    std::uint32_t state_ = 7;
};

/// Few kernels with few arguments in any order, so that most launches were met before, though rarely right before.
/// In the middle a number becomes an address.
SCENARIO(in_any_order) {
    const std::uint64_t a = allocate(0), b = allocate(1), later = device + 8 * megabyte;
    allocate(3);
    const std::array<std::uint64_t, 6> values{a, b, a + 8, 0x1234, 0, later};
    Draws draws;
    for (int count = 0; count < 1200; ++count) {
        if (count == 600) allocate(2);
        const std::uint32_t kernel = draws.below(3), blocks = 1 + draws.below(2), number = draws.below(2);
        std::array<std::uint64_t, 3> drawn{};
        for (std::uint64_t& each : drawn) each = values[draws.below(6)];
        const char narrow = static_cast<char>(number), one = 1;
        std::array<std::uint64_t, 50> structure{};
        structure[3] = drawn[0];
        structure[4] = drawn[1];
        structure[20] = number;
        structure[49] = drawn[2];
        if (kernel == 0) launch(scale, {&drawn[0], &drawn[1], &number}, blocks);
        else if (kernel == 1) launch(mixed, {&narrow, &number, &drawn[0], &one}, blocks);
        else launch(inner, {&structure, &number}, blocks);
    }
}

/// A buffer that ends early has a shape of its own, however often it was met.
SCENARIO(short_buffers) {
    std::uint64_t buffer[3]{allocate(0), allocate(1), 7};
    std::size_t size = 12;
    void* extra[]{reinterpret_cast<void*>(1), buffer, reinterpret_cast<void*>(2), &size, nullptr};
    for (int again = 0; again < 8; ++again) {
        if (again % 4 == 3) launch_scale(buffer[0], buffer[1], 7);
        else
            fired::Call("cuLaunchKernel")
                .all({at(scale), 4, 3, 2, 32, 2, 1, 64, stream, 0, at(extra)})
                .symbol(scale.mangled)
                .done();
    }
}

/// A buffer that ends long before the parameters do, with leftovers: as often as these are looked for, and more.
SCENARIO(short_buffers_that_differ) {
    const std::uint64_t a = allocate(0);
    static std::vector<char> heap(megabyte);
    std::array<std::uint64_t, 12> buffer{a};
    std::size_t size = sizeof buffer;
    void* extra[]{reinterpret_cast<void*>(1), buffer.data(), reinterpret_cast<void*>(2), &size, nullptr};
    for (std::size_t count = 0; count < 40; ++count) {
        buffer[5] = at(heap[count * 16]);
        fired::Call("cuLaunchKernel")
            .all({at(inner), 4, 3, 2, 32, 2, 1, 64, stream, 0, at(extra)})
            .symbol(inner.mangled)
            .done();
    }
}

/// As many as there are, and some more, from several threads.
SCENARIO(counters) {
    const std::uint64_t a = allocate(0), b = allocate(1);
    constexpr int each = 20;
    static std::array<std::array<char, 16>, 4 * each> names;
    static std::vector<Kernel> kernels;
    for (auto& name : names) {
        std::snprintf(name.data(), name.size(), "_Z7scale%02zuPfPKfi", kernels.size());
        kernels.push_back({name.data(), {8, 8, 4}});
    }
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread)
        threads.emplace_back([=] {
            for (int kernel = thread * each; kernel < (thread + 1) * each; ++kernel)
                for (int count = 0; count < 1000; ++count) launch(kernels[kernel], {&a, &b, &count});
        });
    for (std::thread& thread : threads) thread.join();
}

/// The arguments of one kernel differ each time.
SCENARIO(step_counter) {
    const std::uint64_t a = allocate(0), b = allocate(1);
    for (int count = 0; count < 3000; ++count) launch_scale(a, b, count);
    launch_scale(a, b, 0);
    launch_scale(a, a, 0);
    launch_scale(b, 0x1234, 0);
    launch(nothing, {});  // another kernel keeps its own
    launch(mixed, {"a", &a, &b, "b"});
}

/// Many, but the same ones again and again.
SCENARIO(tiles) {
    const std::uint64_t a = allocate(0), b = allocate(1);
    for (int pass = 0; pass < 4; ++pass)
        for (int tile = 0; tile < 700; ++tile) launch_scale(a, b, pass / 2 * 700 + tile);
}

/// A large structure, in which a number differs each time.
SCENARIO(large_structures) {
    const std::uint64_t a = allocate(0), b = allocate(1);
    std::array<std::uint64_t, 500> structure{};
    structure[3] = a;
    structure[499] = b;
    for (std::uint64_t count = 0; count < 200; ++count) {
        structure[7] = count % 5;
        structure[9] = count / 5 % 5;
        structure[11] = count / 25;
        launch(large, {&structure});
    }
}

/// Large structures of a step in two parts, as an optimiser's: a counter that goes up, one that goes down and begins
/// anew, a factor that both parts have, and words that come again. At first the stack had something else there.
SCENARIO(words_that_never_come_again) {
    const std::uint64_t a = allocate(0), b = allocate(1);
    for (std::uint64_t step = 0; step < 100; ++step)
        for (std::uint64_t part = 0; part < 2; ++part) {
            std::array<std::uint64_t, 500> structure{};
            structure[3] = a;
            structure[part == 0 ? 499 : 400] = b;
            structure[7] = step < 2 ? 1'000'000 - step : 30 * step + part;
            structure[9] = (1000 - 150 * (step % 6)) % 917 + step / 6;
            structure[11] = 0x3d00'0000 + step * step;
            structure[13] = 64 * part;
            structure[15] = step % 3;
            launch(large, {&structure});
        }
}

/// Five sizes, and a structure of which one word holds what was on the stack: rarely an address.
SCENARIO(padding) {
    const std::uint64_t a = allocate(0), b = allocate(1);
    for (std::uint64_t count = 0; count < 3000; ++count) {
        const std::uint32_t size = static_cast<std::uint32_t>(count % 5);
        const std::array<std::uint64_t, 2> structure{7, count % 50 == 49 ? b : count};
        launch(padded, {&size, &structure, &a});
    }
}

/// A large structure, of which one word holds what was on the stack: often an address.
SCENARIO(leftovers) {
    const std::uint64_t a = allocate(0), b = allocate(1);
    const std::uint32_t size = 7;
    std::array<std::uint64_t, 50> structure{};
    structure[3] = a;
    structure[40] = a + 8;
    for (std::uint64_t count = 0; count < 2000; ++count) {
        structure[10] = count % 5 == 4 ? b : count;
        launch(inner, {&structure, &size});
    }
}

/// Large structures with two dozen addresses in any order, most of which were met before: some words are addresses at
/// times only, one differs each time, and in the middle a number becomes an address.
SCENARIO(many_addresses) {
    const std::uint64_t a = allocate(0), later = device + 8 * megabyte;
    allocate(1);
    Draws draws;
    std::array<std::uint64_t, 500> structure{};
    for (std::uint64_t count = 0; count < 1500; ++count) {
        if (count == 1000) allocate(2);
        for (std::uint64_t index = 0; index < 24; ++index) structure[2 * index] = a + 512 * index;
        const std::uint32_t changed = draws.below(3);
        if (changed == 0) structure[6] = structure[2];  // one address twice
        if (changed == 1) structure[10] = later;        // from the middle on
        if (changed == 2) structure[8] = 0x1234;        // a number in the place of one
        structure[401] = changed == 2 ? a + 64 : 7;     // an address in the place of a number
        structure[450] = count;                         // differs
        launch(large, {&structure}, 1 + draws.below(2));
    }
}

/// Padding, and words of a large structure that nobody has set, keep addresses of the host's memory. Beside them,
/// numbers that differ as often, and as large ones, and a word with few addresses.
SCENARIO(host_addresses) {
    const std::uint64_t a = allocate(0), b = allocate(1);
    static std::vector<char> heap(megabyte);
    const std::uint32_t size = 7;
    std::array<std::uint64_t, 50> structure{};
    structure[3] = a;
    for (std::uint64_t count = 0; count < 100; ++count) {
        const std::array<std::uint64_t, 2> sure{7, at(heap[count * 16])};
        launch(padded, {&size, &sure, &a});
        const std::uint64_t number = (count << 50) + 7, offset = 4 * megabyte + 1000 * count;
        launch(counted, {&number, &offset, &b});
        structure[10] = at(heap[16 * (count % 3)]);
        structure[11] = count;
        launch(inner, {&structure, &size});
    }
}

/// Neither arguments nor sizes come back.
SCENARIO(everything_differs) {
    const std::uint64_t a = allocate(0), b = allocate(1);
    for (int count = 0; count < 2500; ++count) launch_scale(a, b, count, 1 + static_cast<std::uint64_t>(count));
}

SCENARIO(rotation) {
    const std::uint64_t a = allocate(0), b = allocate(1);
    for (int count = 0; count < 20'000; ++count) launch_scale(a, b, count % 500);
    for (int count = 0; count < 20'000; ++count) launch_scale(a, b, count);
}

SCENARIO(nodes_of_graphs) {
    const std::uint64_t a = allocate(0), b = allocate(1);
    const fake::Word child = fake::graph_create();
    fake::add_kernel(child, {}, scale, {a, b, 7});
    const fake::Word graph = fake::graph_create();
    const fake::Word node = fake::add_kernel(graph, {}, scale, {a, b, 7});
    const fake::Word copy = fake::add_copy(graph, {node}, a, b, 4096);
    fake::add_child(graph, {copy}, child);
    fake::Word executable = 0;
    fake::instantiate(executable, graph);
    fake::set_kernel(executable, node, scale, {b, a, 8});
    fake::enable(executable, node, 0);
    fake::enable(executable, node, 1);
}

void begin(std::string& settings, std::string_view scenario) {
    settings += "sites=0\n";
    if (scenario == "rotation") settings += "max_bytes=4194304\n";
    begin_with_driver(settings, scenario == "older_driver");
    fired::context = 0xc0;
}

}  // namespace shape_calls

const bool shape_calls_are_there =
    families().emplace("shapes", Family{shape_calls::scenarios, shape_calls::begin}).second;

}  // namespace recorded
