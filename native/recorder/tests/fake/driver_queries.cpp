// The driver's functions that only answer: devices, kernels, pointers.
#include <cstring>

#include "model.hpp"

using namespace fake;

namespace {

const std::pair<const Word, Block>* block_of(Word address) {
    const auto& memory = model().memory;
    auto after = memory.upper_bound(address);
    if (after == memory.begin()) return nullptr;
    --after;
    return address < after->first + after->second.size ? &*after : nullptr;
}

const Kernel* kernel_of(Word handle) {
    const auto* kernel = reinterpret_cast<const Kernel*>(handle);
    return kernel != nullptr && kernel->kind == Kernel::mark ? kernel : nullptr;
}

bool is_host(Kind kind) { return kind == Kind::pinned || kind == Kind::registered; }

Status attribute(void* value, int name, Word address) {
    const auto* block = block_of(address);
    if (block == nullptr) return invalid_value;
    const auto word = [&](Word answer) {
        std::memcpy(value, &answer, sizeof answer);
        return 0;
    };
    const auto number = [&](unsigned answer) {
        std::memcpy(value, &answer, sizeof answer);
        return 0;
    };
    switch (name) {
        case 1: return block->second.kind == Kind::stream_ordered ? invalid_value : word(block->second.context);
        case 2: return number(is_host(block->second.kind) ? 1 : 2);
        case 3: return word(address);
        case 4: return is_host(block->second.kind) ? word(address) : invalid_value;
        case 8: {
            const bool managed = block->second.kind == Kind::managed;
            std::memcpy(value, &managed, sizeof managed);
            return 0;
        }
        case 9: return number(0);
        case 11: return word(block->first);
        case 12: return word(block->second.size);
        case 17: return word(block->second.kind == Kind::stream_ordered ? 0x4000 : 0);
        default: return invalid_value;
    }
}

}  // namespace

extern "C" {

Status cuDriverGetVersion(int* version) {
    *version = 13000;
    return 0;
}

Status cuDeviceGetCount(int* count) {
    *count = 1;
    return driver_state();
}

Status cuDeviceGetAttribute(int* value, int attribute, int device) {
    return driver_call(
        9, "cuDeviceGetAttribute",
        [&] {
            switch (attribute) {
                case 16: *value = 4; return 0;          // multiprocessors; of one of them:
                case 39: *value = 2048; return 0;       // threads
                case 81: *value = 228 << 10; return 0;  // shared memory
                case 82: *value = 64 << 10; return 0;   // registers
                case 106: *value = 32; return 0;        // blocks
                case 111: *value = 1024; return 0;      // shared memory that each block costs
                default: return invalid_value;
            }
        },
        value, attribute, device);
}

Status cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return ordinal == 0 ? driver_state() : 101;
}

Status cuCtxGetDevice(int* device) {
    *device = 0;
    return fake_current_context() != 0 ? 0 : invalid_context;
}

Status cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) {
    *flags = 0;
    *active = model().primary != 0;
    return 0;
}

Status cuStreamGetFlags(Word stream, unsigned* flags) {
    const std::lock_guard guard(model().lock);
    const Stream* found = model().stream(stream);
    if (found == nullptr) return invalid_handle;
    *flags = found->flags;
    return 0;
}

Status cuStreamGetCtx(Word stream, Word* context) {
    const std::lock_guard guard(model().lock);
    const Stream* found = model().stream(stream);
    if (found == nullptr) return invalid_handle;
    *context = found->context;
    return 0;
}

Status cuFuncGetParamInfo(Word, std::size_t, std::size_t*, std::size_t*) {
    log_line("Cannot pass CUkernel handle to this API");
    return invalid_handle;
}

Status cuFuncGetName(const char**, Word) { return invalid_handle; }

Status cuKernelGetParamInfo(Word handle, std::size_t index, std::size_t* offset, std::size_t* size) {
    const Kernel* kernel = kernel_of(handle);
    if (kernel == nullptr) return invalid_handle;
    if (index >= kernel->count) {
        log_line("paramIndex " + std::to_string(index) + " outside of kernel parameter count " +
                 std::to_string(kernel->count));
        return invalid_value;
    }
    *offset = kernel->offsets[index];
    *size = kernel->sizes[index];
    return 0;
}

Status cuKernelGetName(const char** name, Word handle) {
    const Kernel* kernel = kernel_of(handle);
    if (kernel == nullptr) return invalid_handle;
    *name = kernel->mangled;
    return 0;
}

Status cuPointerGetAttribute(void* value, int name, Word address) {
    const std::lock_guard guard(model().lock);
    return attribute(value, name, address);
}

Status cuPointerGetAttributes(unsigned count, const int* names, void** values, Word address) {
    const std::lock_guard guard(model().lock);
    for (unsigned at = 0; at < count; ++at) attribute(values[at], names[at], address);
    return 0;
}

Status cuPointerSetAttribute(const void* value, int name, Word address) {
    return driver_call(
        378, "cuPointerSetAttribute", [&] { return block_of(address) != nullptr ? 0 : invalid_value; }, value, name,
        address);
}

Status cuMemGetAddressRange_v2(Word* base, std::size_t* size, Word address) {
    const std::lock_guard guard(model().lock);
    const auto* block = block_of(address);
    if (block == nullptr || is_host(block->second.kind)) return invalid_value;
    if (base != nullptr) *base = block->first;
    if (size != nullptr) *size = block->second.size;
    return 0;
}

Status cuMemHostGetDevicePointer_v2(Word* address, void* host, unsigned) {
    const std::lock_guard guard(model().lock);
    const auto* block = block_of(reinterpret_cast<Word>(host));
    if (block == nullptr || !is_host(block->second.kind)) return invalid_value;
    *address = reinterpret_cast<Word>(host);
    return 0;
}

}  // extern "C"
