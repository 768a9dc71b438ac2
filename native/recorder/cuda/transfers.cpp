#include "recorder/cuda/transfers.hpp"

#include <algorithm>

#include "recorder/cuda/arrays.hpp"
#include "recorder/cuda/extents.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/trace_writer/row_table.hpp"

namespace streamsan::recorder::cuda {
namespace {

std::uint64_t moved(std::uint64_t base, std::uint64_t x, std::uint64_t y, std::uint64_t row, std::uint64_t z,
                    std::uint64_t slice) {
    const std::uint64_t offset = sum(sum(product(y, row), product(z, slice)), x);
    return offset >= largest_extent ? base : base + offset;
}

/// `x` in bytes.
TransferSide in_array(abi::Word array, std::uint64_t x, std::uint64_t y, std::uint64_t z) {
    TransferSide side;
    side.end = Endpoint::DEVICE;
    const auto place = arrays().find(array);
    if (!place) return side;
    side.address = place->base;
    side.extent_known = place->size != 0;
    if (!side.extent_known) return side;
    side.address = moved(place->base, x, y, place->row, z, place->slice);
    side.pitch = place->row;
    side.slice = place->slice;
    return side;
}

struct Layout {
    std::size_t x;
    std::size_t y;
    std::size_t z;
    std::size_t pitch;
    std::size_t height;
};

TransferSide side_of(abi::MemoryType type, abi::Word host, abi::Word device, abi::Word array, const Layout& layout,
                     const TransferShape& shape) {
    if (type == abi::MemoryType::array) return in_array(array, layout.x, layout.y, layout.z);
    TransferSide side;
    side.pitch = layout.pitch == 0 ? shape.width : layout.pitch;  // a pitch of 0 is the copy's own width
    side.slice = product(side.pitch, layout.height == 0 ? shape.height : layout.height);
    const abi::Word base = type == abi::MemoryType::host ? host : device;
    if (base == 0) return side;
    side.address = moved(base, layout.x, layout.y, side.pitch, layout.z, side.slice);
    switch (type) {
        case abi::MemoryType::host: side.end = host_endpoint_at(base); break;
        case abi::MemoryType::device: side.end = Endpoint::DEVICE; break;
        default: side.end = endpoint_at(base); break;
    }
    return side;
}

TransferSide side_of(const abi::Side2D& side, const TransferShape& shape) {
    return side_of(side.type, side.host, side.device, side.array, {side.x, side.y, 0, side.pitch, 0}, shape);
}

TransferSide side_of(const abi::Side3D& side, const TransferShape& shape) {
    return side_of(side.type, side.host, side.device, side.array, {side.x, side.y, side.z, side.pitch, side.height},
                   shape);
}

/// Bytes of an element where an operand is an array: then extents count elements, else bytes.
std::uint64_t element_of(const abi::BatchOperand& operand) {
    if (operand.type != abi::BatchOperand::array_type) return 1;
    const auto place = arrays().find(operand.array.array);
    return place && place->element != 0 ? place->element : 1;
}

TransferSide side_of(const abi::BatchOperand& operand, const TransferShape& shape, std::uint64_t element) {
    if (operand.type == abi::BatchOperand::array_type) {
        return in_array(operand.array.array, operand.array.x * element, operand.array.y, operand.array.z);
    }
    TransferSide side;
    if (operand.type != abi::BatchOperand::pointer_type) return side;
    const abi::BatchOperand::Pointer& pointer = operand.pointer;
    side.address = pointer.address;
    side.pitch = pointer.row_length == 0 ? shape.width : product(pointer.row_length, element);
    side.slice = product(side.pitch, pointer.layer_height == 0 ? shape.height : pointer.layer_height);
    side.end = endpoint_at(pointer.address);
    return side;
}

}  // namespace

Reference reference_to(const TransferSide& side, const TransferShape& shape, AccessMode mode) {
    Reference reference{side.address, 0, static_cast<std::uint8_t>(mode)};
    // The host's own memory now, at addresses that a device's had: a checker would take it for that.
    if (side.end == Endpoint::PAGEABLE && recorder()->memory.was_given_back(side.address))
        return {0, 0, reference.mode_flags};
    if (shape.empty()) return {0, 0, reference.mode_flags};
    if (!side.extent_known) return reference;
    reference.size = shape.width;
    if (shape.height > 1) reference.size = sum(reference.size, product(shape.height - 1, side.pitch));
    if (shape.depth > 1) reference.size = sum(reference.size, product(shape.depth - 1, side.slice));
    const std::uint64_t touched = product(product(shape.width, shape.height), shape.depth);
    if (reference.size <= touched) return reference;
    reference.mode_flags |= static_cast<std::uint8_t>(SlotFlag::STRIDED);
    const bool known = reference.address != 0 && reference.size < largest_extent;
    const Rows rows{shape.width, shape.height > 1 ? side.pitch : 0, shape.height, shape.depth > 1 ? side.slice : 0,
                    shape.depth};
    if (known) reference.rows = row_table().number_of(rows);
    return reference;
}

Endpoint endpoint_at(std::uint64_t address) {
    const auto range = recorder()->memory.maybe(address) ? recorder()->memory.find(address) : std::nullopt;
    if (!range) return Endpoint::PAGEABLE;
    const auto kind = static_cast<std::size_t>(range->kind);
    return kind < effects::endpoints.size() ? effects::endpoints[kind] : Endpoint::UNKNOWN;
}

Endpoint host_endpoint_at(std::uint64_t address) {
    const Endpoint end = endpoint_at(address);
    return end == Endpoint::DEVICE ? Endpoint::UNKNOWN : end;
}

Transfer transfer_of(const abi::Copy2D& copy) {
    const TransferShape shape{copy.width, copy.height};
    return {side_of(copy.destination, shape), side_of(copy.source, shape), shape};
}

Transfer transfer_of(const abi::Copy3D& copy) {
    const TransferShape shape{copy.width, copy.height, copy.depth};
    return {side_of(copy.destination, shape), side_of(copy.source, shape), shape};
}

Transfer transfer_of(const abi::BatchCopy3D& copy) {
    const std::uint64_t element = std::max(element_of(copy.destination), element_of(copy.source));
    const TransferShape shape{product(copy.width, element), copy.height, copy.depth};
    return {side_of(copy.destination, shape, element), side_of(copy.source, shape, element), shape};
}

TransferSide array_side(abi::Word array, std::uint64_t offset) { return in_array(array, offset, 0, 0); }

WaitClass copy_wait(effects::Wait column, Endpoint source, Endpoint destination) {
    const std::size_t row = column == effects::Wait::SYNCHRONOUS ? 0 : 1;
    return effects::copy_waits[row][static_cast<std::size_t>(source)][static_cast<std::size_t>(destination)];
}

WaitClass fill_wait(effects::Wait column, Endpoint target) {
    return effects::memset_waits[column == effects::Wait::SYNCHRONOUS ? 0 : 1][static_cast<std::size_t>(target)];
}

std::size_t copy_references(const Transfer& transfer, Reference* into) {
    into[0] = reference_to(transfer.destination, transfer.shape, AccessMode::WRITE);
    into[1] = reference_to(transfer.source, transfer.shape, AccessMode::READ);
    if (into[1].address != 0) return 2;
    return into[0].address != 0 ? 1 : 0;
}

}  // namespace streamsan::recorder::cuda
