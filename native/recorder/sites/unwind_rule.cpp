#include "recorder/sites/unwind_rule.hpp"

#include <array>
#include <limits>

#include "recorder/sites/frame_description.hpp"
#include "recorder/sites/memory_reading.hpp"

namespace streamsan::recorder::call_sites {
namespace {

// DWARF numbers of x86-64 registers (System V psABI, figure 3.36).
constexpr std::uint64_t rbp = 6;
constexpr std::uint64_t rsp = 7;
constexpr std::uint64_t return_address = 16;

/// Where a register of the caller is.
struct Saved {
    enum class Place : std::uint8_t { same, at_frame_address, at_rbp, undefined, unusual } place = Place::same;
    std::int64_t offset = 0;
    bool operator==(const Saved&) const = default;
};

/// One row of the unwind table.
struct Row {
    std::uint64_t base_register = rsp;
    std::int64_t base_offset = 8;
    bool dereferenced = false;  // the frame address is the word there
    bool unusual = false;
    Saved rbp_saved;
    Saved return_saved{Saved::Place::at_frame_address, -8};
};

/// Reads "register + offset", as DW_OP_breg does, and whether a DW_OP_deref follows; false for any other expression.
bool simple_expression(AddressRange bytes, std::uint64_t& base, std::int64_t& offset, bool& dereferenced) {
    constexpr std::uint8_t op_deref = 0x06;
    constexpr std::uint8_t op_breg0 = 0x70;
    BoundedReader reader(bytes.begin, bytes.end);
    const auto operation = reader.value<std::uint8_t>();
    if (operation < op_breg0 || operation >= op_breg0 + 32) return false;
    base = operation - std::uint64_t{op_breg0};
    offset = reader.signed_leb();
    dereferenced = false;
    if (!reader.done()) {
        if (reader.value<std::uint8_t>() != op_deref) return false;
        dereferenced = true;
    }
    return reader.done() && !reader.failed();
}

/// Runs call frame instructions up to one address (DWARF 5, 6.4.2).
class Interpreter {
public:
    Interpreter(const FrameDescription& description, std::uint64_t address)
        : description_(description), address_(address) {}

    bool run(Row& row) {
        row_ = Row{};
        location_ = description_.function.begin;
        if (!execute(description_.common_program)) return false;
        initial_ = row_;
        if (!execute(description_.program)) return false;
        row = row_;
        return true;
    }

private:
    bool execute(AddressRange program) {
        BoundedReader reader(program.begin, program.end);
        while (!reader.done()) {
            const auto byte = reader.value<std::uint8_t>();
            const std::uint64_t low = byte & 0x3f;
            switch (byte >> 6) {
                case 1:
                    if (!advance(low)) return true;
                    continue;
                case 2: save(low, {Saved::Place::at_frame_address, scaled(reader.unsigned_leb())}); continue;
                case 3: restore(low); continue;
                default: break;
            }
            bool beyond = false;
            if (!other(byte, reader, beyond)) return false;
            if (beyond) return true;
        }
        return !reader.failed();
    }

    /// The instructions whose code is in the low six bits.
    bool other(std::uint8_t code, BoundedReader& reader, bool& beyond) {
        switch (code) {
            case 0x00: return true;  // nop
            case 0x01: beyond = !move_to(reader.pointer(description_.pointer_encoding, 0)); return true;
            case 0x02: beyond = !advance(reader.value<std::uint8_t>()); return true;
            case 0x03: beyond = !advance(reader.value<std::uint16_t>()); return true;
            case 0x04: beyond = !advance(reader.value<std::uint32_t>()); return true;
            case 0x05: {  // offset_extended
                const auto number = reader.unsigned_leb();
                save(number, {Saved::Place::at_frame_address, scaled(reader.unsigned_leb())});
                return true;
            }
            case 0x06: restore(reader.unsigned_leb()); return true;
            case 0x07: save(reader.unsigned_leb(), {Saved::Place::undefined, 0}); return true;
            case 0x08: save(reader.unsigned_leb(), {Saved::Place::same, 0}); return true;
            case 0x09: {  // register
                const auto number = reader.unsigned_leb();
                reader.unsigned_leb();
                save(number, {Saved::Place::unusual, 0});
                return true;
            }
            case 0x0a:  // remember_state
                if (depth_ == remembered_.size()) return false;
                remembered_[depth_++] = row_;
                return true;
            case 0x0b:  // restore_state
                if (depth_ == 0) return false;
                row_ = remembered_[--depth_];
                return true;
            case 0x0c:  // def_cfa
                define(reader.unsigned_leb());
                row_.base_offset = static_cast<std::int64_t>(reader.unsigned_leb());
                return true;
            case 0x0d: define(reader.unsigned_leb()); return true;
            case 0x0e: row_.base_offset = static_cast<std::int64_t>(reader.unsigned_leb()); return true;
            case 0x0f: {  // def_cfa_expression
                row_.unusual =
                    !simple_expression(block(reader), row_.base_register, row_.base_offset, row_.dereferenced);
                return true;
            }
            case 0x10: {  // expression: the register is saved at the address that the expression gives
                const auto number = reader.unsigned_leb();
                Saved saved{Saved::Place::unusual, 0};
                std::uint64_t base = 0;
                bool dereferenced = false;
                if (simple_expression(block(reader), base, saved.offset, dereferenced) && base == rbp && !dereferenced)
                    saved.place = Saved::Place::at_rbp;
                save(number, saved);
                return true;
            }
            case 0x11: {  // offset_extended_sf
                const auto number = reader.unsigned_leb();
                save(number, {Saved::Place::at_frame_address, reader.signed_leb() * description_.data_alignment});
                return true;
            }
            case 0x12:  // def_cfa_sf
                define(reader.unsigned_leb());
                row_.base_offset = reader.signed_leb() * description_.data_alignment;
                return true;
            case 0x13: row_.base_offset = reader.signed_leb() * description_.data_alignment; return true;
            case 0x14:
            case 0x15: {  // val_offset, val_offset_sf
                const auto number = reader.unsigned_leb();
                reader.unsigned_leb();
                save(number, {Saved::Place::unusual, 0});
                return true;
            }
            case 0x16: {  // val_expression
                const auto number = reader.unsigned_leb();
                block(reader);
                save(number, {Saved::Place::unusual, 0});
                return true;
            }
            case 0x2e: reader.unsigned_leb(); return true;  // GNU_args_size: for landing pads only
            default: return false;
        }
    }

