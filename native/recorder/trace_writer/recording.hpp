// What the lanes and the writer of one process share, and how a file is changed under running threads.
//
// The cut. A rotation must divide the operations of all threads at one moment: those before it, with their effect on
// what is alive, belong to the old file and to the snapshot; those after it to the new file. No thread takes a lock for
// that:
//
//   lane (reserve)                              rotation (holding `rotation` lock)
//   1. busy = true                              1. generation = g + 1
//   2. sequence = counter.fetch_add(1) + 1      2. floor = counter.fetch_add(1) + 1
//   3. generation still mine? else busy = false 3. wait until no lane is busy
//      and wait for the lock
//
// Both additions are atomic read-modify-writes (acquire and release) of one word, so one of them comes first. If the
// lane's does, the rotation sees that it is busy, and waits until it has committed: its sequence is below the floor, it
// belongs to the old file. If the rotation's does, the lane sees the new generation and writes nothing to the old file;
// it tries again when the new file is there, and gets a sequence above the floor. `close` and `stop` are the same cut
// without a new file.
//
// The wait for busy lanes is bounded (a thread may be stopped by a debugger in the wrong instant): after two seconds
// the rotation goes on, and the old file goes without its end mark.
//
// Late stores. `complete` may come long after its operation was written. The file before the current one stays mapped
// for it; of the ones before that, the mappings are replaced by memory that leads nowhere. The operation a thread waits
// in is kept as a copy in its lane when that happens, so that `renumber` can tell it again in the current file.
//
// Segments come before they are needed. When a lane has used half of its segment, the page fetcher's thread reserves
// the next one (its header lies in the file then, with nothing committed), and gets its first pages; the lane's thread
// only takes it over. `Lane::next_state_` says whose it is: the lane's thread asks, the fetcher makes it ready, and
// whoever takes it out of that state has it: the lane to write to it, `close` and rotation to give it back to the file.
// A lane that cannot wait abandons it, and the fetcher gives it back: it lies before the one that the lane has made
// itself. So a lane's segments are in the order of the file. A segment that nobody took stays in a killed program's
// file as an empty one.
//
// Locks, in this order: `rotation` (lanes, segments of lanes, change of file), then the tables' lock, then the tail
// lock of a file. The fetcher looks for the current file under `rotation`, and adds to it without; a file that has its
// end mark takes no more. Interning needs only the last two, so a thread may intern while a rotation waits for it.
#pragma once
#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "recorder/trace_writer/live_words.hpp"
#include "recorder/trace_writer/page_fetcher.hpp"
#include "recorder/trace_writer/shared_counter.hpp"
#include "recorder/trace_writer/side_tables.hpp"
#include "recorder/trace_writer/trace_file.hpp"
#include "recorder/trace_writer/writer.hpp"

namespace streamsan::recorder {

class Recording {
public:
    Recording();
    ~Recording();
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

    /// Begins the first file, or in a forked child the child's. Returns "" or the reason why not.
    std::string begin(const WriterOptions& options);
    /// Ends the file.
    void close();

    /// Registers the calling thread: a lane that an ended thread left, or a new one. Null when stopped.
    Lane* lane_of_new_thread();
    /// A lane of its own for operations that another thread has numbered (Writer::lane_for).
    Lane* lane_for(std::int32_t& thread, std::string_view name);
    /// Gives the lane what the page fetcher has got meanwhile. False when that is not enough: then `make_room`.
    static bool take_fetched(Lane& lane, unsigned need);
    /// Copies the operation at `slot` to `kept` if a rotation that took its file away has saved it.
    void copy_saved(const Lane& lane, const Slot* slot, std::vector<Slot>& kept);
    /// Takes back the lane of a thread that ends.
    void release(Lane& lane);
    /// Gives the calling thread's lane room for `need` slots in the current file. False when recording has stopped.
    bool make_room(Lane& lane, unsigned need);

    /// Lets `intern` look up or add something in the tables and returns its id, 0 while nobody may write.
    template <class Intern>
    std::uint32_t interned(const Intern& intern) {
        if (stopped()) return 0;
        return guarded([&] { return intern(*state_->tables); });
    }
    /// Adds a member (`"key": value`) to the metadata.
    void add_metadata(const std::string& member);
    /// Says that ids below these exist.
    void ids_below(std::uint32_t sites, std::uint32_t apis);

