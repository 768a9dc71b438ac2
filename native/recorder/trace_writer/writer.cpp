#include "recorder/trace_writer/writer.hpp"

#include <algorithm>
#include <bit>
#include <pthread.h>
#include <vector>

#include "recorder/trace_writer/recording.hpp"
#include "recorder/launch_path.hpp"

namespace streamsan::recorder {
namespace {

/// The lanes of one thread: one for each writer that it wrote to.
struct ThreadLanes {
    struct Entry {
        std::uint64_t serial;
        std::weak_ptr<Recording> recording;
        Lane* lane;
    };
    std::vector<Entry> entries;
    int rounds = 0;
};

// A plain word: a call from a destructor of the program's own thread-local objects, which may run after all others,
// finds it.
thread_local ThreadLanes* lanes_of_this_thread = nullptr;

pthread_key_t key;

void leave(void* value) {
    auto* lanes = static_cast<ThreadLanes*>(value);
    // Keys' destructors run in up to four rounds, after those of thread-local objects: the program's own keys may still
    // call the API in the first ones.
    if (++lanes->rounds < PTHREAD_DESTRUCTOR_ITERATIONS - 1 && pthread_setspecific(key, lanes) == 0) return;
    for (const auto& entry : lanes->entries)
        if (const auto recording = entry.recording.lock()) recording->release(*entry.lane);
    lane_of_this_thread = {};
    lanes_of_this_thread = nullptr;
    delete lanes;
}

bool key_is_made() {
    static const bool made = pthread_key_create(&key, leave) == 0;
    return made;
}

Lane* find_or_make(const std::shared_ptr<Recording>& recording) {
    if (lanes_of_this_thread == nullptr) {
        if (!key_is_made()) return nullptr;
        auto lanes = std::make_unique<ThreadLanes>();
        if (pthread_setspecific(key, lanes.get()) != 0) return nullptr;
        lanes_of_this_thread = lanes.release();
    }
    auto& entries = lanes_of_this_thread->entries;
    std::erase_if(entries, [](const ThreadLanes::Entry& entry) { return entry.recording.expired(); });
    const auto found = std::find_if(entries.begin(), entries.end(), [&recording](const ThreadLanes::Entry& entry) {
        return entry.serial == recording->serial();
    });
    Lane* lane = found != entries.end() ? found->lane : recording->lane_of_new_thread();
    if (lane == nullptr) return nullptr;
    if (found == entries.end()) entries.push_back({recording->serial(), recording, lane});
    lane_of_this_thread = {recording->serial(), lane};
    return lane;
}

}  // namespace

Writer::Writer(std::shared_ptr<Recording> recording)
    : serial_(recording->serial()), origin_(recording->monotonic_origin()), recording_(std::move(recording)) {}

std::unique_ptr<Writer> Writer::open(const WriterOptions& options, std::string& error) {
    auto recording = std::make_shared<Recording>();
    error = recording->begin(options);
    if (!error.empty()) return nullptr;
    return std::unique_ptr<Writer>(new Writer(std::move(recording)));
}

Writer::~Writer() { close(); }

Lane* Writer::find_lane() { return recording_->stopped() ? nullptr : find_or_make(recording_); }

std::uint64_t Writer::latest_sequence() const { return recording_->counter().load(std::memory_order_acquire); }

Lane* Writer::lane_for(std::int32_t& thread, std::string_view name) {
    return recording_->stopped() ? nullptr : recording_->lane_for(thread, name);
}

std::uint64_t Writer::next_sequence() { return recording_->counter().fetch_add(1, std::memory_order_acq_rel) + 1; }

std::uint16_t Writer::duration(std::uint64_t nanoseconds) {
    const int width = static_cast<int>(std::bit_width(nanoseconds));
    unsigned exponent = width > 11 ? static_cast<unsigned>(width - 11) : 0;
    std::uint64_t mantissa = nanoseconds >> exponent;
    if (mantissa << exponent != nanoseconds && ++mantissa >> 11 != 0) {
        mantissa >>= 1;
        ++exponent;
    }
    return exponent > 31 ? 0xffff : static_cast<std::uint16_t>(exponent << 11 | mantissa);
}

std::uint32_t Writer::string(std::string_view text) {
    if (text.empty()) return 0;
    return recording_->interned([text](SideTables& tables) { return tables.string(text); });
}

std::uint32_t Writer::site(const SiteRecord& record) {
    const std::uint32_t id = recording_->interned([&record](SideTables& tables) { return tables.site(record); });
    if (id != 0) recording_->ids_below(id + 1, 0);
    return id;
}

std::uint32_t Writer::module(std::string_view path, std::string_view build_id) {
    return recording_->interned([path, build_id](SideTables& tables) { return tables.module(path, build_id); });
}

std::uint16_t Writer::api(std::string_view name) {
    const std::uint32_t id = recording_->interned([name](SideTables& tables) { return tables.api(name); });
    if (id != 0) recording_->ids_below(0, id + 1);
    return static_cast<std::uint16_t>(id);
}

std::uint32_t Writer::launch_shape(const PackedLaunchShape& head, std::string_view content) {
    return recording_->interned([&](SideTables& tables) { return tables.launch_shape(head, content); });
}

void Writer::add_metadata(const std::string& member) { recording_->add_metadata(member); }

std::uint64_t Writer::most_bytes_of_launch_shapes() const {
    return SideTables::most_bytes_of_shapes(recording_->most_bytes_of_tables());
}

STREAMSAN_LAUNCH_PATH std::uint64_t Writer::generation() const { return recording_->ids_generation(); }
bool Writer::stopped() const { return recording_->stopped(); }
void Writer::on_stop(std::function<void(std::string_view reason)> say) { recording_->on_stop(std::move(say)); }
void Writer::on_rotation(std::function<void(Lane&)> restate) { recording_->on_rotation(std::move(restate)); }

bool Writer::reopen_after_fork(const WriterOptions& options, std::string& error) {
    error = recording_->begin(options);
    origin_ = recording_->monotonic_origin();
    return error.empty();
}

void Writer::close() { recording_->close(); }

}  // namespace streamsan::recorder
