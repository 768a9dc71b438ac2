#include "recorder/opencl/svm.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "recorder/opencl/callbacks.hpp"
#include "recorder/opencl/commands.hpp"
#include "recorder/opencl/mappings.hpp"
#include "recorder/opencl/memory.hpp"

namespace streamsan::recorder::opencl {
namespace {

struct Ranges {
    std::mutex mutex;
    std::map<Word, std::uint64_t> sizes;
};

Ranges*& ranges() {
    static Ranges* all = new Ranges;
    return all;
}

constexpr Word most_freed_pointers = 4096;

void allocated(Call& call, std::uint64_t size) {
    if (call.result == 0) return;
    {
        const std::lock_guard lock(ranges()->mutex);
        ranges()->sizes[call.result] = size;
    }
    const Reference whole{call.result, size, 0};
    write_returned(call, OperationKind::ALLOC, MemoryKind::SVM, 0, 0, &whole, 1);
}

void forget(Word pointer) {
    const std::lock_guard lock(ranges()->mutex);
    ranges()->sizes.erase(pointer);
}

template <FreeClass family, unsigned freed>
void free_now(Call& call) {
    const Word pointer = call[freed];
    if (pointer == 0) return;
    forget(pointer);
    const Reference whole{pointer, 0, 0};
    write_entered(call, OperationKind::FREE, family, 0, 0, &whole, 1);
}

void on_free(void* queue, std::uint32_t count, void** pointers, void* data) {
    const std::unique_ptr<Callback> callback(static_cast<Callback*>(data));
    const CallbackBody body(callback->key);
    reinterpret_cast<void (*)(void*, std::uint32_t, void**, void*)>(callback->function)(
        queue, count, pointers, reinterpret_cast<void*>(callback->data));
}

/// With a function of the program's it is that function which frees.
void enqueue_free(Call& call) {
    using namespace parameter::clEnqueueSVMFree;
    write_waits(call);
    Word key = 0;
    if (call[pfn_free_func] != 0) {
        key = new_key();
        write_before(call, OperationKind::HOST_FUNCTION, 0, queue_of(call), key);
        stand_before(call, pfn_free_func, user_data, key, on_free);
    }
    const Word count = call[svm_pointers] == 0 ? 0 : std::min(call[num_svm_pointers], most_freed_pointers);
    // The command itself: what is freed is freed with it, behind its wait list and nothing else of the queue.
    if (key == 0 && count != 0)
        write_before(call, OperationKind::QUEUE_MARKER, MarkerKind::WAIT_LIST, queue_of(call), 0);
    for (Word position = 0; position < count; ++position) {
        const Word pointer = read_word(call[svm_pointers] + position * sizeof(Word));
        if (pointer == 0) continue;
        if (key == 0) forget(pointer);
        const Reference whole{pointer, 0, 0};
        if (call.slot == nullptr)
            write_entered(call, OperationKind::FREE, FreeClass::ASYNC, queue_of(call), 0, &whole, 1);
        else write_before(call, OperationKind::FREE, FreeClass::ASYNC, queue_of(call), 0, &whole, 1);
    }
}

void free_enqueued(Call& call) {
    if (call.scratch[3] != 0 && !call.succeeded()) delete reinterpret_cast<Callback*>(call.scratch[3]);
    end_command(call);
}

void copy_shared(Call& call, unsigned to, unsigned from, unsigned bytes) {
    const Reference both[] = {host_memory({call[to], call[bytes], static_cast<std::uint8_t>(AccessMode::WRITE)}),
                              host_memory({call[from], call[bytes], static_cast<std::uint8_t>(AccessMode::READ)})};
    write_command(call, OperationKind::COPY, wait_of(call), both, 2);
}

void fill(Call& call, unsigned to, unsigned bytes) {
    const Reference filled{call[bytes] == 0 ? 0 : call[to], call[bytes], static_cast<std::uint8_t>(AccessMode::WRITE)};
    write_command(call, OperationKind::MEMSET, WaitClass::NONE, &filled, 1);
}

Reference shared_region(const Call& call, AccessMode mode) {
    using namespace parameter::clEnqueueSVMMap;
    return {call[svm_ptr], call[size], static_cast<std::uint8_t>(mode)};
}

void map(Call& call) {
    using namespace parameter::clEnqueueSVMMap;
    begin_map(call, shared_region(call, AccessMode::READ), call[flags]);
}

void mapped(Call& call) {
    using namespace parameter::clEnqueueSVMMap;
    const bool reads = (call[flags] & abi::CL_MAP_READ) != 0;
    const bool writes = (call[flags] & (abi::CL_MAP_WRITE | abi::CL_MAP_WRITE_INVALIDATE_REGION)) != 0;
    const AccessMode mode = writes ? (reads ? AccessMode::READ_WRITE : AccessMode::WRITE) : AccessMode::READ;
    end_map(call, 0, call[svm_ptr], call[size], shared_region(call, mode));
}

void migrate_shared(Call& call) {
    using namespace parameter::clEnqueueSVMMigrateMem;
    std::vector<Reference> moved;
    const Word count = call[svm_pointers] == 0 ? 0 : std::min<Word>(call[num_svm_pointers], 256);
    for (Word position = 0; position < count; ++position)
        moved.push_back(
            {read_word(call[svm_pointers] + position * sizeof(Word)), 0, static_cast<std::uint8_t>(AccessMode::READ)});
    write_command(call, OperationKind::PREFETCH, WaitClass::NONE, moved.data(), moved.size());
}

/// Advice and migration of Intel's.
void prefetch(Call& call) {
    using namespace parameter::clEnqueueMigrateMemINTEL;
    const Reference moved{call[ptr], call[size], static_cast<std::uint8_t>(AccessMode::READ)};
    write_command(call, OperationKind::PREFETCH, WaitClass::NONE, &moved, 1);
}

}  // namespace

bool lies_in_svm(Word address) {
    const std::lock_guard lock(ranges()->mutex);
    auto next = ranges()->sizes.upper_bound(address);
    if (next == ranges()->sizes.begin()) return false;
    --next;
    return address - next->first < next->second;
}

void svm_after_fork() { ranges() = new Ranges; }

void register_svm(HandlerTable& table) {
    for (const Function function : {Function::clSVMAlloc, Function::clSVMAllocARM})
        table.on(function, {nullptr, [](Call& call) { allocated(call, call[parameter::clSVMAlloc::size]); }});
    table.on(Function::clHostMemAllocINTEL,
             {nullptr, [](Call& call) { allocated(call, call[parameter::clHostMemAllocINTEL::size]); }});
    for (const Function function : {Function::clDeviceMemAllocINTEL, Function::clSharedMemAllocINTEL})
        table.on(function,
                 {nullptr, [](Call& call) { allocated(call, call[parameter::clDeviceMemAllocINTEL::size]); }});
    constexpr auto completed = [](Call& call) { complete(call); };
    table.on(Function::clSVMAllocWithPropertiesKHR,
             {nullptr, [](Call& call) { allocated(call, call[parameter::clSVMAllocWithPropertiesKHR::size]); }});
    constexpr unsigned freed = parameter::clSVMFree::svm_pointer;
    for (const Function function : {Function::clSVMFree, Function::clSVMFreeARM, Function::clMemFreeINTEL})
        table.on(function, {free_now<FreeClass::CL_SVM, freed>, completed});
    table.on(Function::clSVMFreeWithPropertiesKHR,
             {free_now<FreeClass::CL_SVM, parameter::clSVMFreeWithPropertiesKHR::ptr>, completed});
    table.on(Function::clMemBlockingFreeINTEL,
             {free_now<FreeClass::CL_SVM_BLOCKING, freed>, [](Call& call) { complete(call, true); }});
    for (const Function function : {Function::clEnqueueSVMFree, Function::clEnqueueSVMFreeARM})
        table.on(function, {enqueue_free, free_enqueued});
    for (const Function function :
         {Function::clEnqueueSVMMemcpy, Function::clEnqueueSVMMemcpyARM, Function::clEnqueueMemcpyINTEL})
        table.on(function, {[](Call& call) {
                                using namespace parameter::clEnqueueSVMMemcpy;
                                copy_shared(call, dst_ptr, src_ptr, size);
                            },
                            end_command});
    for (const Function function :
         {Function::clEnqueueSVMMemFill, Function::clEnqueueSVMMemFillARM, Function::clEnqueueMemFillINTEL})
        table.on(function, {[](Call& call) {
                                using namespace parameter::clEnqueueSVMMemFill;
                                fill(call, svm_ptr, size);
                            },
                            end_command});
    table.on(Function::clEnqueueMemsetINTEL, {[](Call& call) {
                                                  using namespace parameter::clEnqueueMemsetINTEL;
                                                  fill(call, dst_ptr, size);
                                              },
                                              end_command});
    for (const Function function : {Function::clEnqueueSVMMap, Function::clEnqueueSVMMapARM})
        table.on(function, {map, mapped});
    for (const Function function : {Function::clEnqueueSVMUnmap, Function::clEnqueueSVMUnmapARM})
        table.on(function,
                 {[](Call& call) { begin_unmap(call, 0, call[parameter::clEnqueueSVMUnmap::svm_ptr]); }, end_command});
    table.on(Function::clEnqueueSVMMigrateMem, {migrate_shared, end_command});
    for (const Function function : {Function::clEnqueueMigrateMemINTEL, Function::clEnqueueMemAdviseINTEL})
        table.on(function, {prefetch, end_command});
}

}  // namespace streamsan::recorder::opencl
