// Where kernels note what they touch: memory of the device that the patch (access_patch.cu) writes and the host reads.
//
// A *note* is 512 words of bits, for one page of addresses that one launch used in one way. In a page of words (64 KiB)
// a bit is 4 bytes; in a page of bytes (16 KiB) it is one. Which of the two an access needs it knows by itself, so a
// bit that is set says exactly which bytes were touched. Notes are taken one after the other; a table of hashes leads
// from a page to its note. When there are no notes left, a page still has the lowest and the highest byte that was
// used.
#pragma once
#include <cstdint>

namespace streamsan::recorder {

/// How a launch used a page. Atomic: by atomic operations, and by loads and stores that are ordered like these.
enum class PageUse : std::uint32_t { read = 0, write = 1, atomic = 2 };

struct DeviceNotes {
    static constexpr unsigned words = 512;        ///< of a note
    static constexpr unsigned bits = 32 * words;  ///< of a note
    static constexpr unsigned bits_log2 = 14;
    static constexpr unsigned word_shift = 2;  ///< of a page of words: a bit is 4 bytes
    static constexpr unsigned launch_bits = 18;
    static constexpr unsigned launch_shift = 64 - launch_bits;
    static constexpr unsigned page_shift = 3;
    static constexpr unsigned bytes_bit = 4;                ///< of a key: a page of bytes
    static constexpr unsigned entries_shift = launch_bits;  ///< of what a launch is given
    static constexpr unsigned entries_bits = 4;
    static constexpr unsigned least_entries_log2 = 8;
    static constexpr std::uint64_t by_grid_bit = std::uint64_t{1} << (entries_shift + entries_bits);
    static constexpr unsigned head_alignment_log2 = launch_bits + entries_bits + 1;
    static constexpr std::uint32_t no_note = 1U << 31;

    /// One for each page, launch and use.
    struct Record {
        /// launch << launch_shift | page << page_shift | bytes_bit | use + 1. The page is the address >> 14 of a page
        /// of bytes, >> 16 of one of words. Page 0 stands for the launch itself: that its kernel notes what it touches.
        /// 0: never filled in.
        std::uint64_t key;
        /// Where there is no note: 1 << 16 less the lowest offset in the page, and one behind the highest.
        std::uint32_t below_end;
        std::uint32_t end;
    };
    struct Entry {
        std::uint64_t key;
        std::uint32_t record;  ///< its index + 1, and `no_note` where it has none; 0: not yet
        std::uint32_t spare;
    };

    // The head lies at an address that is a multiple of 1 << head_alignment_log2. A launch is given this address, and
    // in the bits that are zero there its number and the logarithm of how many entries there are. So it finds all that
    // it needs at each access without a look at the head: behind it lie the entries, then the notes.
    // With `by_grid_bit` the number is less by that of the grid: kernels of one launch of a graph are all given the
    // same.
    std::uint32_t taken;         ///< records
    std::uint32_t lost;          ///< accesses found no record: not all that was touched is noted
    std::uint32_t record_count;  ///< room
    std::uint32_t note_count;    ///< room: the first so many records have a note
    Record* records;
    std::uint32_t spare[2];

    static constexpr std::uint64_t given_to(std::uint64_t head, std::uint32_t launch, unsigned entries_log2) {
        return head | std::uint64_t{entries_log2 - least_entries_log2} << entries_shift | launch;
    }
    /// To a launch of a graph: a kernel's number is `launch` and that of its grid, modulo 1 << launch_bits.
    static constexpr std::uint64_t given_to_graph(std::uint64_t head, std::uint32_t launch, unsigned entries_log2) {
        return given_to(head, launch & ((1U << launch_bits) - 1), entries_log2) | by_grid_bit;
    }
    static constexpr std::uint64_t head_of(std::uint64_t given) {
        return given >> head_alignment_log2 << head_alignment_log2;
    }
    static constexpr std::uint32_t launch_of(std::uint64_t given) {
        return static_cast<std::uint32_t>(given) & ((1U << launch_bits) - 1);
    }
    static constexpr bool by_grid(std::uint64_t given) { return (given & by_grid_bit) != 0; }
    static constexpr unsigned entries_log2_of(std::uint64_t given) {
        return (static_cast<std::uint32_t>(given) >> entries_shift & ((1U << entries_bits) - 1)) + least_entries_log2;
    }
    static constexpr std::uint64_t entries_of(std::uint64_t head);
    static constexpr std::uint64_t bits_of_notes(std::uint64_t head, unsigned entries_log2);
};
constexpr std::uint64_t DeviceNotes::entries_of(std::uint64_t head) { return head + sizeof(DeviceNotes); }
constexpr std::uint64_t DeviceNotes::bits_of_notes(std::uint64_t head, unsigned entries_log2) {
    return entries_of(head) + (std::uint64_t{sizeof(Entry)} << entries_log2);
}
static_assert(sizeof(DeviceNotes) == 32 && sizeof(DeviceNotes::Record) == 16 && sizeof(DeviceNotes::Entry) == 16);

}  // namespace streamsan::recorder
