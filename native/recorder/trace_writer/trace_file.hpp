// One .sst file while it is written: its header, its chain of segments, and where they are mapped.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "recorder/trace_writer/file_format.hpp"
#include "recorder/trace_writer/held_file.hpp"

namespace streamsan::recorder {

/// Space that was reserved in the file for one segment, mapped. Its header is written, nothing is committed.
struct Segment {
    SegmentHeader* header = nullptr;
    std::byte* payload = nullptr;
    std::uint64_t capacity = 0;

    /// Publishes the first `bytes` of the payload: one release store.
    void commit(std::uint64_t bytes) const noexcept;
};

/// Asks for memory behind [begin, begin + size) now, so that no store there has to wait for a page. False when there is
/// none (then a store would be answered with SIGBUS).
bool populate(std::byte* begin, std::uint64_t size);

/// The file is mapped in windows of 64 MiB, each mapped once, beyond the file's end too: as the file grows its pages
/// become valid, and consecutive segments cost no further mappings (their number is limited for a process). Nobody
/// touches a byte of a window before the file system has reserved it, so a full disk shows as an error of the
/// reservation.
class TraceFile {
public:
    enum class Added { yes, full, failed };

    TraceFile() = default;
    ~TraceFile();
    TraceFile(const TraceFile&) = delete;
    TraceFile& operator=(const TraceFile&) = delete;

    /// Makes `path` (absolute) with a header that holds `metadata`. `limit`: bytes that it may grow to, 0 for no limit.
    /// Returns "" or the reason why not.
    std::string create(const std::string& path, std::string_view metadata, std::uint64_t limit);
    /// Appends a segment with room for at least `least` and, where that fits, `wanted` bytes of payload. `keep` bytes
    /// of the limit are left for others. `failed` tells why in `reason`.
    Added add(SegmentType type, std::uint16_t flags, std::uint32_t lane, std::uint64_t first, std::uint64_t least,
              std::uint64_t wanted, std::uint64_t keep, Segment& segment, std::string& reason);
    /// Takes back a segment that was added and that nobody will write to: its place where it is the last one, else its
    /// blocks.
    void take_back(const Segment& segment);
    /// Gives it another name, by which it is found from now on. Returns 0 or errno.
    int rename(const std::string& path);
    /// Says that it has another name now.
    void renamed(const std::string& path);
    /// Writes the end mark and gives back what was reserved behind it. Nothing can be added any more; nor after `trim`.
    void end(std::uint64_t operations, std::uint64_t slots);
    /// Gives back what was reserved and not used, without an end mark.
    void trim();
    /// Makes the mappings lead nowhere: the file's blocks can be freed, and late stores do no harm.
    void detach();
    /// Forgets the mappings without a trace in the file (in a forked child they belong to the parent).
    void abandon();

    [[nodiscard]] std::uint64_t size() const;
    /// Whether a pointer leads into its mappings.
    [[nodiscard]] bool holds(const void* pointer) const;
    [[nodiscard]] const std::string& path() const { return file_.path(); }

private:
    std::byte* mapped(int descriptor, std::uint64_t offset);
    int reserve(int descriptor, std::uint64_t end);

    mutable std::mutex tail_lock_;
    HeldFile file_;
    std::vector<std::byte*> windows_;
    std::uint64_t page_ = 4096;
    std::uint64_t limit_ = 0;
    std::uint64_t tail_ = 0;      ///< where the next segment begins
    std::uint64_t reserved_ = 0;  ///< what the file system has promised
    std::uint32_t segments_ = 0;
    bool ended_ = false;
};

}  // namespace streamsan::recorder
