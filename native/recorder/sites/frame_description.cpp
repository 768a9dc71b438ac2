#include "recorder/sites/frame_description.hpp"

#include "recorder/sites/memory_reading.hpp"

namespace streamsan::recorder::call_sites {
namespace {

// DW_EH_PE_*: the low four bits say how a pointer is written, the next three what it is relative to.
constexpr std::uint8_t encoding_omitted = 0xff;
constexpr std::uint8_t encoding_indirect = 0x80;
constexpr std::uint8_t relative_to_itself = 0x10;
constexpr std::uint8_t relative_to_data = 0x30;
/// Data-relative, four bytes, signed: what every linker writes in .eh_frame_hdr's table.
constexpr std::uint8_t sorted_table_encoding = 0x3b;

struct Entry {
    AddressRange body;  // from the CIE pointer on
    std::uint64_t start;
};

std::optional<Entry> entry_at(const Module& module, std::uint64_t address) {
    const std::uint64_t end = module.readable_until(address);
    if (end == 0 || end - address < 8) return std::nullopt;
    BoundedReader reader(address, end);
    std::uint64_t length = reader.value<std::uint32_t>();
    if (length == 0xffffffff) length = reader.value<std::uint64_t>();
    if (length < 8 || reader.failed() || length > end - reader.at()) return std::nullopt;
    return Entry{{reader.at(), reader.at() + length}, address};
}

/// Reads the CIE that begins at `address`.
bool read_common(const Module& module, std::uint64_t address, FrameDescription& description, bool& augmented) {
    const auto entry = entry_at(module, address);
    if (!entry) return false;
    BoundedReader reader(entry->body.begin, entry->body.end);
    if (reader.value<std::uint32_t>() != 0) return false;  // a CIE's own id in .eh_frame
    const auto version = reader.value<std::uint8_t>();
    if (version != 1 && version != 3) return false;
    const std::uint64_t augmentation = reader.at();
    while (reader.value<std::uint8_t>() != 0)
        if (reader.done()) return false;
    description.code_alignment = reader.unsigned_leb();
    description.data_alignment = reader.signed_leb();
    description.return_register = version == 1 ? reader.value<std::uint8_t>() : reader.unsigned_leb();
    description.pointer_encoding = 0;
    augmented = false;
    if (load<char>(augmentation) == 'z') {
        augmented = true;
        const std::uint64_t size = reader.unsigned_leb();
        if (reader.failed() || size > reader.end() - reader.at()) return false;
        BoundedReader values(reader.at(), reader.at() + size);
        for (std::uint64_t letter = augmentation + 1; load<char>(letter) != 0; ++letter) {
            switch (load<char>(letter)) {
                case 'R': description.pointer_encoding = values.value<std::uint8_t>(); break;
                case 'P': {
                    const auto encoding = values.value<std::uint8_t>();
                    values.pointer(encoding & 0x7f, 0);
                    break;
                }
                case 'L': values.value<std::uint8_t>(); break;
                case 'S': description.signal_frame = true; break;
                case 'B': break;
                default: return false;
            }
        }
        if (values.failed()) return false;
        reader.skip(size);
    } else if (load<char>(augmentation) != 0) {
        return false;
    }
    description.common_program = {reader.at(), entry->body.end};
    return !reader.failed();
}

std::optional<FrameDescription> description_at(const Module& module, std::uint64_t address) {
    const auto entry = entry_at(module, address);
    if (!entry) return std::nullopt;
    BoundedReader reader(entry->body.begin, entry->body.end);
    const std::uint64_t back = reader.at();
    const auto distance = reader.value<std::uint32_t>();
    if (distance == 0 || distance > back) return std::nullopt;
    FrameDescription description;
    bool augmented = false;
    if (!read_common(module, back - distance, description, augmented)) return std::nullopt;
    const std::uint64_t begin = reader.pointer(description.pointer_encoding, 0);
    const std::uint64_t size = reader.pointer(description.pointer_encoding & 0x0f, 0);
    description.function = {begin, begin + size};
    if (augmented) {
        const std::uint64_t skipped = reader.unsigned_leb();
        reader.skip(skipped);
    }
    if (reader.failed() || (description.pointer_encoding & encoding_indirect) != 0) return std::nullopt;
    description.program = {reader.at(), entry->body.end};
    return description;
}

}  // namespace

template <class T>
T BoundedReader::value() noexcept {
    if (failed_ || end_ - at_ < sizeof(T)) {
        failed_ = true;
        return T{};
    }
    const T result = load<T>(at_);
    at_ += sizeof(T);
    return result;
}
template std::uint8_t BoundedReader::value<std::uint8_t>() noexcept;
template std::uint16_t BoundedReader::value<std::uint16_t>() noexcept;
template std::uint32_t BoundedReader::value<std::uint32_t>() noexcept;
template std::uint64_t BoundedReader::value<std::uint64_t>() noexcept;
template std::int8_t BoundedReader::value<std::int8_t>() noexcept;
template std::int16_t BoundedReader::value<std::int16_t>() noexcept;
template std::int32_t BoundedReader::value<std::int32_t>() noexcept;
template std::int64_t BoundedReader::value<std::int64_t>() noexcept;

std::uint64_t BoundedReader::unsigned_leb() noexcept {
    std::uint64_t result = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const auto byte = value<std::uint8_t>();
        result |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) return result;
    }
    failed_ = true;
    return 0;
}

