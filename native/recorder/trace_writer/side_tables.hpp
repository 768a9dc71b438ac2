// The tables that slots refer to by number: strings, sites, threads, API names, modules, launch shapes.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "recorder/trace_writer/trace_file.hpp"
#include "recorder/trace_writer/writer.hpp"

namespace streamsan::recorder {

/// The records of one type, in segments of the current file.
class Table {
public:
    Table(SegmentType type, std::uint32_t first_id) : type_(type), first_id_(first_id) {}

    /// Appends `records` whole records and commits them. False when there is no room for them (`reason` tells more when
    /// the file itself failed).
    bool append(TraceFile& file, std::string_view bytes, std::uint32_t records, std::string& reason);
    /// Appends everything to another file, under the same ids.
    bool move_to(TraceFile& file, std::string& reason);
    /// The id that the next record gets.
    [[nodiscard]] std::uint32_t next() const { return first_id_ + records_; }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

private:
    struct Part {
        Segment segment;
        std::uint64_t used = 0;
        std::uint32_t records = 0;
    };

    SegmentType type_;
    std::uint32_t first_id_;
    std::uint32_t records_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t least_capacity_ = 0;
    std::vector<Part> parts_;
};

/// Interns what slots refer to. Every function may be called from any thread. An id, once given, means the same in
/// every file that this process writes: a new file begins with all that was interned before, so a thread that holds an
/// id across a rotation never has a stale one. What finds no room (limits of the format, of the file) gets id 0: not
/// known.
class SideTables {
public:
    /// `most_bytes`: what all tables may take together.
    SideTables(TraceFile& file, std::uint64_t most_bytes);

    std::uint32_t string(std::string_view text);
    std::uint32_t site(const SiteRecord& record);
    std::uint32_t module(std::string_view path, std::string_view build_id);
    std::uint16_t api(std::string_view name);
    /// Adds what a kernel was launched with; its places and arguments are `content`. Not interned: who launches knows
    /// which are the same.
    std::uint32_t launch_shape(PackedLaunchShape head, std::string_view content);
    /// Adds a thread; its index, or `most_threads` when there is no room for one more.
    std::uint32_t thread(std::uint32_t process, std::string_view name);

    /// What launch shapes may take of tables that may take so much.
    static std::uint64_t most_bytes_of_shapes(std::uint64_t most_bytes) {
        return std::min(most_shape_bytes, most_bytes / 4);
    }

    /// Goes on in another file. Returns "" or the reason why not.
    std::string move_to(TraceFile& file);
    /// Why the file failed, "" while it did not.
    std::string failure();
    [[nodiscard]] std::uint32_t threads();

private:
    struct TextHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
    };
    using Ids = std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>>;

    std::uint32_t string_locked(std::string_view text);
    bool append(Table& table, std::string_view bytes);

    std::mutex lock_;
    TraceFile* file_;
    std::uint64_t most_bytes_;
    std::uint64_t most_shape_bytes_;  ///< of these, what launch shapes may take
    std::string failure_;
    std::atomic<bool> failed_{false};  ///< `failure_` says something
    Table strings_{SegmentType::strings, 1};
    Table sites_{SegmentType::sites, 1};
    Table threads_{SegmentType::threads, 0};
    Table apis_{SegmentType::apis, 1};
    Table modules_{SegmentType::modules, 1};
    Table shapes_{SegmentType::launch_shapes, 1};
    Ids string_ids_;
    Ids site_ids_;  ///< by the record's bytes
    Ids api_ids_;
    Ids module_ids_;  ///< by the record's bytes
};

}  // namespace streamsan::recorder
