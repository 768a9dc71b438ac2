// The fake libsanitizer-public: one subscriber, told as the real one tells. Its kernels have no bodies: one that is
// given notes says that it wrote the first 256 bytes behind each of its arguments of 8 bytes.
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <iterator>
#include <sys/mman.h>

#include "kernel.hpp"
#include "recorder/accesses/device_notes.hpp"
#include "recorder/cuda/sanitizer_abi.hpp"
#include "tool.hpp"

using namespace fake;
using streamsan::recorder::DeviceNotes;
using streamsan::recorder::PageUse;

namespace {

constexpr std::uint32_t launch_kernel = 307, launch_kernel_ex = 652, launch_graph = 514;
constexpr std::uint64_t written = 256;

abi::SanitizerCallback told = nullptr;
void* told_data = nullptr;
bool wanted[11][most_ids]{};
const void* given = nullptr;  ///< to the launch under way

bool wants(abi::SanitizerDomain domain, std::uint32_t id) {
    return id < most_ids && wanted[static_cast<int>(domain)][id];
}

void tell(abi::SanitizerDomain domain, std::uint32_t id, const void* data) {
    if (wants(domain, id)) told(told_data, domain, id, data);
}

/// As the patch does it on a device, less what only many threads need.
void note(DeviceNotes& notes, std::uint32_t* bits, std::uint64_t launch, std::uint64_t address, std::uint64_t size) {
    constexpr unsigned page_bits = DeviceNotes::bits_log2 + DeviceNotes::word_shift;
    for (std::uint64_t at = address & ~std::uint64_t{3}; at < address + size; at += 4) {
        const std::uint64_t key = launch << DeviceNotes::launch_shift | at >> page_bits << DeviceNotes::page_shift |
                                  (static_cast<std::uint64_t>(PageUse::write) + 1);
        std::uint32_t record = 0;
        while (record < notes.taken && notes.records[record].key != key) ++record;
        if (record == notes.note_count) return;
        if (record == notes.taken) notes.records[notes.taken++].key = key;
        const std::uint64_t bit = at >> 2 & (DeviceNotes::bits - 1);
        bits[std::size_t{record} * DeviceNotes::words + (bit >> 5)] |= 1U << (bit & 31);
    }
}

/// What a kernel notes that was given notes.
void run(const Kernel& kernel, const void* const* arguments, std::uint64_t grid) {
    if (given == nullptr || arguments == nullptr) return;
    const auto place = reinterpret_cast<std::uint64_t>(given), head = DeviceNotes::head_of(place);
    std::uint64_t number = DeviceNotes::launch_of(place);
    if (DeviceNotes::by_grid(place)) number = (number + grid) & ((1U << DeviceNotes::launch_bits) - 1);
    auto& notes = *reinterpret_cast<DeviceNotes*>(head);
    auto* const bits =
        reinterpret_cast<std::uint32_t*>(DeviceNotes::bits_of_notes(head, DeviceNotes::entries_log2_of(place)));
    notes.records[notes.taken++].key = number << DeviceNotes::launch_shift | DeviceNotes::bytes_bit | 1;
    for (std::size_t index = 0; index < kernel.count; ++index) {
        std::uint64_t address = 0;
        if (kernel.sizes[index] != sizeof address) continue;
        std::memcpy(&address, arguments[index], sizeof address);
        if (address != 0) note(notes, bits, number, address, written);
    }
}

struct LaunchCall {
    const Kernel* kernel;
    unsigned shape[7];
    Word stream;
    void** arguments;
    void** extra;
};

void launch(const LaunchCall& call, Word context) {
    abi::SanitizerLaunchData data{};
    data.context = context;
    data.stream = call.stream;
    data.function = reinterpret_cast<Word>(call.kernel);
    data.function_name = call.kernel->mangled;
    given = nullptr;
    tell(abi::SanitizerDomain::launch, abi::sanitizer_launch_begin, &data);
    run(*call.kernel, call.arguments, 0);
}

struct GraphCall {
    Word executable;
    Word stream;
};

/// All kernels are told of first; each is given what the last of them is, as those on one stream of the driver's are.
void launch(const GraphCall& call, Word context) {
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    const auto kernels_of = reinterpret_cast<std::size_t (*)(Word, GraphKernel*, std::size_t)>(
        driver != nullptr ? dlsym(driver, "fake_graph_kernels") : nullptr);
    if (kernels_of == nullptr) return;
    static GraphKernel kernels[1024];
    const std::size_t count = kernels_of(call.executable, kernels, std::size(kernels));
    given = nullptr;
    for (std::size_t at = 0; at < count; ++at) {
        abi::SanitizerNodeLaunchData data{};
        data.graph_exec = call.executable;
        data.node = kernels[at].node;
        data.kernel.context = context;
        data.kernel.stream = call.stream;
        data.kernel.function = reinterpret_cast<Word>(kernels[at].kernel);
        data.kernel.function_name = kernels[at].kernel->mangled;
        data.kernel.grid_id = kernels[at].grid;
        tell(abi::SanitizerDomain::graphs, abi::sanitizer_node_launch_begin, &data);
    }
    for (std::size_t at = 0; at < count; ++at) run(*kernels[at].kernel, kernels[at].arguments, kernels[at].grid);
}

void call(abi::Domain domain, std::uint32_t id, const abi::CallbackData& data) {
    const bool configured = domain == abi::Domain::driver && id == launch_kernel_ex;
    const abi::SanitizerCallbackData same{
        data.site, data.function_name, data.parameters, data.returned, configured ? "h" : data.symbol, data.context};
    const auto to = static_cast<abi::SanitizerDomain>(domain);
    tell(to, id, &same);
    if (domain == abi::Domain::driver && id == launch_kernel && data.site == abi::CallbackSite::enter)
        launch(*static_cast<const LaunchCall*>(data.parameters), data.context);
    if (domain == abi::Domain::driver && id == launch_graph && data.site == abi::CallbackSite::enter)
        launch(*static_cast<const GraphCall*>(data.parameters), data.context);
}

void resource(abi::Resource what, const abi::ResourceData* data) {
    const auto as = [data](abi::SanitizerResource id) {
        const abi::SanitizerContextData context{data != nullptr ? data->context : 0};
        tell(abi::SanitizerDomain::resource, static_cast<std::uint32_t>(id), &context);
    };
    switch (what) {
        case abi::Resource::init_finished: as(abi::SanitizerResource::init_finished); return;
        case abi::Resource::context_created: as(abi::SanitizerResource::context_creation_finished); return;
        case abi::Resource::context_destroy_starting: as(abi::SanitizerResource::context_destroy_starting); return;
        default: return;  // it does not tell of graphs
    }
}

/// In the driver's place for a tool.
void listen(void*, abi::Domain domain, std::uint32_t id, const void* data) {
    if (domain == abi::Domain::resource)
        resource(static_cast<abi::Resource>(id), static_cast<const abi::ResourceData*>(data));
    else call(domain, id, *static_cast<const abi::CallbackData*>(data));
}

Tool* tool() {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    const auto find = driver != nullptr ? reinterpret_cast<Tool* (*)()>(dlsym(driver, "fake_tool")) : nullptr;
    return find != nullptr ? find() : nullptr;
}

}  // namespace