std::int64_t BoundedReader::signed_leb() noexcept {
    std::uint64_t result = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const auto byte = value<std::uint8_t>();
        result |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            if ((byte & 0x40) != 0 && shift + 7 < 64) result |= ~std::uint64_t{0} << (shift + 7);
            return static_cast<std::int64_t>(result);
        }
    }
    failed_ = true;
    return 0;
}

std::uint64_t BoundedReader::pointer(std::uint8_t encoding, std::uint64_t data) noexcept {
    if (encoding == encoding_omitted) return 0;
    const std::uint64_t here = at_;
    std::uint64_t result = 0;
    switch (encoding & 0x0f) {
        case 0x00:
        case 0x04:
        case 0x0c: result = value<std::uint64_t>(); break;
        case 0x01: result = unsigned_leb(); break;
        case 0x02: result = value<std::uint16_t>(); break;
        case 0x03: result = value<std::uint32_t>(); break;
        case 0x09: result = static_cast<std::uint64_t>(signed_leb()); break;
        case 0x0a: result = static_cast<std::uint64_t>(static_cast<std::int64_t>(value<std::int16_t>())); break;
        case 0x0b: result = static_cast<std::uint64_t>(static_cast<std::int64_t>(value<std::int32_t>())); break;
        default: failed_ = true;
    }
    switch (encoding & 0x70) {
        case 0: break;
        case relative_to_itself: result += here; break;
        case relative_to_data: result += data; break;
        default: failed_ = true;
    }
    return result;
}

void BoundedReader::skip(std::uint64_t bytes) noexcept {
    if (failed_ || bytes > end_ - at_) failed_ = true;
    else at_ += bytes;
}

std::optional<FrameDescription> frame_description(const Module& module, std::uint64_t address) {
    const AddressRange table = module.unwind_table;
    if (table.begin == 0 || module.readable_until(table.begin) < table.end || table.end - table.begin < 12)
        return std::nullopt;
    BoundedReader reader(table.begin, table.end);
    const auto version = reader.value<std::uint8_t>();
    const auto frames_encoding = reader.value<std::uint8_t>();
    const auto count_encoding = reader.value<std::uint8_t>();
    const auto table_encoding = reader.value<std::uint8_t>();
    if (version != 1 || table_encoding != sorted_table_encoding || count_encoding == encoding_omitted)
        return std::nullopt;
    reader.pointer(frames_encoding, table.begin);
    const std::uint64_t count = reader.pointer(count_encoding, table.begin);
    if (reader.failed() || count == 0 || count > (table.end - reader.at()) / 8) return std::nullopt;
    const std::uint64_t rows = reader.at();
    const auto row = [&](std::uint64_t index, unsigned column) {
        const auto distance = static_cast<std::int64_t>(load<std::int32_t>(rows + index * 8 + column * 4));
        return table.begin + static_cast<std::uint64_t>(distance);
    };
    std::uint64_t low = 0;
    std::uint64_t high = count;
    while (high - low > 1) {
        const std::uint64_t middle = low + (high - low) / 2;
        (row(middle, 0) <= address ? low : high) = middle;
    }
    const auto description = description_at(module, row(low, 1));
    if (!description || !description->function.holds(address)) return std::nullopt;
    return description;
}

}  // namespace streamsan::recorder::call_sites