    [[nodiscard]] std::int64_t scaled(std::uint64_t factor) const {
        return static_cast<std::int64_t>(factor * static_cast<std::uint64_t>(description_.data_alignment));
    }
    bool advance(std::uint64_t delta) { return move_to(location_ + delta * description_.code_alignment); }
    /// False when the rows from `location` on are for later instructions than the wanted one.
    bool move_to(std::uint64_t location) {
        if (location > address_) return false;
        location_ = location;
        return true;
    }
    void define(std::uint64_t number) {
        row_.base_register = number;
        row_.dereferenced = false;
        row_.unusual = false;
    }
    void save(std::uint64_t number, Saved saved) {
        if (number == rbp) row_.rbp_saved = saved;
        if (number == return_address) row_.return_saved = saved;
        if (number == rsp && saved.place != Saved::Place::same) row_.unusual = true;
    }
    void restore(std::uint64_t number) {
        if (number == rbp) row_.rbp_saved = initial_.rbp_saved;
        if (number == return_address) row_.return_saved = initial_.return_saved;
    }
    static AddressRange block(BoundedReader& reader) {
        const std::uint64_t size = reader.unsigned_leb();
        const std::uint64_t begin = reader.at();
        reader.skip(size);
        return reader.failed() ? AddressRange{} : AddressRange{begin, begin + size};
    }

    const FrameDescription& description_;
    std::uint64_t address_;
    std::uint64_t location_ = 0;
    Row row_;
    Row initial_;
    std::array<Row, 16> remembered_{};
    std::size_t depth_ = 0;
};

/// The instructions that glibc and the kernel agree upon for the return from a signal handler:
/// mov $15 (rt_sigreturn), %rax; syscall.
bool is_signal_return(const Module& module, std::uint64_t address) {
    constexpr std::uint64_t start = 0x0f0000000fc0c748;
    const std::uint64_t end = module.readable_until(address);
    return end >= address + 9 && load<std::uint64_t>(address) == start && load<std::uint8_t>(address + 8) == 0x05;
}

template <class T>
bool fits(std::int64_t value) {
    return value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
}

UnwindRule rule_of(const Row& row) {
    UnwindRule rule;
    rule.frame_address = FrameAddress::unusual;
    if (row.return_saved.place == Saved::Place::undefined) {
        rule.frame_address = FrameAddress::bottom;
        return rule;
    }
    if (row.unusual || row.return_saved != Saved{Saved::Place::at_frame_address, -8}) return rule;
    switch (row.rbp_saved.place) {
        case Saved::Place::same: rule.saved_rbp = SavedRbp::same; break;
        case Saved::Place::at_frame_address: rule.saved_rbp = SavedRbp::at_frame_address; break;
        case Saved::Place::at_rbp: rule.saved_rbp = SavedRbp::at_rbp; break;
        default: return rule;
    }
    if (!fits<std::int16_t>(row.rbp_saved.offset) || !fits<std::int32_t>(row.base_offset)) return rule;
    rule.rbp_offset = static_cast<std::int16_t>(row.rbp_saved.offset);
    rule.offset = static_cast<std::int32_t>(row.base_offset);
    if (row.base_register == rsp && !row.dereferenced) rule.frame_address = FrameAddress::from_rsp;
    if (row.base_register == rbp)
        rule.frame_address = row.dereferenced ? FrameAddress::from_memory_at_rbp : FrameAddress::from_rbp;
    return rule;
}

}  // namespace

UnwindRule unwind_rule(const Module* module, std::uint64_t address) {
    UnwindRule rule;
    if (module == nullptr) {
        // Code made at run time: its maker may have registered it with the language runtime's unwinder.
        rule.frame_address = FrameAddress::unusual;
        return rule;
    }
    // A return address of a signal frame is the first byte of the return code itself, which its description may begin
    // one early.
    const bool returns_from_signal = is_signal_return(*module, address + 1) || is_signal_return(*module, address);
    const auto description = frame_description(*module, address);
    if (returns_from_signal && (!description || description->signal_frame)) {
        rule.frame_address = FrameAddress::signal;
    } else if (description) {
        Row row;
        if (description->signal_frame || description->return_register != return_address ||
            !Interpreter(*description, address).run(row))
            rule.frame_address = FrameAddress::unusual;
        else rule = rule_of(row);
    } else if (module->loader) {
        // The loader's start code, which runs the libraries' constructors, has no unwind information and no caller.
        rule.frame_address = FrameAddress::bottom;
    }
    rule.of_the_api = module->of_the_api;
    rule.of_the_runtime = module->runtime;
    return rule;
}

}  // namespace streamsan::recorder::call_sites
