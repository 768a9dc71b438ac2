// Machine code that is loaded and unloaded around launches.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "driver_calls.hpp"
#include "recorder/cuda/abi_memory.hpp"
#include "recorder/tests/fake/modules.hpp"
#include "recorder/tests/fired.hpp"
#include "scenarios.hpp"

namespace recorded {
namespace code_calls {

Scenarios scenarios;

namespace abi = streamsan::recorder::cuda::abi;
using fake::Kernel;
using fake::put_into_library;
using fake::Word;
using Image = std::vector<unsigned char>;

constexpr const char* symbol = "_Z5scalePf";
const Kernel one{symbol, {8}};
const Kernel two{symbol, {8}};
constexpr Word first_library = 0xa10, second_library = 0xa20;

template <class T>
std::uint64_t at(T& variable) {
    return reinterpret_cast<std::uint64_t>(&variable);
}

void load(std::uint32_t number, const Image& image) {
    fired::module(abi::Resource::module_loaded, number, image.data(), image.size());
}
void unload(std::uint32_t number) { fired::module(abi::Resource::module_unload_starting, number); }

/// The images are loaded inside the launch.
void launch(const Kernel& kernel, std::uint32_t number = 0, const Image& image = {}, std::uint64_t value = 0) {
    void* arguments[]{&value};
    fired::Call made("cuLaunchKernel");
    made.all({at(kernel), 1, 1, 1, 32, 1, 1, 0, 0x1001, at(arguments), 0}).symbol(kernel.mangled);
    made.enter();
    if (!image.empty()) load(number, image);
    made.exit();
}

/// Loads an image inside of the call that makes a library.
void load_library(Word library, std::uint32_t number, const Image& image) {
    Word out = 0;
    fired::Call made("cuLibraryLoadData");
    made.all({at(out), 0, 0, 0, 0, 0, 0, 0}).enter();
    load(number, image);
    out = library;
    made.exit();
}

void unload_library(Word library, std::uint32_t number) {
    fired::Call made("cuLibraryUnload");
    made.all({library}).enter();
    unload(number);
    made.exit();
}

SCENARIO(loaded_with_a_library) {
    put_into_library(at(one), first_library);
    put_into_library(at(two), second_library);
    load_library(first_library, 1, fake::image_of({symbol, "other"}, 1));
    load_library(second_library, 2, fake::image_of({symbol}, 2));
    launch(one);
    launch(two);
    launch(one);
}

SCENARIO(loaded_by_the_launch) {
    put_into_library(at(one), first_library);
    put_into_library(at(two), second_library);
    launch(one, 1, fake::image_of({symbol, "other"}, 1));
    launch(two, 2, fake::image_of({symbol}, 2));
    launch(one);
    launch(two);
}

/// What the kernel is launched with is long known by then.
SCENARIO(loaded_by_a_later_launch) {
    put_into_library(at(one), first_library);
    for (int again = 0; again < 4; ++again) launch(one, 0, {}, 0x42);
    launch(one, 1, fake::image_of({symbol}, 1), 0x42);
}

SCENARIO(modules_of_one_symbol) {
    // The driver tells no owners: it may be either.
    load(1, fake::image_of({symbol}, 1));
    load(2, fake::image_of({symbol}, 2));
    load(3, fake::image_of({"other"}, 3));
    launch(one);
    unload(1);
    launch(one);
}

SCENARIO(asked_for) {
    put_into_library(at(one), first_library);
    put_into_library(at(two), second_library);
    for (const auto& [library, number] : {std::pair{first_library, 1U}, std::pair{second_library, 2U}}) {
        Word out = 0;
        fired::Call made("cuModuleGetFunction");
        made.all({at(out), library, 0}).enter();
        load(number, fake::image_of({symbol}, number));
        made.exit();
    }
    launch(one);
    launch(two);
}

SCENARIO(reloaded) {
    put_into_library(at(one), first_library);
    load_library(first_library, 1, fake::image_of({symbol}, 1));
    launch(one);
    unload_library(first_library, 1);
    load_library(first_library, 2, fake::image_of({symbol}, 2));
    launch(one);
    unload(2);
    launch(one);
}

SCENARIO(refused_loads) {
    Word out = 0;
    fired::Call("cuModuleLoadData").all({at(out), 0}).done(200);
    fired::Call("cuModuleGetFunction").all({at(out), first_library, 0}).done(500);
    launch(one);
}

/// An image of which any byte may be wrong, or missing.
SCENARIO(damaged) {
    const Image whole = fake::image_of({symbol, "another", "third"}, 1);
    std::uint32_t number = 0;
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const auto end = whole.begin() + static_cast<std::ptrdiff_t>(size);
        load(++number, Image(whole.begin(), end));
    }
    for (std::size_t byte = 0; byte < whole.size(); ++byte)
        for (const unsigned char value : {0x00, 0x7f, 0xff}) {
            Image image = whole;
            image[byte] = value;
            load(++number, image);
            unload(number);
        }
    std::mt19937 random(7);  // NOLINT: the same each time
    for (int round = 0; round < 2000; ++round) {
        Image image = whole;
        for (int change = 0; change < 4; ++change)
            image[random() % image.size()] = static_cast<unsigned char>(random());
        load(++number, image);
        unload(number);
    }
    launch(one);
}

Image real_image_of_machine_code() {
    std::ifstream file(std::getenv("REAL_IMAGE"), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

SCENARIO(real_image) {
    load(1, real_image_of_machine_code());
    static const Kernel axpy{"axpy", {8}};
    launch(axpy);
}

/// Symbols and relocations, too: what is wrong lies among the headers of the sections, and in what these lead to.
SCENARIO(damaged_real_image) {
    const Image whole = real_image_of_machine_code();
    std::mt19937 random(11);  // NOLINT: the same each time
    std::uint32_t number = 0;
    for (int round = 0; round < 300; ++round) {
        Image image = whole;
        std::uint64_t headers = 0;
        std::memcpy(&headers, image.data() + 40, sizeof headers);
        for (int change = 0; change < 8; ++change)
            image[headers + random() % (image.size() - headers)] = static_cast<unsigned char>(random());
        if (round % 3 == 0) image.resize(headers + random() % (image.size() - headers));
        load(++number, image);
        unload(number);
    }
    launch(one);
}

/// The program's own question, after a launch or before it.
void ask_for_counter(Word library) {
    Word out = 0;
    std::size_t size = 0;
    const char* const name = "counter";
    fired::Call made("cuLibraryGetGlobal");
    made.all({at(out), at(size), library, reinterpret_cast<std::uint64_t>(name)}).enter();
    out = 0x7f0000000000;
    size = 4;
    made.exit();
}

SCENARIO(variables) {
    const Image image = real_image_of_machine_code();
    static const Kernel counts{"counts", {8}}, axpy{"axpy", {8}};
    fake::put_variable("counter", 0x7f0000000000, 4);
    for (const Kernel* const kernel : {&counts, &axpy}) put_into_library(at(*kernel), first_library);
    fake::when_asked_for(at(counts), [&] { load(1, image); });
    launch(counts);
    launch(axpy);
    launch(counts);
    ask_for_counter(first_library);
    unload_library(first_library, 1);
    ask_for_counter(second_library);
}

/// The runtime asks for its address alone, before anything is launched.
SCENARIO(managed_variable) {
    const Image image = real_image_of_machine_code();
    static const Kernel counts{"counts", {8}};
    fake::put_managed_variable("counter", 0x7f0000000000, 4);
    put_into_library(at(counts), first_library);
    Word out = 0;
    const char* const name = "counter";
    for (int round = 0; round < 2; ++round) {
        fired::Call made("cuLibraryGetManaged");
        made.all({at(out), 0, first_library, reinterpret_cast<std::uint64_t>(name)}).enter();
        out = 0x7f0000000000;
        made.exit();
    }
    fake::when_asked_for(at(counts), [&] { load(1, image); });
    launch(counts);
}

/// Each device has its own.
SCENARIO(variable_of_two_contexts) {
    const Image image = real_image_of_machine_code();
    static const Kernel counts{"counts", {8}};
    fake::put_variable("counter", 0x7f0000000000, 4);
    put_into_library(at(counts), first_library);
    fake::when_asked_for(at(counts), [&] { load(1, image); });
    launch(counts);
    fired::context = 0xc1;
    fake::put_variable("counter", 0x7f0000001000, 4);
    launch(counts);
    launch(counts);
}

/// A kernel on one stream reads memory by the number of a texture object; another stream fills that.
void fills_under_texture(bool waits) {
    constexpr Word memory = 0x7f0000000000, result = 0x7f0000400000, reads = 0x1001, fills = 0x1002, texture = 1;
    constexpr std::uint64_t bytes = 1 << 20;
    load(1, real_image_of_machine_code());
    const auto make = [](std::string_view api, Word made, std::initializer_list<std::uint64_t> more) {
        Word out = 0;
        fired::Call call(api);
        call.all({at(out)}, more).enter();
        out = made;
        call.exit();
    };
    for (const Word stream : {reads, fills}) make("cuStreamCreate", stream, {1});
    for (const Word each : {memory, result}) make("cuMemAlloc", each, {bytes});
    abi::ResourceDescription line{};
    line.type = abi::ResourceDescription::Type::linear;
    line.linear = {memory, 0x20, 1, bytes};
    make("cuTexObjectCreate", texture, {at(line), 0, 0});
    static const Kernel fetches{"fetches", {8, 8, 4, 4}};
    const int begin = 0, count = 1 << 30;
    const void* arguments[]{&texture, &result, &begin, &count};
    fired::Call launch("cuLaunchKernel");
    launch.all({at(fetches), 4, 1, 1, 64, 1, 1, 0, reads, at(arguments), 0}).symbol(fetches.mangled).done();
    if (waits) fired::Call("cuStreamSynchronize").all({reads}).done();
    fired::Call("cuTexObjectDestroy").all({texture}).done();
    fired::Call("cuMemsetD8Async").all({memory, 0, bytes, fills}).done();
}

SCENARIO(texture_filled_wrong) { fills_under_texture(false); }
SCENARIO(texture_filled_right) { fills_under_texture(true); }

SCENARIO(graph) {
    const Word graph = fake::graph_create();
    fake::add_kernel(graph, {}, one, {0});
    Word executable = 0;
    put_into_library(at(one), first_library);
    fired::Call made("cuGraphInstantiateWithFlags");
    made.all({at(executable), graph, 0}).enter();
    load(1, fake::image_of({symbol}, 1));
    executable = 0x6e1;
    made.exit();
}

void begin(std::string& settings, std::string_view) {
    settings += "sites=0\n";
    begin_with_driver(settings);
    fired::context = 0xc0;
}

}  // namespace code_calls

const bool code_calls_are_there = families().emplace("code", Family{code_calls::scenarios, code_calls::begin}).second;

}  // namespace recorded
