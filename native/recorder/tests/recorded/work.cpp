// Launches, copies, fills and memory, as calls without a driver below them: a scenario says what each of them answers.

#include <array>
#include <cstring>
#include <thread>
#include <vector>

#include "recorder/cuda/abi_memory.hpp"
#include "recorder/tests/fake/model.hpp"
#include "recorder/tests/fired.hpp"
#include "scenarios.hpp"

namespace recorded {
namespace work_calls {

Scenarios scenarios;

namespace abi = streamsan::recorder::cuda::abi;
using fake::Kernel;

constexpr std::uint64_t device = 0x7f0000000000;  // where the fake device's memory lies
constexpr std::uint64_t host = 0x7e0000000000;    // and that of the host
constexpr std::uint64_t one = 0x1001;             // streams
constexpr std::uint64_t two = 0x1002;
constexpr std::uint64_t ready = 0x2001;  // an event
constexpr std::uint64_t primary = 0xc0;
constexpr std::uint64_t megabyte = 1U << 20;

const Kernel scale{"_Z5scalePfPKfi", {8, 8, 4}};
const Kernel plain{"plain_c_kernel", {8, 8}};

/// One call: arguments in the order of the API, and `body` between its callbacks (what the driver does).
void call(std::string_view api, std::initializer_list<std::uint64_t> arguments, abi::Status status = 0,
          const std::function<void()>& body = {}) {
    fired::Call made(api);
    made.all(arguments).enter();
    if (body) body();
    made.exit(status);
}

/// Address of a variable, as an argument.
template <class T>
std::uint64_t at(T& variable) {
    return reinterpret_cast<std::uint64_t>(&variable);
}

/// A call that answers with a handle or an address.
std::uint64_t make(std::string_view api, std::uint64_t answer, std::initializer_list<std::uint64_t> more) {
    std::uint64_t out = 0;
    fired::Call made(api);
    made.all({at(out)}, more).enter();
    out = answer;
    made.exit();
    return answer;
}

void stream(std::uint64_t handle) { make("cuStreamCreate", handle, {1}); }
void event(std::uint64_t handle) { make("cuEventCreate", handle, {0}); }
std::uint64_t allocate(std::uint64_t address, std::uint64_t size) { return make("cuMemAlloc", address, {size}); }
std::uint64_t allocate_async(std::uint64_t address, std::uint64_t size, std::uint64_t in_stream) {
    return make("cuMemAllocAsync", address, {size, in_stream});
}
std::uint64_t pinned(std::uint64_t address, std::uint64_t size) { return make("cuMemHostAlloc", address, {size, 0}); }

void launch(const Kernel& kernel, std::uint64_t in_stream, std::initializer_list<const void*> arguments,
            abi::Status status = 0) {
    fired::Call made("cuLaunchKernel");
    made.all({at(kernel), 1, 1, 1, 32, 1, 1, 0, in_stream, reinterpret_cast<std::uint64_t>(arguments.begin()), 0});
    made.symbol(kernel.mangled).done(status);
}

void launch_scale(std::uint64_t stream, std::uint64_t to, std::uint64_t from) {
    const int count = 7;
    launch(scale, stream, {&to, &from, &count});
}

// -- launches
// -----------------------------------------------------------------------------------------------------------

SCENARIO(launches) {
    stream(one);
    const std::uint64_t a = allocate(device, megabyte);
    const std::uint64_t b = allocate(device + 4 * megabyte, megabyte);
    launch_scale(one, a, b);
    launch_scale(0, a, a);            // one address twice, once to read: one reference, which may write
    launch_scale(one, 0x1234, host);  // numbers, and memory that was never CUDA's
    launch(plain, one, {&a, &b});     // nothing is known of its types
    const std::uint64_t inside = a + 512;
    launch_scale(one, inside, b);
    launch(scale, one, {&a, &b, &a}, 1);  // refused
    fired::Call("cuLaunchKernel", true).all({at(scale), 1, 1, 1, 1, 1, 1, 0, 0, 0, 0}).done();
}

SCENARIO(structures) {
    const std::uint64_t a = allocate(device, megabyte);
    const std::uint64_t b = allocate(device + 4 * megabyte, megabyte);
    struct Small {
        int number;
        float* pointer;
    };
    static const Kernel small{"_Z5small5SmallPKf", {16, 8}};
    const Small value{3, reinterpret_cast<float*>(a)};
    launch(small, 0, {&value, &b});
    // A structure of 3,500 bytes, as multi-tensor kernels take: its last word holds b, which may be a leftover.
    static const Kernel large{"_Z5large5LargePf", {3504, 8}};
    std::array<std::uint64_t, 438> words{};
    words[437] = b;
    words[5] = a;
    launch(large, 0, {words.data(), &a});
    launch(large, 0, {words.data(), words.data()});  // nothing that is sure
    // Not aligned to a word in the argument buffer: bytes 4 to 12 of the parameter are the word.
    static Kernel shifted{"_Z7shiftedi6Packed", {4, 20}};
    shifted.offsets[1] = 4;
    unsigned char packed[20]{};
    std::memcpy(packed + 4, &a, 8);
    launch(shifted, 0, {&value.number, packed});
}

SCENARIO(argument_buffers) {
    std::uint64_t buffer[3]{allocate(device, megabyte), allocate(device + 4 * megabyte, megabyte), 7};
    std::size_t size = 20;
    void* extra[]{reinterpret_cast<void*>(1), buffer, reinterpret_cast<void*>(2), &size, nullptr};
    call("cuLaunchKernel", {at(scale), 1, 1, 1, 1, 1, 1, 0, one, 0, at(extra)});
    size = 8;  // less than the kernel takes: what lies behind is not looked at
    call("cuLaunchKernel", {at(scale), 1, 1, 1, 1, 1, 1, 0, one, 0, at(extra)});
    // A structure of which the program sets the beginning alone, as NCCL does.
    static const Kernel long_one{"_Z8long_one9Arguments", {96}};
    size = 20;
    call("cuLaunchKernel", {at(long_one), 1, 1, 1, 1, 1, 1, 0, one, 0, at(extra)});
    void* broken[]{reinterpret_cast<void*>(77), buffer, nullptr};
    call("cuLaunchKernel", {at(scale), 1, 1, 1, 1, 1, 1, 0, one, 0, at(broken)});
    // The way of CUDA 3.
    call("cuParamSetv", {at(plain), 8, at(buffer[0]), 8});
    call("cuLaunchGridAsync", {at(plain), 1, 1, one});
}

SCENARIO(older_driver) {
    const std::uint64_t a = allocate(device, megabyte);
    const std::uint64_t b = allocate(device + 4 * megabyte, megabyte);
    launch_scale(0, a, b);       // the name tells which are pointers
    launch(plain, 0, {&a, &b});  // this one's does not
    launch(plain, 0, {&a, &b});
}

SCENARIO(many_arguments) {
    allocate(device, 64 * megabyte);
    static const Kernel large{"_Z5large5Large", {8 * 600}};
    std::vector<std::uint64_t> words(600);
    for (std::size_t index = 0; index < words.size(); ++index) words[index] = device + (index % 40) * 4096;
    launch(large, 0, {words.data()});  // 40 different ones
    for (std::size_t index = 0; index < words.size(); ++index) words[index] = device + index * 4096;
    launch(large, 0, {words.data()});  // more than fit
    launch(large, 0, {words.data()});
}

SCENARIO(configured) {
    stream(one);
    event(ready);
    const std::uint64_t a = allocate(device, megabyte);
    const int count = 1;
    const void* arguments[]{&a, &a, &count};
    abi::LaunchConfig configuration{{1, 1, 1}, {32, 1, 1}, 0, one, nullptr, 0};
    const auto launch_so = [&] { call("cuLaunchKernelEx", {at(configuration), at(scale), at(arguments), 0}); };
    launch_so();
    abi::LaunchAttribute attributes[2]{};
    attributes[0].id = abi::launch_attribute_programmatic_serialization;
    attributes[0].value[0] = 1;
    attributes[1].id = abi::launch_attribute_programmatic_event;
    attributes[1].value[0] = ready;
    configuration.attributes = attributes;
    configuration.attribute_count = 2;
    launch_so();
    configuration.stream = 0;
    configuration.attribute_count = 0;
    launch_so();
    call("cuLaunchCooperativeKernel", {at(scale), 1, 1, 1, 32, 1, 1, 0, one, at(arguments)});
    abi::LaunchParameters list[2]{{at(scale), {1, 1, 1}, {1, 1, 1}, 0, one, const_cast<void**>(arguments)},
                                  {at(scale), {1, 1, 1}, {1, 1, 1}, 0, two, const_cast<void**>(arguments)}};
    call("cuLaunchCooperativeKernelMultiDevice", {at(list), 2, 0}, 719);
}

SCENARIO(reloaded_module) {
    const std::uint64_t a = allocate(device, megabyte);
    const std::uint64_t b = allocate(device + 4 * megabyte, megabyte);
    Kernel code{"_Z3onePKf", {8}};
    launch(code, 0, {&a});
    // Another module is loaded to the same place: another function under the same handle, and the name at the same
    // address.
    call("cuModuleUnload", {0x77});
    code = {"_Z3twoPKfPf", {8, 8}};
    launch(code, 0, {&a, &b});
}

SCENARIO(threads) {
    constexpr int count = 4;
    constexpr int rounds = 200;
    std::vector<std::thread> all;
    for (int index = 0; index < count; ++index) {
        all.emplace_back([index] {
            fired::context = primary;
            const std::uint64_t stream_handle = 0x3000 + static_cast<std::uint64_t>(index);
            stream(stream_handle);
            const std::uint64_t own = device + static_cast<std::uint64_t>(index) * 256 * megabyte;
            for (int round = 0; round < rounds; ++round) {
                const std::uint64_t a = allocate_async(own, megabyte, stream_handle);
                const int number = round;
                launch(scale, stream_handle, {&a, &a, &number});
                call("cuMemcpyDtoDAsync", {a, a + 4096, 64, stream_handle});
                if (round % 50 == 0) call("cuModuleUnload", {static_cast<std::uint64_t>(index)});
                call("cuMemFreeAsync", {a, stream_handle});
            }
        });
    }
    for (std::thread& each : all) each.join();
}

// -- copies and fills
// ---------------------------------------------------------------------------------------------------

SCENARIO(copies) {
    stream(one);
    const std::uint64_t a = allocate(device, megabyte);
    const std::uint64_t b = allocate(device + 4 * megabyte, megabyte);
    const std::uint64_t p = pinned(host, megabyte);
    const std::uint64_t pageable = host + 64 * megabyte;
    call("cuMemcpyHtoD", {a, pageable, 100});
    call("cuMemcpyHtoD", {a, p, 100});
    call("cuMemcpyDtoH", {pageable, a, 100});
    call("cuMemcpyDtoD", {b, a, 100});
    call("cuMemcpyHtoDAsync", {a, pageable, 100, one});
    call("cuMemcpyHtoDAsync", {a, p, 100, one});
    call("cuMemcpyDtoHAsync", {pageable, a, 100, one});
    call("cuMemcpyDtoHAsync", {p, a, 100, one});
    call("cuMemcpyDtoDAsync", {b, a, 100, one});
    call("cuMemcpy", {p, pageable, 100});  // the host's own access
    call("cuMemcpyAsync", {b, a, 100, 0});
    call("cuMemcpyPeerAsync", {b, 0xC1, a, 0xC0, 100, one});
    call("cuMemcpyHtoD", {a, p, 0});
    call("cuMemcpyHtoD", {a, p, 100}, 700);
    fired::Call("cuMemcpyHtoD", true).all({a, p, 100}).done();
}

SCENARIO(shaped_copies) {
    const std::uint64_t a = allocate(device, megabyte);
    const std::uint64_t p = pinned(host, megabyte);
    abi::Copy2D flat{};
    flat.source = {16, 2, abi::MemoryType::host, p, 0, 0, 256};
    flat.destination = {0, 0, abi::MemoryType::device, 0, a, 0, 0};
    flat.width = 64;
    flat.height = 10;
    call("cuMemcpy2D", {at(flat)});
    flat.source.type = abi::MemoryType::unified;
    flat.source.device = p;
    call("cuMemcpy2DUnaligned", {at(flat)});
    abi::Copy3D deep{};
    deep.source = {0, 0, 1, 0, abi::MemoryType::device, 0, a, 0, 0, 128, 8};
    deep.destination = {0, 0, 0, 0, abi::MemoryType::device, 0, a + 512 * 1024, 0, 0, 64, 4};
    deep.width = 64;
    deep.height = 4;
    deep.depth = 3;
    call("cuMemcpy3DAsync", {at(deep), 0});
    flat.height = 0;
    call("cuMemcpy2DAsync", {at(flat), 0});
    call("cuMemcpy2D", {0}, 1);
    flat.height = ~std::size_t{0};
    flat.width = ~std::size_t{0};
    call("cuMemcpy2DAsync", {at(flat), 0}, 1);
}

SCENARIO(array_copies) {
    const std::uint64_t a = allocate(device, megabyte);
    std::uint64_t handle = 0;
    abi::ArrayDescriptor description{64, 32, 0, 0x20, 1, 0};  // floats
    handle = make("cuArray3DCreate", 0x555000, {at(description)});
    call("cuMemcpyDtoA", {handle, 256, a, 512});
    call("cuMemcpyAtoA", {handle, 0, handle, 512, 128});
    call("cuMemcpyAtoH", {host, handle, 0, 16});
    abi::Copy2D flat{};
    flat.source = {0, 0, abi::MemoryType::device, 0, a, 0, 0};
    flat.destination = {8, 3, abi::MemoryType::array, 0, 0, handle, 0};
    flat.width = 16;
    flat.height = 2;
    call("cuMemcpy2DAsync", {at(flat), 0});
    flat.destination.array = 0x999;  // an array that nobody made
    call("cuMemcpy2DAsync", {at(flat), 0});
    call("cuArrayDestroy", {handle});
    call("cuArrayDestroy", {handle}, 400);
    handle = make("cuMipmappedArrayCreate", 0x555000, {at(description), 3});
    std::uint64_t level = 0;
    level = make("cuMipmappedArrayGetLevel", 0x555800, {handle, 1});
    call("cuMemcpyAtoD", {a, level, 0, 16});
    call("cuMipmappedArrayDestroy", {handle});
}

abi::ResourceDescription linear_image(std::uint64_t address, std::uint64_t bytes) {
    abi::ResourceDescription made_of{};
    made_of.type = abi::ResourceDescription::Type::linear;
    made_of.linear = {address, 0x20, 4, bytes};  // four floats
    return made_of;
}

abi::ResourceDescription array_image(std::uint64_t handle) {
    abi::ResourceDescription made_of{};
    made_of.array = handle;
    return made_of;
}

SCENARIO(image_objects) {
    const std::uint64_t a = allocate(device, megabyte);
    const abi::ResourceDescription linear = linear_image(a + 256, 4096);
    make("cuTexObjectCreate", 1, {at(linear), 0x10, 0});
    abi::ResourceDescription pitched{};
    pitched.type = abi::ResourceDescription::Type::pitched;
    pitched.pitched = {a, 0x01, 1, 100, 20, 512};
    make("cuTexObjectCreate", 2, {at(pitched), 0x10, 0});
    pitched.pitched.format = 0xb0;  // blocks of texels
    make("cuTexObjectCreate", 3, {at(pitched), 0x10, 0});
    abi::ArrayDescriptor description{64, 32, 0, 0x20, 1, 0};
    const abi::ResourceDescription array = array_image(make("cuArray3DCreate", 0x555000, {at(description)}));
    make("cuSurfObjectCreate", 1, {at(array)});
    std::uint64_t view[14]{};
    make("cuTexObjectCreate", 4, {at(array), 0x10, at(view)});
    const std::uint64_t levels = make("cuMipmappedArrayCreate", 0x556000, {at(description), 3});
    abi::ResourceDescription mipmapped = array_image(levels);
    mipmapped.type = abi::ResourceDescription::Type::mipmapped_array;
    make("cuTexObjectCreate", 5, {at(mipmapped), 0x10, 0});
    const abi::ResourceDescription level = array_image(make("cuMipmappedArrayGetLevel", 0x556800, {levels, 1}));
    make("cuSurfObjectCreate", 2, {at(level)});
    const abi::ResourceDescription nobodys = array_image(0x999);
    make("cuSurfObjectCreate", 3, {at(nobodys)});
    std::uint64_t none = 0;
    call("cuTexObjectCreate", {at(none), at(linear), 0x10, 0}, 1);
    call("cuTexObjectCreate", {at(none), 0, 0x10, 0}, 1);
    call("cuTexObjectDestroy", {1});
    call("cuSurfObjectDestroy", {1}, 1);
}

SCENARIO(batches) {
    stream(one);
    const std::uint64_t a = allocate(device, megabyte);
    const std::uint64_t p = pinned(host, megabyte);
    std::uint64_t to[]{a, a + 1024, p};
    std::uint64_t from[]{p, a, a};
    std::size_t sizes[]{100, 200, 300};
    abi::CopyAttributes attributes[2]{{abi::SourceOrder::during_call, {}, {}, 0},
                                      {abi::SourceOrder::stream, {}, {}, 0}};
    std::size_t first[]{0, 1};
    call("cuMemcpyBatchAsync", {at(to), at(from), at(sizes), 3, at(attributes), at(first), 2, one});
    abi::BatchCopy3D shaped{};
    shaped.source.type = abi::BatchOperand::pointer_type;
    shaped.source.pointer = {a, 32, 16, {}};
    shaped.destination.type = abi::BatchOperand::pointer_type;
    shaped.destination.pointer = {a + 65536, 0, 0, {}};
    shaped.width = 8;
    shaped.height = 4;
    shaped.depth = 2;
    shaped.order = abi::SourceOrder::stream;
    call("cuMemcpy3DBatchAsync", {1, at(shaped), 0, one});
    std::uint64_t ranges[]{a, a + 4096};
    call("cuMemPrefetchBatchAsync", {at(ranges), at(sizes), 2, 0, 0, 0, 0, one});
    call("cuMemDiscardBatchAsync", {at(ranges), at(sizes), 2, 0, one}, 1);
}

SCENARIO(fills) {
    const std::uint64_t a = allocate(device, megabyte);
    const std::uint64_t p = pinned(host, megabyte);
    call("cuMemsetD8", {a, 0, 100});
    call("cuMemsetD32Async", {a, 0, 100, one});
    call("cuMemsetD2D16", {a, 256, 0, 10, 3});
    call("cuMemsetD8", {p, 0, 100});
    call("cuMemPrefetchAsync", {a, 4096, 0, 0, one});
    call("cuStreamAttachMemAsync", {one, a, 0, 1});
}

SCENARIO(value_operations) {
    const std::uint64_t a = allocate(device, megabyte);
    call("cuStreamWaitValue32", {one, a, 1, 0});
    call("cuStreamWriteValue64", {one, a + 8, 1, 0});
    abi::BatchMemoryOperation list[3]{};
    list[0].operation = abi::MemoryOperation::wait_value_64;
    list[0].address = a;
    list[0].value = std::uint64_t{1} << 40;
    list[0].flags = 2;
    list[1].operation = abi::MemoryOperation::barrier;
    list[2].operation = abi::MemoryOperation::write_value_32;
    list[2].address = a + 16;
    list[2].value = 7;
    call("cuStreamBatchMemOp", {one, 3, at(list), 0});
    call("cuStreamWriteValue32", {one, a + 24, 1, 1});
}

// -- memory
// -------------------------------------------------------------------------------------------------------------

SCENARIO(allocations) {
    stream(one);
    std::uint64_t out = 0;
    std::size_t pitch = 0;
    allocate(device, 1000);
    call("cuMemAllocPitch", {at(out), at(pitch), 100, 10, 4}, 0, [&] {
        out = device + 8 * megabyte;
        pitch = 512;
    });
    out = make("cuMemAllocManaged", device + 16 * megabyte, {2000, 1});
    pinned(host, 3000);
    allocate_async(device + 24 * megabyte, 4000, one);
    out = make("cuMemAllocFromPoolAsync", device + 32 * megabyte, {5000, 0x9001, one});
    call("cuMemHostRegister", {host + 8 * megabyte, 6000, 0});
    call("cuMemAlloc", {at(out), megabyte}, 2);
    call("cuMemAllocFromPoolAsync", {at(out), 5000, 0x9001, one}, 1);
    call("cuMemFree", {device});
    call("cuMemFree", {0});
    call("cuMemFree", {device + 8 * megabyte + 4}, 1);
    call("cuMemFreeAsync", {device + 24 * megabyte, one});
    call("cuMemFreeHost", {host});
    call("cuMemHostUnregister", {host + 8 * megabyte});
}

SCENARIO(failed_free) {
    const std::uint64_t p = pinned(host, megabyte);
    call("cuMemFree", {p}, 1);  // of another family: it stays pinned memory
    call("cuMemcpyHtoD", {device, p, 16});
    call("cuMemFreeHost", {p});
    call("cuMemcpyHtoD", {device, p, 16});  // now it is any host memory
}

SCENARIO(mappings) {
    const std::uint64_t base = device + 1024 * megabyte;
    for (std::uint64_t index = 0; index < 3; ++index)
        call("cuMemMap", {base + index * 2 * megabyte, 2 * megabyte, 0, 0x88, 0});
    const std::uint64_t inside = base + 3 * megabyte;
    launch_scale(0, inside, base);
    call("cuMemUnmap", {base, 4 * megabyte});
    call("cuMemMap", {base, 2 * megabyte, 0, 0x88, 0});
    call("cuMemUnmap", {base, 2 * megabyte});
    call("cuMemUnmap", {base + 4 * megabyte, 2 * megabyte}, 1);
}

SCENARIO(imports) {
    std::uint64_t out = 0;
    fake::model().memory[device] = {12345, fake::Kind::plain, primary, true};
    const auto open = [&](std::int32_t status) {
        call("cuIpcOpenMemHandle", {at(out), 0, 1}, status, [&] { out = device; });
    };
    open(0);
    open(0);  // the same handle again: the same memory
    call("cuIpcCloseMemHandle", {device});
    call("cuIpcCloseMemHandle", {device});
    open(201);
    abi::ExternalBuffer buffer{0, 777, 0, {}};
    out = make("cuExternalMemoryGetMappedBuffer", device + 8 * megabyte, {0x66, at(buffer)});
    call("cuMemFree", {device + 8 * megabyte});
    fake::model().memory[device + 16 * megabyte] = {4096, fake::Kind::plain, primary, true};
    std::uint64_t shared[8]{};
    out = make("cuMemPoolImportPointer", device + 16 * megabyte, {0x9001, at(shared)});
}

SCENARIO(pools) {
    std::uint64_t pool = 0;
    std::uint64_t word[16]{};
    pool = make("cuMemPoolCreate", 0x9001, {at(word)});
    call("cuMemPoolSetAttribute", {pool, 4, at(word)});
    call("cuMemPoolTrimTo", {pool, 0});
    call("cuMemPoolDestroy", {pool});
    call("cuMemPoolTrimTo", {pool, 0}, 1);
    call("cuMemPoolCreate", {at(pool), at(word)}, 1);
    make("cuDeviceGetMemPool", 0x9002, {0});         // nothing is told of a pool that was always there
    pool = make("cuDeviceGetMemPool", 0x9001, {0});  // the driver's own, made at the handle of the destroyed one
    call("cuMemPoolTrimTo", {pool, 0});
    make("cuMemGetDefaultMemPool", pool, {at(word), 1});
}

SCENARIO(variables) {
    std::uint64_t address = 0;
    std::size_t size = 0;
    const auto get = [&] {
        call("cuModuleGetGlobal", {at(address), at(size), 0x77, at("name")}, 0, [&] {
            address = device;
            size = 256;
        });
    };
    get();
    get();  // nothing new
    call("cuMemcpyHtoD", {device, host, 16});
    call("cuModuleUnload", {0x77});
    get();
}

SCENARIO(rotation) {
    stream(one);
    allocate(device, 1000);
    pinned(host, 2000);
    allocate(device + 8 * megabyte, 3000);
    call("cuMemFree", {device + 8 * megabyte});
    abi::ArrayDescriptor description{64, 32, 0, 0x20, 1, 0};
    make("cuArray3DCreate", 0x555000, {at(description)});
    const abi::ResourceDescription linear = linear_image(device, 1024);
    for (const std::uint64_t object : {1, 2}) make("cuTexObjectCreate", object, {at(linear), 0x10, 0});
    call("cuTexObjectDestroy", {1});
    for (int round = 0; round < 40000; ++round) call("cuMemsetD8Async", {device, 0, 100, one});
}

// -- whole programs, wrong and right
// ------------------------------------------------------------------------------------

void free_races(bool waits) {
    stream(one);
    stream(two);
    event(ready);
    const std::uint64_t a = allocate_async(device, megabyte, one);
    launch_scale(one, a, a);
    call("cuEventRecord", {ready, one});
    if (waits) call("cuStreamWaitEvent", {two, ready, 0});
    call("cuMemFreeAsync", {a, two});
}

void uses_unordered(bool waits) {
    stream(one);
    stream(two);
    const std::uint64_t a = allocate(device, megabyte);
    const std::uint64_t b = allocate(device + 8 * megabyte, megabyte);
    call("cuMemsetD8Async", {a, 0, megabyte, one});
    if (waits) call("cuStreamSynchronize", {one});
    call("cuMemcpyDtoDAsync", {b, a, megabyte, two});
    call("cuStreamSynchronize", {one});
    call("cuStreamSynchronize", {two});
    call("cuMemFree", {a});
    call("cuMemFree", {b});
}

void unmaps_in_use(bool waits) {
    stream(one);
    const std::uint64_t base = device + 1024 * megabyte;
    call("cuMemMap", {base, 2 * megabyte, 0, 0x88, 0});
    call("cuMemMap", {base + 2 * megabyte, 2 * megabyte, 0, 0x88, 0});
    launch_scale(one, base + 3 * megabyte, base + 2 * megabyte);
    if (waits) call("cuStreamSynchronize", {one});
    call("cuMemUnmap", {base, 4 * megabyte});
}

void staged_copy_freed(bool waits) {
    stream(one);
    const std::uint64_t a = allocate_async(device, megabyte, one);
    const std::uint64_t p = pinned(host, megabyte);
    call("cuMemcpyDtoHAsync", {p, a, megabyte, one});
    if (waits) call("cuStreamSynchronize", {one});
    call("cuMemFreeHost", {p});
    call("cuMemFreeAsync", {a, one});
}

SCENARIO(free_races_wrong) { free_races(false); }
SCENARIO(free_races_right) { free_races(true); }
SCENARIO(uses_unordered_wrong) { uses_unordered(false); }
SCENARIO(uses_unordered_right) { uses_unordered(true); }
SCENARIO(unmaps_in_use_wrong) { unmaps_in_use(false); }
SCENARIO(unmaps_in_use_right) { unmaps_in_use(true); }
SCENARIO(staged_copy_freed_wrong) { staged_copy_freed(false); }
SCENARIO(staged_copy_freed_right) { staged_copy_freed(true); }

void begin(std::string& settings, std::string_view scenario) {
    settings += "sites=0\n";
    if (scenario == "rotation") settings += "max_bytes=4194304\n";
    begin_with_driver(settings, scenario == "older_driver");
    fired::context = primary;
}

}  // namespace work_calls

const bool work_calls_are_there = families().emplace("work", Family{work_calls::scenarios, work_calls::begin}).second;

}  // namespace recorded
