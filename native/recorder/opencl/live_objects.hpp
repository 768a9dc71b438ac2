// The objects that the program made, each with the references that it holds to it. The runtime is never asked for a
// count: a handle may be dying.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "recorder/opencl/call.hpp"
#include "recorder/opencl/recorder.hpp"
#include "recorder/trace_writer/writer.hpp"

namespace streamsan::recorder::opencl {

/// How a handle stands.
enum class Standing : std::uint8_t {
    unknown,  ///< never seen, or made by a function that we do not stand before
    alive,
    dead,  ///< the program has released all its references, and the runtime has not given it out again
};

/// What became of a release.
enum class Release : std::uint8_t { unknown, left, last, too_many };

/// The program may get objects from functions that we do not know: then a handle that we believe dead may be one of
/// these, and no release is stopped any more.
inline std::atomic<bool> unseen_makers{false};

/// One sort of objects. Any thread may use it. References that objects hold to each other are not counted: they are the
/// runtime's.
template <class Info>
class Objects {
public:
    /// The runtime has given out a handle. One that is alive already has one more reference (or we missed its release).
    void made(Word handle, const Info& info) {
        Shard& shard = shard_of(handle);
        const std::lock_guard lock(shard.mutex);
        const auto [place, is_new] = shard.entries.try_emplace(handle);
        if (!is_new && place->second.count == 0) --shard.dead;
        ++place->second.count;
        place->second.info = info;
    }
    /// One more reference of the program's. A dead handle is alive again: who has it from a query may retain it.
    Standing retain(Word handle) {
        Shard& shard = shard_of(handle);
        const std::lock_guard lock(shard.mutex);
        const auto found = shard.entries.find(handle);
        if (found == shard.entries.end()) return Standing::unknown;
        if (found->second.count == 0) return Standing::dead;
        ++found->second.count;
        return Standing::alive;
    }
    /// After a retain of a dead handle that went well.
    void revive(Word handle) {
        Shard& shard = shard_of(handle);
        const std::lock_guard lock(shard.mutex);
        const auto found = shard.entries.find(handle);
        if (found == shard.entries.end()) return;
        if (found->second.count == 0) --shard.dead;
        ++found->second.count;
    }
    Release release(Word handle) {
        Shard& shard = shard_of(handle);
        const std::lock_guard lock(shard.mutex);
        const auto found = shard.entries.find(handle);
        if (found == shard.entries.end()) return Release::unknown;
        if (found->second.count == 0) return Release::too_many;
        if (--found->second.count != 0) return Release::left;
        if (++shard.dead > most_dead) forget_dead(shard, handle);
        return Release::last;
    }
    [[nodiscard]] Standing standing(Word handle) const {
        const Shard& shard = shard_of(handle);
        const std::lock_guard lock(shard.mutex);
        const auto found = shard.entries.find(handle);
        if (found == shard.entries.end()) return Standing::unknown;
        return found->second.count == 0 ? Standing::dead : Standing::alive;
    }
    /// Both: how a handle stands, and what is known of it.
    [[nodiscard]] std::pair<Standing, Info> look_up(Word handle) const {
        const Shard& shard = shard_of(handle);
        const std::lock_guard lock(shard.mutex);
        const auto found = shard.entries.find(handle);
        if (found == shard.entries.end()) return {Standing::unknown, Info{}};
        return {found->second.count == 0 ? Standing::dead : Standing::alive, found->second.info};
    }
    /// What is known of a handle, also of a dead one.
    [[nodiscard]] std::optional<Info> find(Word handle) const {
        const Shard& shard = shard_of(handle);
        const std::lock_guard lock(shard.mutex);
        const auto found = shard.entries.find(handle);
        return found == shard.entries.end() ? std::nullopt : std::optional<Info>(found->second.info);
    }
    /// The runtime has given out a handle of which nothing is known: it is none that died before.
    void forget(Word handle) {
        Shard& shard = shard_of(handle);
        const std::lock_guard lock(shard.mutex);
        const auto found = shard.entries.find(handle);
        if (found == shard.entries.end()) return;
        if (found->second.count == 0) --shard.dead;
        shard.entries.erase(found);
    }
    /// In a forked child: begins empty. Another thread of the parent may have held a lock, so all is left behind.
    void forget_after_fork() { shards_ = new Shards; }

private:
    struct Entry {
        std::uint32_t count = 0;
        Info info{};
    };
    struct Shard {
        mutable std::mutex mutex;
        std::unordered_map<Word, Entry> entries;
        std::size_t dead = 0;
    };
    static constexpr std::size_t most_dead = 1 << 12;
    using Shards = std::array<Shard, 16>;

    [[nodiscard]] Shard& shard_of(Word handle) const { return (*shards_)[(handle >> 4 ^ handle >> 12) % 16]; }
    static void forget_dead(Shard& shard, Word but) {
        std::erase_if(shard.entries,
                      [but](const auto& entry) { return entry.second.count == 0 && entry.first != but; });
        shard.dead = 1;
    }

    Shards* shards_ = new Shards;
};

struct QueueInfo {
    Word context = 0;
    Word device = 0;
    bool out_of_order = false;
};

struct EventInfo {
    bool user = false;
};

/// How an image lies in the range of addresses that it was given: element, row and slice, in bytes. No element: a
/// buffer, or an image whose parts are not told apart.
struct ImageLayout {
    std::uint64_t element = 0;
    std::uint64_t row_pitch = 0;
    std::uint64_t slice_pitch = 0;
};

/// The memory behind buffers, and how many of them hold it.
struct Storage {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::atomic<std::uint32_t> holders{1};
    std::atomic<std::uint64_t> destructor_key{0};
    bool told = true;  ///< its ALLOC is in the trace; memory that lies in other memory has none
};

struct MemoryInfo {
    Word context = 0;
    std::shared_ptr<Storage> storage;
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    bool part = false;  ///< of another object's storage
    ImageLayout image{};
};

struct Kernel;  // kernels.hpp
struct KernelInfo {
    std::shared_ptr<Kernel> kernel;
    Word context = 0;
};

struct Program;  // program_images.hpp
struct ProgramInfo {
    std::shared_ptr<Program> program;
    Word context = 0;
};

struct CommandBuffer;  // command_buffers.cpp
struct CommandBufferInfo {
    std::shared_ptr<CommandBuffer> buffer;
};

struct SemaphoreInfo {
    std::shared_ptr<std::atomic<bool>> signalled;  ///< null: others may signal it as well
};

struct NoInfo {};

// Of this process. Never destroyed.
struct LiveObjects {
    Objects<NoInfo> contexts;
    Objects<QueueInfo> queues;
    Objects<EventInfo> events;
    Objects<MemoryInfo> memory;
    Objects<KernelInfo> kernels;
    Objects<ProgramInfo> programs;
    Objects<NoInfo> samplers;
    Objects<CommandBufferInfo> command_buffers;
    Objects<SemaphoreInfo> semaphores;
};
LiveObjects& live();

void objects_after_fork();

void forget_api_names();

}  // namespace streamsan::recorder::opencl
