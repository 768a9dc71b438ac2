// The layer between a loader and a runtime that are both of this test: every call is made through the layer's table.
// Prints what the program was told; the trace says what was recorded. tests/recorder/test_opencl_layer.py reads both.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "generated/opencl_functions.hpp"
#include "recorder/sites/sites.hpp"
#include "recorder/tests/check.hpp"

namespace streamsan::recorder {

// Call sites have tests of their own.
Sites::Sites(Writer& writer) : writer_(writer), generation_(0) {}
std::uint32_t Sites::here(std::uint32_t) { return 0; }
bool Sites::main_has_begun() { return true; }
void Sites::forget() {}

}  // namespace streamsan::recorder

using namespace streamsan::recorder::opencl;
using Word = std::uint64_t;

extern "C" std::int32_t clInitLayer(std::uint32_t, const void* const*, std::uint32_t*, const void* const**);
extern "C" std::int32_t clInitLayerWithProperties(std::uint32_t, const void* const*, std::uint32_t*,
                                                  const void* const**, const std::uint64_t*);
extern "C" std::int32_t clGetLayerInfo(std::uint32_t, std::size_t, void*, std::size_t*);

namespace {

std::atomic<Word> next_handle{0x1000};
/// The runtime's function of a name.
Word function_named(const char* name);
std::atomic<int> releases{0};
constexpr std::int32_t arguments_are_not_told = -19;
constexpr Word device_address_of_buffer = 0x5001;
constexpr Word a_device_address = 0x700000;

/// A function of the runtime: it makes a handle, or says success.
template <Function function, class Type>
struct Runtime;
template <Function function, class Result, class... Parameters>
struct Runtime<function, Result(Parameters...)> {
    static Result called(Parameters... parameters) {
        const FunctionRow& row = function_table[static_cast<std::size_t>(function)];
        [[maybe_unused]] const std::array<Word, sizeof...(Parameters) + 1> words{static_cast<Word>(parameters)...};
        const auto put = [&](std::int8_t position, auto value) {
            if (position >= 0 && words[static_cast<std::size_t>(position)] != 0)
                std::memcpy(reinterpret_cast<void*>(words[static_cast<std::size_t>(position)]), &value, sizeof value);
        };
        put(row.event, next_handle.fetch_add(0x10));
        put(row.status, std::int32_t{0});
        if (std::string_view(row.name).starts_with("clRelease")) ++releases;
        if (std::string_view(row.name) == "clGetExtensionFunctionAddressForPlatform")
            return static_cast<Result>(function_named(reinterpret_cast<const char*>(words[1])));
        if (std::string_view(row.name) == "clGetKernelInfo") std::memcpy(reinterpret_cast<void*>(words[3]), "sum", 4);
        if (std::string_view(row.name) == "clGetMemObjectInfo" && words[1] == device_address_of_buffer)
            std::memcpy(reinterpret_cast<void*>(words[3]), &a_device_address, sizeof a_device_address);
        if (std::string_view(row.name) == "clGetKernelArgInfo") return static_cast<Result>(arguments_are_not_told);
        if (std::string_view(row.name) == "clSetEventCallback") {
            std::thread([words] {
                reinterpret_cast<void (*)(Word, std::int32_t, Word)>(words[2])(words[0], 0, words[3]);
            }).join();
        }
        if constexpr (std::is_void_v<Result>) return;
        else if constexpr (std::is_same_v<Result, std::int32_t>) return 0;
        else return static_cast<Result>(next_handle.fetch_add(0x10));
    }
};

template <std::size_t... position>
std::array<void*, sizeof...(position)> all_of(std::index_sequence<position...>) {
    return {reinterpret_cast<void*>(&Runtime<static_cast<Function>(position),
                                             typename Prototype<static_cast<Function>(position)>::Type>::called)...};
}

const auto runtime = all_of(std::make_index_sequence<function_table.size()>{});

Word function_named(const char* name) {
    for (std::size_t position = 0; position < function_table.size(); ++position)
        if (std::string_view(function_table[position].name) == name) return reinterpret_cast<Word>(runtime[position]);
    return 0;
}

constexpr std::size_t places = 150;
std::array<void*, places> below{};
const void* const* ours = nullptr;

/// Calls a function as a program does: through the table of the outermost layer.
template <Function function, class... Arguments>
auto call(Arguments... arguments) {
    using Type = typename Prototype<function>::Type;
    constexpr std::int16_t place = function_table[static_cast<std::size_t>(function)].place;
    static_assert(place >= 0);
    auto* const called = reinterpret_cast<Type*>(const_cast<void*>(ours[place]));
    return [&]<class Result, class... Parameters>(Result (*to)(Parameters...)) {
        return to(static_cast<Parameters>(arguments)...);
    }(called);
}

template <class Value>
Word at(Value& value) {
    return reinterpret_cast<Word>(&value);
}

std::atomic<int> bodies{0};
void body(Word, std::int32_t, Word data) {
    CHECK(data == 42);
    ++bodies;
}

void objects(Word context, Word queue) {
    Word buffer = call<Function::clCreateBuffer>(context, 1, 4096, 0, 0);
    CHECK(call<Function::clRetainMemObject>(buffer) == 0);
    CHECK(call<Function::clReleaseMemObject>(buffer) == 0);
    CHECK(call<Function::clReleaseMemObject>(buffer) == 0);
    const int before = releases;
    CHECK(call<Function::clReleaseMemObject>(buffer) == -38);
    CHECK(call<Function::clReleaseMemObject>(buffer) == -38);
    CHECK(releases == before);  // the runtime was not asked
    const Word event = call<Function::clCreateUserEvent>(context, 0);
    CHECK(call<Function::clSetEventCallback>(event, 0, reinterpret_cast<Word>(&body), 42) == 0);
    CHECK(bodies == 1);
    CHECK(call<Function::clReleaseEvent>(event) == 0);
    CHECK(call<Function::clReleaseEvent>(event) == -58);
    CHECK(call<Function::clFlush>(queue) == 0);
}

void commands(Word context, Word queue) {
    const Word buffer = call<Function::clCreateBuffer>(context, 1, 1 << 16, 0, 0);
    Word event = 0;
    std::vector<Word> list;
    for (int number = 0; number < 40; ++number) {
        CHECK(call<Function::clEnqueueFillBuffer>(queue, buffer, at(event), 8, 0, 4096, list.size(),
                                                  list.empty() ? Word{0} : reinterpret_cast<Word>(list.data()),
                                                  at(event)) == 0);
        list.push_back(event);
    }
    std::array<std::size_t, 3> origin{1, 2, 3}, region{16, 4, 2};
    std::array<char, 4096> host{};
    CHECK(call<Function::clEnqueueReadBufferRect>(queue, buffer, 1, at(origin), at(origin), at(region), 64, 1024, 64,
                                                  1024, at(host), 0, 0, 0) == 0);
    const Word pointer = call<Function::clEnqueueMapBuffer>(queue, buffer, 1, 3, 0, 4096, 0, 0, 0, 0);
    CHECK(call<Function::clEnqueueUnmapMemObject>(queue, buffer, pointer, 0, 0, 0) == 0);
    CHECK(call<Function::clWaitForEvents>(list.size(), reinterpret_cast<Word>(list.data())) == 0);
    for (const Word each : list) CHECK(call<Function::clReleaseEvent>(each) == 0);
    CHECK(call<Function::clFinish>(queue) == 0);
    CHECK(call<Function::clReleaseMemObject>(buffer) == 0);
}

std::size_t one_item = 1, no_item = 0;

void kernels(Word context, Word queue) {
    const Word program = call<Function::clCreateProgramWithSource>(context, 0, 0, 0, 0);
    const Word kernel = call<Function::clCreateKernel>(program, 0, 0);
    std::vector<Word> buffers;
    for (Word index = 0; index < 60; ++index) {
        buffers.push_back(call<Function::clCreateBuffer>(context, 1, 256, 0, 0));
        CHECK(call<Function::clSetKernelArg>(kernel, index, sizeof(Word), at(buffers.back())) == 0);
    }
    CHECK(call<Function::clSetKernelArg>(kernel, 1 << 20, sizeof(Word), at(buffers.back())) == 0);
    CHECK(call<Function::clEnqueueNDRangeKernel>(queue, kernel, 1, 0, at(one_item), 0, 0, 0, 0) == 0);
    const Word copy = call<Function::clCloneKernel>(kernel, 0);
    CHECK(call<Function::clReleaseKernel>(kernel) == 0);
    CHECK(call<Function::clEnqueueNDRangeKernel>(queue, copy, 1, 0, at(one_item), 0, 0, 0, 0) == 0);
    CHECK(call<Function::clReleaseKernel>(copy) == 0);
    for (const Word each : buffers) CHECK(call<Function::clReleaseMemObject>(each) == 0);
    const Word shared = call<Function::clSVMAlloc>(context, 1, 4096, 0);
    call<Function::clSVMFree>(context, shared);
    CHECK(call<Function::clReleaseProgram>(program) == 0);
}

/// Launches `sum` of a program on a queue, with two buffers.
void launch(Word context, Word program, Word queue) {
    const Word kernel = call<Function::clCreateKernel>(program, 0, 0);
    for (Word index = 0; index < 2; ++index) {
        Word buffer = call<Function::clCreateBuffer>(context, 1, 256, 0, 0);
        CHECK(call<Function::clSetKernelArg>(kernel, index, sizeof(Word), at(buffer)) == 0);
    }
    CHECK(call<Function::clEnqueueNDRangeKernel>(queue, kernel, 1, 0, at(one_item), 0, 0, 0, 0) == 0);
    CHECK(call<Function::clReleaseKernel>(kernel) == 0);
}

/// Programs of what is kept: a module, a text that is another one on each device, and binaries, of which nothing is.
void programs(Word context, const char* path) {
    std::array<Word, 2> devices{0x71, 0x72};
    std::array<Word, 2> queues{};
    for (std::size_t number = 0; number < 2; ++number)
        queues[number] = call<Function::clCreateCommandQueue>(context, devices[number], 0, 0);
    std::vector<char> content(1 << 20);
    std::FILE* const file = std::fopen(path, "rb");
    CHECK(file != nullptr);
    const std::size_t size = std::fread(content.data(), 1, content.size(), file);
    std::fclose(file);
    const Word module = call<Function::clCreateProgramWithIL>(context, reinterpret_cast<Word>(content.data()), size, 0);
    std::memset(content.data(), 0, content.size());  // the program may free it
    CHECK(call<Function::clBuildProgram>(module, 0, 0, 0, 0, 0) == 0);
    launch(context, module, queues[0]);

    const char* text =
        "__kernel void sum(__global int *a, __global int *b) {\n#if BACK\na[0] = b[0];\n#else\nb[0] = a[0];\n#endif\n}";
    const Word texts = call<Function::clCreateProgramWithSource>(context, 1, at(text), 0, 0);
    const std::array<const char*, 2> options{"-DBACK=1", "-DBACK=0"};
    for (std::size_t number = 0; number < 2; ++number)
        CHECK(call<Function::clBuildProgram>(texts, 1, at(devices[number]), reinterpret_cast<Word>(options[number]), 0,
                                             0) == 0);
    for (const Word queue : queues) launch(context, texts, queue);
    std::array<Word, 1> parts{texts};
    launch(context, call<Function::clLinkProgram>(context, 0, 0, 0, 1, at(parts), 0, 0, 0), queues[1]);

    launch(context, call<Function::clCreateProgramWithBinary>(context, 0, 0, 0, 0, 0, 0), queues[0]);
    for (const Word queue : queues) CHECK(call<Function::clReleaseCommandQueue>(queue) == 0);
}

/// Calls a function that a program asks for by name. It may have more parameters than in the table: a newer version.
template <class... Arguments>
std::int32_t call_named(const char* name, Arguments... arguments) {
    const Word address =
        call<Function::clGetExtensionFunctionAddressForPlatform>(Word{0}, reinterpret_cast<Word>(name));
    CHECK(address != 0);
    return reinterpret_cast<std::int32_t (*)(decltype(static_cast<Word>(arguments))...)>(address)(
        static_cast<Word>(arguments)...);
}
template <class... Arguments>
Word make_named(const char* name, Arguments... arguments) {
    const Word address =
        call<Function::clGetExtensionFunctionAddressForPlatform>(Word{0}, reinterpret_cast<Word>(name));
    CHECK(address != 0);
    return reinterpret_cast<Word (*)(decltype(static_cast<Word>(arguments))...)>(address)(
        static_cast<Word>(arguments)...);
}

/// A kernel, a copy and a fill, on queues in order and out of order; an empty range, and a range of another list.
void command_buffers(Word context) {
    std::array<Word, 2> queues{call<Function::clCreateCommandQueue>(context, 0x71, 0, 0),
                               call<Function::clCreateCommandQueue>(context, 0x71, 1, 0)};
    const Word program = call<Function::clCreateProgramWithSource>(context, 0, 0, 0, 0);
    const Word kernel = call<Function::clCreateKernel>(program, 0, 0);
    Word argument = call<Function::clCreateBuffer>(context, 1, 256, 0, 0);
    const Word from = call<Function::clCreateBuffer>(context, 1, 512, 0, 0);
    const Word to = call<Function::clCreateBuffer>(context, 1, 1024, 0, 0);
    CHECK(call<Function::clSetKernelArg>(kernel, 0, sizeof(Word), at(argument)) == 0);
    for (Word& queue : queues) {
        const Word buffer = make_named("clCreateCommandBufferKHR", 1, at(queue), 0, 0);
        CHECK(call_named("clCommandNDRangeKernelKHR", buffer, 0, 0, kernel, 1, 0, at(one_item), 0, 0, 0, 0, 0) == 0);
        CHECK(call_named("clCommandNDRangeKernelKHR", buffer, 0, 0, kernel, 1, 0, at(no_item), 0, 0, 0, 0, 0) == 0);
        CHECK(call_named("clCommandCopyBufferKHR", buffer, 0, from, to, 0, 0, 512, 0, 0, 0, 0) == 0);
        CHECK(call_named("clCommandFillBufferKHR", buffer, 0, 0, to, at(one_item), 8, 512, 512, 0, 0, 0, 0) == 0);
        CHECK(call_named("clFinalizeCommandBufferKHR", buffer) == 0);
        Word event = 0;
        for (int number = 0; number < 2; ++number)
            CHECK(call_named("clEnqueueCommandBufferKHR", 0, 0, buffer, 0, 0, number == 0 ? at(event) : 0) == 0);
        CHECK(call<Function::clReleaseEvent>(event) == 0);
        if (queue == queues[1]) CHECK(call<Function::clReleaseMemObject>(from) == 0);  // the buffer holds it
        CHECK(call_named("clReleaseCommandBufferKHR", buffer) == 0);
        CHECK(call_named("clReleaseCommandBufferKHR", buffer) == -1138);
    }
    CHECK(call<Function::clEnqueueNDRangeKernel>(queues[0], kernel, 1, 0, at(no_item), 0, 0, 0, 0) == 0);
    CHECK(call<Function::clEnqueueNDRangeKernel>(queues[0], kernel, 1, 0, 0, 0, 0, 0, 0) == 0);
    CHECK(call<Function::clEnqueueReadBuffer>(queues[0], to, 1, 0, 0, at(one_item), 0, 0, 0) == 0);
}

void shared_objects(Word context) {
    const Word queue = call<Function::clCreateCommandQueue>(context, 0x71, 0, 0);
    Word image = call<Function::clCreateBuffer>(context, 1, 4096, 0, 0);
    CHECK(call_named("clEnqueueAcquireGLObjects", queue, 1, at(image), 0, 0, 0) == 0);
    CHECK(call_named("clEnqueueReleaseGLObjects", queue, 1, at(image), 0, 0, 0) == 0);
    std::array<Word, 3> binary{0x203D, 1, 0}, imported{0x203D, 1, 0x2055};
    Word own = make_named("clCreateSemaphoreWithPropertiesKHR", context, at(binary), 0);
    Word other = make_named("clCreateSemaphoreWithPropertiesKHR", context, at(imported), 0);
    CHECK(call_named("clEnqueueSignalSemaphoresKHR", queue, 1, at(own), 0, 0, 0, 0) == 0);
    CHECK(call_named("clEnqueueWaitSemaphoresKHR", queue, 1, at(own), 0, 0, 0, 0) == 0);
    CHECK(call_named("clEnqueueWaitSemaphoresKHR", queue, 1, at(other), 0, 0, 0, 0) == 0);
    for (const Word each : {own, other}) CHECK(call_named("clReleaseSemaphoreKHR", each) == 0);
}

/// What newer extensions have: shared memory in a command buffer that is moved to another queue, a buffer by its
/// address on the device. The kernel is given one that the program has not asked for first, and then none that is a
/// buffer's.
void newer_functions(Word context) {
    Word queue = call<Function::clCreateCommandQueue>(context, 0x71, 0, 0);
    const Word shared = make_named("clSVMAllocWithPropertiesKHR", context, 0, 0, 4096, 0);
    const Word buffer = make_named("clCreateCommandBufferKHR", 1, at(queue), 0, 0);
    CHECK(call_named("clCommandSVMMemcpyKHR", buffer, 0, 0, shared, shared + 2048, 1024, 0, 0, 0, 0) == 0);
    CHECK(call_named("clCommandSVMMemFillKHR", buffer, 0, 0, shared, at(one_item), 8, 512, 0, 0, 0, 0) == 0);
    Word other = call<Function::clCreateCommandQueue>(context, 0x71, 0, 0);
    const Word moved = make_named("clRemapCommandBufferKHR", buffer, 0, 1, at(other), 0, 0, 0, 0);
    CHECK(call_named("clReleaseCommandBufferKHR", buffer) == 0);
    CHECK(call_named("clEnqueueCommandBufferKHR", 0, 0, moved, 0, 0, 0) == 0);
    CHECK(call_named("clReleaseCommandBufferKHR", moved) == 0);
    CHECK(call_named("clSVMFreeWithPropertiesKHR", context, 0, 0, shared) == 0);

    const Word program = call<Function::clCreateProgramWithSource>(context, 0, 0, 0, 0);
    const Word kernel = call<Function::clCreateKernel>(program, 0, 0);
    const Word data = call<Function::clCreateBuffer>(context, 1, 4096, 0, 0);
    Word address = 0;
    for (const Word offset : {Word{0}, Word{64}, Word{4096}}) {
        CHECK(call_named("clSetKernelArgDevicePointerEXT", kernel, 0, a_device_address + offset) == 0);
        CHECK(call<Function::clEnqueueTask>(queue, kernel, 0, 0, 0) == 0);
        CHECK(call<Function::clGetMemObjectInfo>(data, device_address_of_buffer, 8, at(address), 0) == 0);
    }
    CHECK(address == a_device_address);
    CHECK(call<Function::clReleaseMemObject>(data) == 0);
}

}  // namespace

