// NCCL in its place, `libnccl.so.2`: it launches kernels, and tells a profiler plugin of them as NCCL's versions do.
// How events lie in memory is written down here once more, by their published offsets.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <thread>
#include <vector>

#include "nccl.hpp"

namespace fake_nccl {

int version = 5;
bool tells_late = false;
bool is_silent = false;

enum Function { broadcast = 0, reduce = 1, all_gather = 2, reduce_scatter = 3, all_reduce = 4, send = 6, recv = 7 };
constexpr const char* function_names[]{"Broadcast", "Reduce",  "AllGather", "ReduceScatter",
                                       "AllReduce", "Invalid", "Send",      "Recv"};

const char* type_name(ncclDataType_t type) {
    return type == ncclInt8 ? "ncclInt8" : type == ncclFloat32 ? "ncclFloat32" : "ncclFloat64";
}
std::size_t type_size(ncclDataType_t type) { return type == ncclInt8 ? 1 : type == ncclFloat32 ? 4 : 8; }

struct Plugin {
    const char* name;
    void* init;
    ncclResult_t (*start)(void* context, void** handle, void* event);
    ncclResult_t (*stop)(void* handle);
    void* record;
    ncclResult_t (*finalize)(void* context);
};

Plugin* plugin = nullptr;
int wanted = 0;

struct Task {
    Function function;
    const void* send = nullptr;
    void* receive = nullptr;
    std::size_t count = 0;
    ncclDataType_t type = ncclFloat32;
    int root = 0;
};

struct Communicator {
    int ranks, rank;
    void* context = nullptr;
    cudaStream_t stream = nullptr;
    std::vector<Task> tasks;
};

/// As NCCL does at a process' first communicator.
void load() {
    const char* const path = std::getenv("NCCL_PROFILER_PLUGIN");
    void* const library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    plugin = static_cast<Plugin*>(dlsym(library, ("ncclProfiler_v" + std::to_string(version)).c_str()));
}

class Event {
public:
    Event(std::uint64_t sort, int rank) {
        std::memset(bytes_, 0xAA, 8);  // what is behind a narrow field
        if (version >= 5) put(0, sort);
        else put(0, static_cast<std::uint8_t>(sort));
        put(16, rank);
    }
    template <class Value>
    void put(std::size_t offset, Value value) {
        std::memcpy(bytes_ + offset, &value, sizeof value);
    }
    void* start(void* context) {
        void* handle = nullptr;
        plugin->start(context, &handle, bytes_);
        return handle;
    }

private:
    unsigned char bytes_[160]{};
};

void* start_collective(const Communicator& of, const Task& task) {
    Event event(1U << 1, of.rank);
    const std::size_t buffers = version >= 4 ? 40 : 56;
    if (version == 1) {
        event.put(48, static_cast<std::uint8_t>(task.function));
        event.put(84, static_cast<std::uint8_t>(task.type));
    } else {
        event.put(version >= 4 ? 32 : 48, function_names[task.function]);
        event.put(version >= 4 ? 72 : 88, type_name(task.type));
    }
    event.put(buffers, task.send);
    event.put(buffers + 8, task.receive);
    event.put(buffers + 16, task.count);
    event.put(buffers + 24, task.root);
    return event.start(of.context);
}

void* start_transfer(const Communicator& of, const Task& task) {
    Event event(1U << 2, of.rank);
    const std::size_t first = version >= 4 ? 24 : 40;
    if (version == 1) {
        event.put(first, static_cast<std::uint8_t>(task.function));
        event.put(first + 16, static_cast<std::uint8_t>(task.type));
    } else {
        event.put(first, function_names[task.function]);
        event.put(first + 16, type_name(task.type));
    }
    event.put(first + 8, task.function == send ? const_cast<void*>(task.send) : task.receive);
    event.put(first + 24, task.count);
    event.put(first + 32, task.root);
    return event.start(of.context);
}

void tell(const Communicator& of, const std::vector<Task>& tasks) {
    if (plugin == nullptr || (wanted & 6) == 0) return;
    void* const group = Event(1, of.rank).start(of.context);
    std::vector<void*> handles;
    for (const Task& task : tasks)
        handles.push_back(task.function >= send ? start_transfer(of, task) : start_collective(of, task));
    for (void* const handle : handles)
        if (handle != nullptr) plugin->stop(handle);
    if (group != nullptr) plugin->stop(group);
}

constexpr fake::Kernel kernel("_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE", {256});

/// The kernel's structure has the buffers of the latest collective somewhere.
void launch(Communicator& of) {
    std::vector<Task> tasks;
    tasks.swap(of.tasks);
    if (tasks.empty()) return;
    std::uint64_t words[32]{};
    words[9] = reinterpret_cast<std::uint64_t>(tasks.back().receive);
    words[10] = reinterpret_cast<std::uint64_t>(tasks.back().send);
    void* arguments[]{words};
    cudaLaunchKernel(&kernel, dim3{}, dim3{32}, arguments, 0, of.stream);
    if (is_silent) return;
    if (tells_late) std::thread([&] { tell(of, tasks); }).join();
    else tell(of, tasks);
}

thread_local int depth = 0;
thread_local std::vector<Communicator*> waiting;

ncclResult_t end() {
    if (--depth != 0) return 0;
    std::vector<Communicator*> all;
    all.swap(waiting);
    for (Communicator* const each : all) launch(*each);
    return 0;
}

ncclResult_t ask(Communicator* of, cudaStream_t stream, const Task& task) {
    ++depth;
    of->stream = stream;
    if (of->tasks.empty()) waiting.push_back(of);
    Task told = task;
    if (task.function == broadcast || task.function == all_gather) {
        told.count *= type_size(task.type);  // NCCL tells these in bytes
        told.type = ncclInt8;
    }
    of->tasks.push_back(told);
    return end();
}

}  // namespace fake_nccl

