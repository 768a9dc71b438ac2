// Copies and fills of images.
#include "recorder/opencl/commands.hpp"
#include "recorder/opencl/memory.hpp"

namespace streamsan::recorder::opencl {
namespace {

MemoryInfo image_of(Word handle) { return live().memory.find(handle).value_or(MemoryInfo{}); }

/// The host's side of a copy: the region's bytes, in rows of the program's pitches (0: tight).
Reference host_side(const MemoryInfo& image, Word pointer, Word region, std::uint64_t row_pitch,
                    std::uint64_t slice_pitch, AccessMode mode) {
    const auto [columns, rows, slices] = read_triple(region);
    const std::uint64_t width = columns * image.image.element;
    if (row_pitch == 0) row_pitch = width;
    if (slice_pitch == 0) slice_pitch = rows * row_pitch;
    return reference_to(Box{pointer, width, rows, slices, row_pitch, slice_pitch}, mode);
}

/// The region's bytes in a buffer, tight.
Reference buffer_side(const MemoryInfo& image, Word buffer, std::uint64_t offset, Word region, AccessMode mode) {
    const auto [columns, rows, slices] = read_triple(region);
    return part_of_buffer(buffer, offset, columns * image.image.element * rows * slices, mode);
}

void copy_of_image(Call& call, const Reference& to, const Reference& from) {
    const Reference both[] = {to, from};
    write_command(call, OperationKind::COPY, wait_of(call), both, 2);
}

void read_image(Call& call) {
    using namespace parameter::clEnqueueReadImage;
    const MemoryInfo there = image_of(call[image]);
    write_host_copy(call, region_of_image(there, call[origin], call[region], AccessMode::READ),
                    host_side(there, call[ptr], call[region], call[row_pitch], call[slice_pitch], AccessMode::WRITE));
}

void write_image(Call& call) {
    using namespace parameter::clEnqueueWriteImage;
    const MemoryInfo there = image_of(call[image]);
    write_host_copy(
        call, region_of_image(there, call[origin], call[region], AccessMode::WRITE),
        host_side(there, call[ptr], call[region], call[input_row_pitch], call[input_slice_pitch], AccessMode::READ));
}

void copy_image(Call& call) {
    using namespace parameter::clEnqueueCopyImage;
    copy_of_image(call, region_of_image(image_of(call[dst_image]), call[dst_origin], call[region], AccessMode::WRITE),
                  region_of_image(image_of(call[src_image]), call[src_origin], call[region], AccessMode::READ));
}

void image_to_buffer(Call& call) {
    using namespace parameter::clEnqueueCopyImageToBuffer;
    const MemoryInfo from = image_of(call[src_image]);
    copy_of_image(call, buffer_side(from, call[dst_buffer], call[dst_offset], call[region], AccessMode::WRITE),
                  region_of_image(from, call[src_origin], call[region], AccessMode::READ));
}

void buffer_to_image(Call& call) {
    using namespace parameter::clEnqueueCopyBufferToImage;
    const MemoryInfo to = image_of(call[dst_image]);
    copy_of_image(call, region_of_image(to, call[dst_origin], call[region], AccessMode::WRITE),
                  buffer_side(to, call[src_buffer], call[src_offset], call[region], AccessMode::READ));
}

void fill_image(Call& call) {
    using namespace parameter::clEnqueueFillImage;
    const Reference filled = region_of_image(image_of(call[image]), call[origin], call[region], AccessMode::WRITE);
    write_command(call, OperationKind::MEMSET, WaitClass::NONE, &filled, 1);
}

}  // namespace

void register_images(HandlerTable& table) {
    table.on(Function::clEnqueueReadImage, {read_image, end_command});
    table.on(Function::clEnqueueWriteImage, {write_image, end_command});
    table.on(Function::clEnqueueCopyImage, {copy_image, end_command});
    table.on(Function::clEnqueueCopyImageToBuffer, {image_to_buffer, end_command});
    table.on(Function::clEnqueueCopyBufferToImage, {buffer_to_image, end_command});
    table.on(Function::clEnqueueFillImage, {fill_image, end_command});
}

}  // namespace streamsan::recorder::opencl
