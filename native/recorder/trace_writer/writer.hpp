// Writes one process's trace while the process runs. docs/trace-format.md specifies the file.
//
// What is committed lies in a shared file mapping, so it survives any death of the process. Slots are appended without
// a lock: each host thread has a lane of its own. Side tables (strings, sites, threads, API names) are interned under a
// lock.
//
// Rules for callers:
// - Between `Lane::reserve` and `commit` (or `drop`): interning and short locks of one's own are fine; no driver call,
// no wait.
// - What `on_rotation` restates is changed between `reserve` and `commit` of the operation that tells of it. Then a
// rotation
//   sees the operation and its effect both, or neither.
// - `lane`, `reserve` and `renumber` may wait for a rotation, which calls `restate`: hold no lock there that `restate`
// takes.
// - A `Lane*` belongs to its thread and is not kept beyond the thread's end.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "recorder/trace_writer/clock.hpp"
#include "recorder/trace_writer/file_format.hpp"
#include "recorder/trace_writer/live_words.hpp"
#include "generated/vocabulary.hpp"
#include "trace/slot.hpp"

namespace streamsan::recorder {

class Recording;  // recording.hpp: what the lanes and the writer share

/// One frame of a call stack, as the SITES table keeps it. Ids of strings and sites are those of the same writer.
struct SiteRecord {
    std::uint32_t file = 0;
    std::uint32_t function = 0;
    std::uint32_t text = 0;
    std::uint32_t label = 0;
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    std::uint32_t caller = 0;  ///< site id of the next outer frame
    std::uint32_t module = 0;  ///< id of the MODULES record that holds the instruction, from 1; 0: not a native frame
    std::uint64_t offset = 0;  ///< of the instruction in that module, from its load address
};

struct WriterOptions {
    std::string path;      ///< the file to make; moved there when its header is complete
    std::string metadata;  ///< JSON object of the header: platform, origin, processes, ...; no `apis`; `clock_origin`
                           ///< is added when it is not there: the moment the run's counter was made
    std::uint64_t max_bytes = 0;  ///< size limit of all files together; 0: none. At half of it a new file is begun
                                  ///< (rotation): `F.sst` is always the newest, the one before it is `F.old.sst`
    std::string counter;  ///< file of 4096 bytes shared by all processes of a run: the sequence counter; "": one's own
};

/// A lane's next segment: `asked` for, `ready` to be taken, or `abandoned` while it was being made (recording.hpp).
enum class NextSegment : std::uint8_t { none, asked, ready, abandoned };

/// What one host thread writes. Only that thread touches it.
class alignas(128) Lane {
public:
    Lane() = default;
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    /// Reserves 1 + `more` slots in a row, zeroed, `thread` and `sequence` filled in; nullptr when recording has
    /// stopped (full disk, size limit): then the caller drops the operation. Visible to readers only after `commit`.
    Slot* reserve(unsigned more);
    /// Publishes what was reserved: one release store of the segment's commit. An own `sequence` (taken earlier, with
    /// `Writer::next_sequence`) is kept if it is greater than the lane's last, else replaced; ids of sites and API
    /// names that this file does not have become 0.
    void commit();
    /// Gives up what was reserved and not committed.
    void drop();
    /// Gives a committed slot, the lane's latest, a new sequence number (a wait that returns). Returns the slot to
    /// complete: where other operations followed it, or a new file was begun meanwhile, the operation is written again,
    /// with the new number, and that is the one. Null for null.
    Slot* renumber(Slot* slot);
    /// The last word of a committed slot, in one release store: status, duration, flags without ENTER (kind, detail,
    /// more stay).
    static void complete(Slot* slot, std::int16_t status, std::uint16_t duration) {
        if (slot == nullptr) return;
        constexpr std::uint64_t kept =
            std::uint64_t{0x0000'ff00'ffff'0000} |
            std::uint64_t{static_cast<std::uint8_t>(~static_cast<std::uint8_t>(SlotFlag::ENTER))} << 32;
        auto* const place = reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::byte*>(slot) + last_word);
        const std::atomic_ref word(*place);
        word.store((word.load(std::memory_order_relaxed) & kept) | static_cast<std::uint16_t>(status) |
                       std::uint64_t{duration} << 48,
                   std::memory_order_release);
    }