    [[nodiscard]] bool stopped() const { return live_->generation.load(std::memory_order_relaxed) == 0; }
    [[nodiscard]] std::uint64_t ids_generation() const { return ids_generation_; }
    [[nodiscard]] std::uint64_t serial() const { return serial_; }
    [[nodiscard]] std::atomic<std::uint64_t>& counter() const { return counter_.sequence(); }
    /// Bytes that the side tables of a file may take together.
    [[nodiscard]] std::uint64_t most_bytes_of_tables() const {
        return half_ == 0 ? most_table_bytes : std::min(most_table_bytes, half_ / 4);
    }
    [[nodiscard]] std::uint64_t monotonic_origin() const { return monotonic_origin_; }

    void on_stop(std::function<void(std::string_view)> say);
    void on_rotation(std::function<void(Lane&)> restate) { restate_ = std::move(restate); }

private:
    struct Counts {
        std::uint64_t operations = 0;
        std::uint64_t slots = 0;
    };

    /// All that locks guard. A forked child begins a new one and never looks at the parent's, which may be locked or
    /// half changed.
    struct State {
        std::mutex rotation;
        std::shared_ptr<TraceFile> file;  ///< shared with what the page fetcher is doing
        std::shared_ptr<TraceFile> previous;
        std::shared_ptr<TraceFile>
            unfinished;  ///< a new file that could not be completed; the tables may point into it
        std::unique_ptr<SideTables> tables;
        PageFetcher pages;
        std::vector<Lane*> lanes;
        std::vector<Lane*> released;
        std::uint64_t generation = 0;
        std::uint64_t floor = 0;  ///< sequences of the current file's own operations are greater
        Counts restated;          ///< of the current file's snapshot
        State* parent = nullptr;

        std::mutex stop_lock;
        std::string stop_reason;
        bool announced = false;
        bool closed = false;
    };

    static std::string thread_name();
    /// Runs what may take memory or grow the file: nothing of it comes to the program's notice.
    std::uint32_t guarded(const std::function<std::uint32_t()>& work);
    /// Whether this is a child that was forked and has begun no file of its own: then no lock may be touched.
    [[nodiscard]] bool forked() const { return live_->ours.load(std::memory_order_relaxed) == 0; }
    bool enroll(State& state, Lane& lane, std::int32_t& number, std::string_view name);
    // segments.cpp
    bool more_pages(Lane& lane, unsigned need);
    void fetch_ahead(Lane& lane);
    bool new_segment(State& state, Lane& lane, unsigned need);
    void ask_for_next(Lane& lane);
    void bring_next(State& state, Lane& lane, std::uint64_t generation, std::uint64_t wanted);
    bool take_next(Lane& lane, unsigned need);
    static void abandon_next(State& state, Lane& lane);
    void adopt(State& state, Lane& lane, const Segment& segment, std::uint64_t populated);
    static void give_back(TraceFile& file, Lane& lane);
    static void give_back_all(const State& state, TraceFile& file, std::uint64_t generation);
    /// The name of the file before the current one: `F.old.sst` beside `F.sst`.
    [[nodiscard]] std::string older_name() const;
    bool rotate(State& state);
    std::string begin_next_file(State& state, TraceFile& next);
    std::string write_snapshot(State& state, TraceFile& next);
    bool put_in_place(State& state, TraceFile& next);
    bool wait_for_lanes(const State& state) const;
    void end_file(const State& state, TraceFile& file, std::uint64_t generation, Counts counts, bool whole);
    void stop(std::string reason);
    void announce();

    const std::uint64_t serial_;
    LiveWords* live_;
    SharedCounter counter_;
    std::string counter_path_;
    State* state_ = nullptr;
    /// Of a lane's first segment where a program has many threads or the file a limit; of no segment less.
    static constexpr std::uint64_t least_segment_bytes = std::uint64_t{16} << 10;
    std::string path_;
    std::string metadata_;
    std::uint64_t half_ = 0;  ///< most bytes of one file, 0: no limit
    std::uint64_t last_generation_ = 0;
    std::uint64_t ids_generation_ = 0;
    std::uint64_t monotonic_origin_ = 0;
    std::function<void(Lane&)> restate_;

    std::function<void(std::string_view)> say_;
};

}  // namespace streamsan::recorder