int main(int, char** words) {
    for (std::size_t position = 0; position < function_table.size(); ++position) {
        const std::int16_t place = function_table[position].place;
        if (place >= 0) below[static_cast<std::size_t>(place)] = runtime[position];
    }
    std::size_t size = 0;
    CHECK(clGetLayerInfo(0x4240, 0, nullptr, &size) == 0 && size == 4);
    std::uint32_t entries = 0;
    CHECK(clInitLayer(2, below.data(), &entries, &ours) == 0 && entries == 2);  // an older loader's table
    CHECK(clInitLayerWithProperties(places, below.data(), &entries, &ours, nullptr) == 0 && entries == places);
    const Word context = call<Function::clCreateContext>(0, 0, 0, 0, 0, 0);
    const Word queue = call<Function::clCreateCommandQueue>(context, 0, 0, 0);
    programs(context, words[1]);
    command_buffers(context);
    shared_objects(context);
    newer_functions(context);
    objects(context, queue);
    kernels(context, queue);
    std::vector<std::thread> threads;
    for (int number = 0; number < 4; ++number) threads.emplace_back([&] { commands(context, queue); });
    for (std::thread& each : threads) each.join();
    CHECK(call<Function::clReleaseCommandQueue>(queue) == 0);
    CHECK(call<Function::clReleaseContext>(context) == 0);
    return 0;
}
