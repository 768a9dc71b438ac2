#include "recorder/opencl/device_addresses.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "recorder/opencl/live_objects.hpp"

namespace streamsan::recorder::opencl {
namespace {

/// Bytes at a device's address, and where they are in the trace.
struct Bytes {
    std::uint64_t size;
    Word place;
};

struct Known {
    std::mutex mutex;
    std::map<Word, Bytes> buffers;
};

Known*& known() {
    static Known* all = new Known;
    return all;
}

/// The device may give an address again when the buffer is gone.
void remember(Word address, const Bytes& bytes) {
    constexpr std::size_t most = 1 << 16;
    auto& buffers = known()->buffers;
    if (buffers.size() >= most) buffers.clear();
    auto next = buffers.lower_bound(address);
    if (next != buffers.begin() && address - std::prev(next)->first < std::prev(next)->second.size) --next;
    while (next != buffers.end() && next->first < address + bytes.size) next = buffers.erase(next);
    buffers[address] = bytes;
}

/// One address for each device of the context.
void asked(Call& call) {
    using namespace parameter::clGetMemObjectInfo;
    if (call[param_name] != abi::CL_MEM_DEVICE_ADDRESS_EXT || call[param_value] == 0 || !call.succeeded()) return;
    const auto memory = live().memory.find(call[memobj]);
    if (!memory || memory->size == 0) return;
    constexpr Word most_devices = 64;
    const std::lock_guard lock(known()->mutex);
    for (Word device = 0; device < std::min(call[param_value_size] / sizeof(Word), most_devices); ++device) {
        if (const Word address = read_word(call[param_value] + device * sizeof(Word)); address != 0)
            remember(address, {memory->size, memory->address});
    }
}

}  // namespace

Word place_of_device_address(Word address) {
    const std::lock_guard lock(known()->mutex);
    const auto& buffers = known()->buffers;
    auto next = buffers.upper_bound(address);
    if (next == buffers.begin()) return 0;
    --next;
    const std::uint64_t offset = address - next->first;
    return offset < next->second.size ? next->second.place + offset : 0;
}

void device_addresses_after_fork() { known() = new Known; }

void register_device_addresses(HandlerTable& table) { table.on(Function::clGetMemObjectInfo, {nullptr, asked}); }

}  // namespace streamsan::recorder::opencl