using namespace fake_nccl;

ncclComm_t make_communicator(int ranks, int rank) {
    if (plugin == nullptr) load();
    auto* const made = new Communicator{ranks, rank, nullptr, nullptr, {}};
    if (plugin == nullptr) return made;
    if (version <= 3) {
        reinterpret_cast<ncclResult_t (*)(void**, int*)>(plugin->init)(&made->context, &wanted);
    } else if (version == 4) {
        using Init = ncclResult_t (*)(void**, int*, const char*, std::uint64_t, int, int, int, void*);
        reinterpret_cast<Init>(plugin->init)(&made->context, &wanted, "world", 7, 1, ranks, rank, nullptr);
    } else {
        using Init = ncclResult_t (*)(void**, std::uint64_t, int*, const char*, int, int, int, void*);
        reinterpret_cast<Init>(plugin->init)(&made->context, 7, &wanted, "world", 1, ranks, rank, nullptr);
    }
    return made;
}

void ncclCommDestroy(ncclComm_t communicator) {
    if (plugin != nullptr) plugin->finalize(communicator->context);
    delete communicator;
}
void ncclGroupStart() { ++depth; }
ncclResult_t ncclGroupEnd() { return end(); }

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclComm_t communicator,
                           cudaStream_t stream) {
    return ask(communicator, stream, {all_reduce, from, to, count, type});
}
ncclResult_t ncclReduce(const void* from, void* to, std::size_t count, ncclDataType_t type, int root,
                        ncclComm_t communicator, cudaStream_t stream) {
    return ask(communicator, stream, {reduce, from, to, count, type, root});
}
ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t communicator, cudaStream_t stream) {
    return ask(communicator, stream, {broadcast, from, to, count, type, root});
}
ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclComm_t communicator,
                           cudaStream_t stream) {
    return ask(communicator, stream, {all_gather, from, to, count, type});
}
ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclComm_t communicator, cudaStream_t stream) {
    return ask(communicator, stream, {reduce_scatter, from, to, count, type});
}
ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                      cudaStream_t stream) {
    return ask(communicator, stream, {send, from, nullptr, count, type, peer});
}
ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                      cudaStream_t stream) {
    return ask(communicator, stream, {recv, nullptr, to, count, type, peer});
}