    [[nodiscard]] std::uint16_t thread() const { return thread_; }  ///< index of the thread in the THREADS table
    /// Changes when operations of this lane go to a new file (looked at after `reserve`): 0 before the first.
    [[nodiscard]] std::uint64_t file() const { return generation_; }

private:
    friend class Recording;
    friend class Writer;

    static constexpr std::size_t last_word = 56;
    static_assert(offsetof(Slot, status) == last_word && offsetof(Slot, duration) == last_word + 6);

    [[nodiscard]] bool writes() const { return live_->generation.load(std::memory_order_relaxed) != 0; }
    Slot* try_reserve(unsigned need);
    Slot* reserve_slowly(unsigned need);
    Slot* restate(unsigned need);
    Slot* write_again(Slot* slot);
    void set_limit();

    // The fields of the fast path, in two cache lines.
    Slot* base_ = nullptr;  ///< payload of the lane's segment
    std::uint64_t* commit_ = nullptr;
    std::atomic<std::uint64_t>* counter_ = nullptr;
    const LiveWords* live_ = nullptr;
    std::uint32_t used_ = 0;     ///< slots committed in the segment
    std::uint32_t limit_ = 0;    ///< slots whose pages are there; half of the segment, until the next one was asked for
    std::uint32_t pending_ = 0;  ///< slots reserved and not committed
    std::uint16_t thread_ = 0;
    std::atomic<bool> busy_{false};  ///< between reserve and commit
    std::uint64_t generation_ = 0;   ///< of the file that the segment lies in
    std::uint64_t last_ = 0;         ///< sequence of the latest operation
    Slot* latest_ = nullptr;         ///< the latest operation
    std::uint64_t operations_ = 0;   ///< in this file
    std::uint64_t slots_ = 0;
    std::vector<Slot>* restated_ = nullptr;  ///< only in the lane that `on_rotation` gets: operations go here

    Recording* recording_ = nullptr;
    const void* state_ = nullptr;  ///< the Recording's state that this lane is registered with
    std::uint32_t number_ = 0;
    std::uint32_t capacity_ = 0;              ///< slots of the segment
    std::uint64_t next_bytes_ = 0;            ///< of the next segment
    std::uint64_t populated_ = 0;             ///< bytes of the segment, from its header, whose pages are there
    bool asked_for_next_ = false;             ///< of this segment: half of it is used
    std::byte* asked_ = nullptr;              ///< up to where the page fetcher was asked
    std::atomic<std::byte*> ready_{nullptr};  ///< up to where it has come
    std::byte* filled_ = nullptr;             ///< the segment before this one
    std::uint64_t filled_bytes_ = 0;
    std::atomic<NextSegment> next_state_{NextSegment::none};
    std::byte* next_header_ = nullptr;    ///< these are the fetcher's until the state is `ready`
    std::uint64_t next_bytes_there_ = 0;  ///< of it, from its header
    std::uint64_t next_populated_ = 0;    ///< and of these, those whose pages are there
    std::uint64_t next_generation_ = 0;   ///< of the file that it lies in
    std::vector<Slot> saved_;             ///< copy of the operation at `saved_of_`, whose file is gone
    const Slot* saved_of_ = nullptr;
};

/// The lane that the thread wrote to last. A plain word of the initial-exec model: one load, no call; and a call from a
/// destructor of the program's own thread-local objects, which may run after all others, finds it.
struct ThreadLane {
    std::uint64_t serial = 0;  ///< of the recording; none has 0
    Lane* lane = nullptr;
};
inline thread_local constinit ThreadLane lane_of_this_thread __attribute__((tls_model("initial-exec")));

/// Where somebody wants to know the thread's number in the THREADS table before it has a lane; null: nobody. Below 0:
/// none yet; else the one that others gave it: it writes under this one.
inline thread_local constinit std::atomic<std::int32_t>* number_of_this_thread
    __attribute__((tls_model("initial-exec"))) = nullptr;

class Writer {
public:
    /// Makes the file. On failure returns null and says why in `error`, one line.
    static std::unique_ptr<Writer> open(const WriterOptions& options, std::string& error);
    /// Closes, and unmaps what threads may still complete: only for a writer that no thread uses any more.
    ~Writer();
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    /// Of the calling thread, made at its first call; null when stopped.
    [[gnu::always_inline]] Lane* lane() {
        const ThreadLane& known = lane_of_this_thread;
        if (known.serial == serial_ && known.lane->writes()) [[likely]]
            return known.lane;
        return find_lane();
    }
    /// A further lane for operations of another thread, which that thread has numbered: whoever writes to it has a lock
    /// of its own. `thread`: its number, below 0 where it has none yet; then it gets one, with this name. Null when
    /// stopped. The lane is never given back.
    Lane* lane_for(std::int32_t& thread, std::string_view name);
    std::uint64_t next_sequence();  ///< from the shared counter, from 1
    /// The latest number that was given out, to whomever: a point between operations, at no cost of one.
    [[nodiscard]] std::uint64_t latest_sequence() const;
    /// Nanoseconds since clock_origin (clock.hpp). A clock that was set back between the processes of a run gives 0.
    [[nodiscard, gnu::always_inline]] std::uint64_t now() const { return time_of(Clock::now()); }
    /// The same of another reading of that clock.
    [[nodiscard, gnu::always_inline]] std::uint64_t time_of(std::uint64_t reading) const {
        const std::uint64_t since = reading - origin_;
        return since >> 63 == 0 ? since : 0;
    }
    static std::uint16_t duration(std::uint64_t nanoseconds);  ///< as the format's mini-float

