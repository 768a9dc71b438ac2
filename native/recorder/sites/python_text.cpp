#include "recorder/sites/python_text.hpp"

#include "recorder/sites/memory_reading.hpp"

namespace streamsan::recorder::call_sites {
namespace {

constexpr std::uint64_t longest_text = 8192;

template <class Text>
void append_utf8(Text& text, std::uint32_t character) {
    const auto byte = [&](std::uint32_t value) { text += static_cast<char>(static_cast<unsigned char>(value)); };
    // Lone surrogates stand for bytes of file names that are no UTF-8 (PEP 383).
    if (character >= 0xd800 && character < 0xe000) character = 0xfffd;
    if (character < 0x80) {
        byte(character);
    } else if (character < 0x800) {
        byte(0xc0 | character >> 6);
        byte(0x80 | (character & 0x3f));
    } else if (character < 0x10000) {
        byte(0xe0 | character >> 12);
        byte(0x80 | (character >> 6 & 0x3f));
        byte(0x80 | (character & 0x3f));
    } else {
        byte(0xf0 | (character >> 18 & 0x07));
        byte(0x80 | (character >> 12 & 0x3f));
        byte(0x80 | (character >> 6 & 0x3f));
        byte(0x80 | (character & 0x3f));
    }
}

/// Bytes of a line table, one after the other; 0 past the end.
class TableReader {
public:
    TableReader(std::uint64_t begin, std::uint64_t size) : at_(begin), end_(begin + size) {}
    [[nodiscard]] bool done() const { return at_ >= end_; }
    std::uint8_t byte() { return done() ? std::uint8_t{0} : load<std::uint8_t>(at_++); }
    /// Six bits a byte, least significant first, bit 6 set when more follow.
    std::uint32_t variable() {
        std::uint32_t result = 0;
        for (unsigned shift = 0; shift < 32; shift += 6) {
            const std::uint8_t next = byte();
            result |= static_cast<std::uint32_t>(next & 0x3f) << shift;
            if ((next & 0x40) == 0) break;
        }
        return result;
    }
    /// Sign in the lowest bit.
    std::int32_t signed_variable() {
        const std::uint32_t value = variable();
        const auto magnitude = static_cast<std::int32_t>(value >> 1);
        return (value & 1) != 0 ? -magnitude : magnitude;
    }

private:
    std::uint64_t at_;
    std::uint64_t end_;
};

PythonPosition in_increments(TableReader table, std::int32_t line, std::int64_t offset) {
    std::int64_t address = 0;
    while (!table.done()) {
        address += table.byte();
        if (address > offset) break;
        line += static_cast<std::int8_t>(table.byte());
    }
    return {line > 0 ? static_cast<std::uint32_t>(line) : 0, 0};
}

PythonPosition in_ranges(TableReader table, std::int32_t line, std::int64_t offset) {
    std::int64_t end = 0;
    while (!table.done()) {
        end += table.byte();
        const auto delta = static_cast<std::int8_t>(table.byte());
        const bool has_line = delta != -128;
        if (has_line) line += delta;
        if (offset < end) return {has_line && line > 0 ? static_cast<std::uint32_t>(line) : 0, 0};
    }
    return {};
}

PythonPosition in_locations(TableReader table, std::int32_t line, std::int64_t offset) {
    constexpr unsigned one_line = 10;  // forms below: columns in one further byte
    constexpr unsigned no_columns = 13;
    constexpr unsigned with_end_line = 14;
    constexpr unsigned no_location = 15;
    constexpr std::int64_t instruction_size = 2;
    std::int64_t end = 0;
    while (!table.done()) {
        const std::uint8_t first = table.byte();
        if ((first & 0x80) == 0) return {};  // not where an entry begins
        const unsigned form = first >> 3 & 15;
        end += ((first & 7) + 1) * instruction_size;
        std::uint32_t column = 0;
        if (form < one_line) {
            column = form * 8 + (static_cast<unsigned>(table.byte()) >> 4) + 1;
        } else if (form < no_columns) {
            line += static_cast<std::int32_t>(form - one_line);
            column = table.byte() + 1u;
            table.byte();
        } else if (form == no_columns) {
            line += table.signed_variable();
        } else if (form == with_end_line) {
            line += table.signed_variable();
            table.variable();
            column = table.variable();  // written with 1 added, 0 for none
            table.variable();
        }
        if (offset < end) {
            if (form == no_location || line <= 0) return {};
            return {static_cast<std::uint32_t>(line), column};
        }
    }
    return {};
}

}  // namespace

namespace {

/// Appends the text of a str object; false where it is none that can be read.
template <class Text>
bool append_text(const PythonLayout& layout, std::uint64_t address, Text& text) {
    if (address == 0 || load<std::uint64_t>(address + object_type) != layout.text_type) return false;
    const auto length = load<std::uint64_t>(address + layout.text_length);
    const std::uint32_t state = load<std::uint32_t>(address + layout.text_state) >> layout.text_kind_bit;
    const std::uint32_t kind = state & 7;
    const bool compact = (state & 8) != 0;
    const bool ascii = (state & 16) != 0;
    if (!compact || length > longest_text) return false;
    const std::uint64_t characters = address + (ascii ? layout.ascii_size : layout.compact_size);
    for (std::uint64_t index = 0; index < length; ++index) {
        switch (kind) {
            case 1: append_utf8(text, load<std::uint8_t>(characters + index)); break;
            case 2: append_utf8(text, load<std::uint16_t>(characters + index * 2)); break;
            case 4: append_utf8(text, load<std::uint32_t>(characters + index * 4)); break;
            default: return false;
        }
    }
    return true;
}

/// Text in a place of fixed size.
struct BoundedText {
    char* at;
    std::size_t room;
    std::size_t size = 0;
    BoundedText& operator+=(char letter) {
        if (size < room) at[size] = letter;
        ++size;
        return *this;
    }
};

}  // namespace

std::string python_text(const PythonLayout& layout, std::uint64_t address) {
    std::string text;
    return append_text(layout, address, text) ? text : std::string();
}

std::size_t copy_python_text(const PythonLayout& layout, std::uint64_t address, char* place,
                             std::size_t room) noexcept {
    BoundedText text{place, room};
    return append_text(layout, address, text) && text.size <= room ? text.size : 0;
}

PythonPosition position_in(LineTable format, std::uint64_t table, std::uint64_t size, std::int32_t first_line,
                           std::int64_t offset) {
    const TableReader reader(table, size);
    switch (format) {
        case LineTable::increments: return in_increments(reader, first_line, offset);
        case LineTable::ranges: return in_ranges(reader, first_line, offset);
        case LineTable::locations: return in_locations(reader, first_line, offset);
    }
    return {};
}

PythonPosition python_position(const PythonLayout& layout, std::uint64_t code, std::int64_t offset) {
    const auto first_line = load<std::int32_t>(code + layout.code_first_line);
    const auto table = load<std::uint64_t>(code + layout.code_lines);
    PythonPosition position;
    if (offset >= 0 && table != 0 && load<std::uint64_t>(table + object_type) == layout.bytes_type)
        position = position_in(layout.line_table, table + layout.bytes_data,
                               load<std::uint64_t>(table + layout.bytes_size), first_line, offset);
    if (position.line == 0 && first_line > 0) position.line = static_cast<std::uint32_t>(first_line);
    return position;
}

}  // namespace streamsan::recorder::call_sites