extern "C" {

abi::SanitizerStatus sanitizerSubscribe(abi::SanitizerSubscriber* subscriber, abi::SanitizerCallback callback,
                                        void* data) {
    Tool* const place = tool();
    if (place == nullptr) return 13;  // not initialised
    if (place->callback != nullptr) return abi::sanitizer_max_limit_reached;
    told = callback;
    told_data = data;
    place->callback = listen;
    // The driver asks which callbacks are wanted; here that is asked of each as it comes.
    for (auto& row : place->enabled) std::memset(row, 1, sizeof row);
    *subscriber = place;
    return abi::sanitizer_success;
}

abi::SanitizerStatus sanitizerEnableCallback(std::uint32_t enable, abi::SanitizerSubscriber,
                                             abi::SanitizerDomain domain, std::uint32_t id) {
    const int row = static_cast<int>(domain);
    if (row < 1 || row > 10 || id == 0 || id >= most_ids) return 1;
    wanted[row][id] = enable != 0;
    return abi::sanitizer_success;
}

abi::SanitizerStatus sanitizerGetResultString(abi::SanitizerStatus, const char** text) {
    *text = "SANITIZER_ERROR";
    return abi::sanitizer_success;
}

abi::SanitizerStatus sanitizerAddPatchesFromFile(const char* path, Word) {
    return path != nullptr && *path != '\0' ? abi::sanitizer_success : 1;
}
abi::SanitizerStatus sanitizerPatchInstructions(abi::PatchedInstruction, Word, const char*) {
    return abi::sanitizer_success;
}
abi::SanitizerStatus sanitizerPatchModule(Word) { return abi::sanitizer_success; }
abi::SanitizerStatus sanitizerSetLaunchCallbackData(abi::SanitizerLaunch, Word, abi::SanitizerStream,
                                                    const void* data) {
    given = data;
    return abi::sanitizer_success;
}
abi::SanitizerStatus sanitizerGetStreamHandle(Word, Word stream, abi::SanitizerStream* handle) {
    *handle = reinterpret_cast<void*>(stream);
    return abi::sanitizer_success;
}
abi::SanitizerStatus sanitizerStreamSynchronize(abi::SanitizerStream) { return abi::sanitizer_success; }

abi::SanitizerStatus sanitizerAlloc(Word, void** place, std::size_t size) {
    *place = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return *place != MAP_FAILED ? abi::sanitizer_success : 7;
}
abi::SanitizerStatus sanitizerAllocHost(Word context, void** place, std::size_t size) {
    return sanitizerAlloc(context, place, size);
}
abi::SanitizerStatus sanitizerMemset(void* place, int value, std::size_t size, abi::SanitizerStream) {
    constexpr std::size_t page = 4096, large = 1U << 20;
    auto* const begin = static_cast<char*>(place);
    if (value != 0 || size < large) {
        std::memset(begin, value, size);
        return abi::sanitizer_success;
    }
    // Whole pages become zero without being touched.
    const std::size_t first = (page - reinterpret_cast<std::uintptr_t>(begin) % page) % page;
    const std::size_t whole = (size - first) / page * page;
    std::memset(begin, 0, first);
    madvise(begin + first, whole, MADV_DONTNEED);
    std::memset(begin + first + whole, 0, size - first - whole);
    return abi::sanitizer_success;
}
abi::SanitizerStatus sanitizerMemcpyHostToDeviceAsync(void* to, void* from, std::size_t size, abi::SanitizerStream) {
    std::memcpy(to, from, size);
    return abi::sanitizer_success;
}
abi::SanitizerStatus sanitizerMemcpyDeviceToHost(void* to, void* from, std::size_t size, abi::SanitizerStream) {
    std::memcpy(to, from, size);
    return abi::sanitizer_success;
}

}  // extern "C"