    // Ids stay valid across rotations: each new file begins with all that was interned. Only a fork makes them stale.
    std::uint32_t string(std::string_view text);   ///< interned; 0 is "", also when there is no room
    std::uint32_t site(const SiteRecord& record);  ///< interned; 0 when there is no room
    std::uint32_t module(std::string_view path, std::string_view build_id);  ///< interned MODULES record
    std::uint16_t api(std::string_view name);                                ///< interned; 0 is ""
    /// What a kernel was launched with (PackedPlaces and arguments are `content`), not interned; 0 when there is no
    /// room. Strings that `head` names are of this writer.
    std::uint32_t launch_shape(const PackedLaunchShape& head, std::string_view content);
    /// Bytes that all launch shapes may take.
    [[nodiscard]] std::uint64_t most_bytes_of_launch_shapes() const;

    /// Adds a member (`"key": value`, JSON) to the metadata of this file and those after it. Once for each key.
    void add_metadata(const std::string& member);

    /// Counts what makes ids stale: changes after `reopen_after_fork`, never else.
    std::uint64_t generation() const;
    bool stopped() const;  ///< why is said once, through `on_stop`
    void on_stop(std::function<void(std::string_view reason)> say);
    /// Called under rotation to restate what is alive: writes operations with `restate` (SNAPSHOT segments), in any
    /// order, each with the `sequence` and `thread` that it had (0: not known). Other threads that want to write wait
    /// meanwhile.
    void on_rotation(std::function<void(Lane&)> restate);
    /// After fork, in the child: forgets the parent's mappings (without unmapping what others use) and begins a file of
    /// its own. Until then everything here does nothing in the child: no lock is touched that another thread may have
    /// held.
    bool reopen_after_fork(const WriterOptions& options, std::string& error);
    void close();  ///< END; later calls of `lane` give null

private:
    explicit Writer(std::shared_ptr<Recording> recording);
    Lane* find_lane();

    const std::uint64_t serial_;  ///< of the recording, unique in the process
    std::uint64_t origin_;        ///< of `now`, as CLOCK_MONOTONIC says it
    std::shared_ptr<Recording> recording_;
};

}  // namespace streamsan::recorder
