// Unwind information: the frame description entries (FDE) of .eh_frame, found through .eh_frame_hdr's sorted table.
// Formats: Linux Standard Base, "Exception Frames"; DWARF 5, section 6.4.
#pragma once
#include <cstdint>
#include <optional>

#include "recorder/sites/modules.hpp"

namespace streamsan::recorder::call_sites {

/// Reads forward within one range of memory; past its end everything is 0 and `failed` says so.
class BoundedReader {
public:
    BoundedReader(std::uint64_t at, std::uint64_t end) noexcept : at_(at), end_(end) {}
    template <class T>
    T value() noexcept;
    std::uint64_t unsigned_leb() noexcept;
    std::int64_t signed_leb() noexcept;
    /// A pointer in one of DWARF's encodings (DW_EH_PE_*); `data` is what data-relative ones are relative to.
    std::uint64_t pointer(std::uint8_t encoding, std::uint64_t data) noexcept;
    void skip(std::uint64_t bytes) noexcept;
    [[nodiscard]] std::uint64_t at() const noexcept { return at_; }
    [[nodiscard]] std::uint64_t end() const noexcept { return end_; }
    [[nodiscard]] bool done() const noexcept { return failed_ || at_ >= end_; }
    [[nodiscard]] bool failed() const noexcept { return failed_; }

private:
    std::uint64_t at_;
    std::uint64_t end_;
    bool failed_ = false;
};

/// One function's (or one part of a function's) unwind information.
struct FrameDescription {
    AddressRange function;
    AddressRange common_program;  ///< call frame instructions of the CIE
    AddressRange program;         ///< and of the FDE
    std::uint64_t code_alignment = 1;
    std::int64_t data_alignment = 1;
    std::uint64_t return_register = 0;
    std::uint8_t pointer_encoding = 0;
    bool signal_frame = false;
};

/// The description that covers `address` in `module`; nothing when there is none, or it can't be read.
std::optional<FrameDescription> frame_description(const Module& module, std::uint64_t address);

}  // namespace streamsan::recorder::call_sites
