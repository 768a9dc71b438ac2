// Copies and fills of buffers, and migrations.
#include <algorithm>
#include <vector>

#include "recorder/opencl/commands.hpp"
#include "recorder/opencl/memory.hpp"

namespace streamsan::recorder::opencl {
namespace {

void copy(Call& call, const Reference& to, const Reference& from) {
    const Reference both[] = {to, from};
    write_command(call, OperationKind::COPY, wait_of(call), both, 2);
}

Reference host(Word pointer, std::uint64_t size, AccessMode mode) {
    return {pointer, size, static_cast<std::uint8_t>(mode)};
}

void read_buffer(Call& call) {
    using namespace parameter::clEnqueueReadBuffer;
    write_host_copy(call, part_of_buffer(call[buffer], call[offset], call[size], AccessMode::READ),
                    host(call[ptr], call[size], AccessMode::WRITE));
}

void write_buffer(Call& call) {
    using namespace parameter::clEnqueueWriteBuffer;
    write_host_copy(call, part_of_buffer(call[buffer], call[offset], call[size], AccessMode::WRITE),
                    host(call[ptr], call[size], AccessMode::READ));
}

void copy_buffer(Call& call) {
    using namespace parameter::clEnqueueCopyBuffer;
    copy(call, part_of_buffer(call[dst_buffer], call[dst_offset], call[size], AccessMode::WRITE),
         part_of_buffer(call[src_buffer], call[src_offset], call[size], AccessMode::READ));
}

Word address_of_buffer(Word buffer) { return live().memory.find(buffer).value_or(MemoryInfo{}).address; }

/// clEnqueueReadBufferRect and clEnqueueWriteBufferRect have their parameters at the same positions.
template <AccessMode of_buffer, AccessMode of_host>
void copy_host_rectangle(Call& call) {
    using namespace parameter::clEnqueueReadBufferRect;
    const Reference there = rectangle_at(address_of_buffer(call[buffer]), call[buffer_origin], call[region],
                                         call[buffer_row_pitch], call[buffer_slice_pitch], of_buffer);
    write_host_copy(call, there,
                    rectangle_at(call[ptr], call[host_origin], call[region], call[host_row_pitch],
                                 call[host_slice_pitch], of_host));
}

void copy_rectangle(Call& call) {
    using namespace parameter::clEnqueueCopyBufferRect;
    copy(call,
         rectangle_at(address_of_buffer(call[dst_buffer]), call[dst_origin], call[region], call[dst_row_pitch],
                      call[dst_slice_pitch], AccessMode::WRITE),
         rectangle_at(address_of_buffer(call[src_buffer]), call[src_origin], call[region], call[src_row_pitch],
                      call[src_slice_pitch], AccessMode::READ));
}

void fill_buffer(Call& call) {
    using namespace parameter::clEnqueueFillBuffer;
    const Reference filled = part_of_buffer(call[buffer], call[offset], call[size], AccessMode::WRITE);
    write_command(call, OperationKind::MEMSET, WaitClass::NONE, &filled, 1);
}

std::vector<Reference> objects_in(Word count, Word list, AccessMode mode) {
    constexpr Word most = 256;
    std::vector<Reference> objects;
    for (Word position = 0; list != 0 && position < std::min<Word>(static_cast<std::uint32_t>(count), most);
         ++position) {
        if (const auto memory = live().memory.find(read_word(list + position * sizeof(Word))))
            objects.push_back(
                {memory->address, mode == AccessMode::READ ? 0 : memory->size, static_cast<std::uint8_t>(mode)});
    }
    return objects;
}

/// A migration neither reads nor writes for the program: it orders, and the objects must be there.
void migrate(Call& call) {
    using namespace parameter::clEnqueueMigrateMemObjects;
    const auto objects = objects_in(call[num_mem_objects], call[mem_objects], AccessMode::READ);
    write_command(call, OperationKind::PREFETCH, WaitClass::NONE, objects.data(), objects.size());
}

/// Another API's objects come and go: what that does with them is before the one, and behind the other.
void acquire_or_release(Call& call) {
    using namespace parameter::clEnqueueAcquireGLObjects;
    const auto objects = objects_in(call[num_objects], call[mem_objects], AccessMode::READ_WRITE);
    write_command(call, OperationKind::PREFETCH, WaitClass::NONE, objects.data(), objects.size());
}

void generate_mipmap(Call& call) { write_command(call, OperationKind::QUEUE_MARKER, MarkerKind::WAIT_LIST); }

}  // namespace

void register_transfers(HandlerTable& table) {
    table.on(Function::clEnqueueReadBuffer, {read_buffer, end_command});
    table.on(Function::clEnqueueWriteBuffer, {write_buffer, end_command});
    table.on(Function::clEnqueueCopyBuffer, {copy_buffer, end_command});
    table.on(Function::clEnqueueReadBufferRect,
             {copy_host_rectangle<AccessMode::READ, AccessMode::WRITE>, end_command});
    table.on(Function::clEnqueueWriteBufferRect,
             {copy_host_rectangle<AccessMode::WRITE, AccessMode::READ>, end_command});
    table.on(Function::clEnqueueCopyBufferRect, {copy_rectangle, end_command});
    table.on(Function::clEnqueueFillBuffer, {fill_buffer, end_command});
    table.on(Function::clEnqueueMigrateMemObjects, {migrate, end_command});
    table.on(Function::clEnqueueMigrateMemObjectEXT, {migrate, end_command});
    for (const Function function :
         {Function::clEnqueueAcquireGLObjects, Function::clEnqueueReleaseGLObjects,
          Function::clEnqueueAcquireEGLObjectsKHR, Function::clEnqueueReleaseEGLObjectsKHR,
          Function::clEnqueueAcquireGrallocObjectsIMG, Function::clEnqueueReleaseGrallocObjectsIMG,
          Function::clEnqueueAcquireExternalMemObjectsKHR, Function::clEnqueueReleaseExternalMemObjectsKHR,
          Function::clEnqueueAcquireVA_APIMediaSurfacesINTEL, Function::clEnqueueReleaseVA_APIMediaSurfacesINTEL})
        table.on(function, {acquire_or_release, end_command});
    table.on(Function::clEnqueueGenerateMipmapIMG, {generate_mipmap, end_command});
}

}  // namespace streamsan::recorder::opencl
