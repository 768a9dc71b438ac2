#include "recorder/cuda/launch_shapes.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>

#include "recorder/cuda/recorder.hpp"
#include "recorder/launch_path.hpp"
#include "recorder/sites/words_hash.hpp"

namespace streamsan::recorder::cuda {

/// One of the table. Lives until the process ends.
struct LaunchShape {
    std::uint64_t hash = 0;
    const Kernel* kernel = nullptr;
    LaunchDimensions dimensions;
    std::uint32_t place_bytes = 0;
    std::uint32_t argument_bytes = 0;
    std::unique_ptr<PackedPlace[]> places;
    std::unique_ptr<unsigned char[]> arguments;
    mutable std::atomic<std::uint64_t> id{0};  ///< with the writer's generation in the upper half
};

namespace {

/// For a handful of words: a call of the library's function takes longer.
inline bool same_bytes(const void* one, const void* other, std::size_t size) {
    constexpr std::size_t few = 128, word = sizeof(std::uint32_t);
    if (size > few || size % word != 0) return std::memcmp(one, other, size) == 0;
    const auto *left = static_cast<const unsigned char*>(one), *right = static_cast<const unsigned char*>(other);
    std::uint32_t differences = 0;
    for (std::size_t at = 0; at < size; at += word) {
        std::uint32_t mine, theirs;
        std::memcpy(&mine, left + at, word);
        std::memcpy(&theirs, right + at, word);
        differences |= mine ^ theirs;
    }
    return differences == 0;
}

/// A shape as it is looked for.
struct Wanted {
    const Kernel& kernel;
    LaunchDimensions dimensions;
    std::span<const PackedPlace> places;
    std::span<const unsigned char> arguments;

    [[nodiscard]] std::uint64_t hash() const {
        call_sites::WordsHash hash;
        const auto pair = [](std::uint32_t low, std::size_t high) {
            return std::uint64_t{low} | static_cast<std::uint64_t>(high) << 32;
        };
        const auto& [grid, block, shared] = dimensions;
        hash.add(0, pair(grid[0], grid[1]));
        hash.add(1, pair(grid[2], block[0]));
        hash.add(2, pair(block[1], block[2]));
        hash.add(3, pair(shared, arguments.size()));
        hash.add(0, reinterpret_cast<std::uint64_t>(&kernel));
        for (std::size_t at = 0; at < arguments.size(); at += 4 * sizeof(std::uint64_t)) {
            std::uint64_t words[4];  // zeros follow the buffer
            std::memcpy(words, arguments.data() + at, sizeof words);
            for (std::size_t each = 0; each < 4; ++each) hash.add(each, words[each]);
        }
        for (std::size_t at = 0; at < places.size(); at += 2) {
            const PackedPlace one = places[at], two = at + 1 < places.size() ? places[at + 1] : PackedPlace{};
            hash.add(1, std::uint64_t{one.reference} | std::uint64_t{one.offset} << 16 |
                            std::uint64_t{two.reference} << 32 | std::uint64_t{two.offset} << 48);
        }
        return hash.value();
    }
    [[nodiscard]] bool is(const LaunchShape& shape) const {
        return shape.kernel == &kernel && same_bytes(&shape.dimensions, &dimensions, sizeof dimensions) &&
               shape.place_bytes == places.size_bytes() && shape.argument_bytes == arguments.size() &&
               same_bytes(shape.places.get(), places.data(), places.size_bytes()) &&
               same_bytes(shape.arguments.get(), arguments.data(), arguments.size());
    }
    /// What is kept of it when there are too many.
    [[nodiscard]] Wanted reduced() const { return {kernel, {}, places, {}}; }
    [[nodiscard]] bool is_reduced() const {
        constexpr LaunchDimensions none{};
        return arguments.empty() && std::memcmp(&dimensions, &none, sizeof none) == 0;
    }
};
static_assert(sizeof(LaunchDimensions) == 28, "no padding: compared as bytes");

/// Stands for what is not kept: id 0.
const LaunchShape& no_shape() {
    static const auto* const none = new LaunchShape;
    return *none;
}

/// All shapes of this process.
class ShapeStore {
public:
    /// Takes a lock; `no_shape` where the thread has it already (a signal's handler that calls the API interrupted it),
    /// or there are too many.
    const LaunchShape& find_or_make(const Wanted& wanted, std::uint64_t hash);
    /// No more whole shapes are taken.
    [[nodiscard]] bool crowded() const { return crowded_.load(std::memory_order_relaxed); }
    void after_fork() { new (&mutex_) std::mutex; }

private:
    const LaunchShape* find(const Wanted& wanted, std::uint64_t hash) const;
    const LaunchShape& make(const Wanted& wanted, std::uint64_t hash);
    bool takes(const Wanted& wanted);

    std::mutex mutex_;
    std::unordered_multimap<std::uint64_t, std::unique_ptr<LaunchShape>> all_;
    std::size_t whole_ = 0;
    std::uint64_t bytes_of_whole_ = 0;
    std::atomic<bool> crowded_{false};
};

STREAMSAN_LAUNCH_PATH ShapeStore& shape_store() {
    static auto* const all = new ShapeStore;
    return *all;
}

const LaunchShape* ShapeStore::find(const Wanted& wanted, std::uint64_t hash) const {
    const auto [begin, end] = all_.equal_range(hash);
    const auto found = std::find_if(begin, end, [&](const auto& entry) { return wanted.is(*entry.second); });
    return found == end ? nullptr : found->second.get();
}

const LaunchShape& ShapeStore::make(const Wanted& wanted, std::uint64_t hash) {
    auto made = std::make_unique<LaunchShape>();
    made->hash = hash;
    made->kernel = &wanted.kernel;
    made->dimensions = wanted.dimensions;
    made->place_bytes = static_cast<std::uint32_t>(wanted.places.size_bytes());
    made->argument_bytes = static_cast<std::uint32_t>(wanted.arguments.size());
    made->places = std::make_unique_for_overwrite<PackedPlace[]>(wanted.places.size());
    std::ranges::copy(wanted.places, made->places.get());
    made->arguments = std::make_unique_for_overwrite<unsigned char[]>(wanted.arguments.size());
    std::ranges::copy(wanted.arguments, made->arguments.get());
    return *all_.emplace(hash, std::move(made))->second;
}

/// Counts a whole shape, or says that no more are taken.
bool ShapeStore::takes(const Wanted& wanted) {
    const std::uint64_t most =
        std::min(most_whole_shape_bytes, recorder()->writer->most_bytes_of_launch_shapes() / 3 * 2);
    const std::size_t bytes =
        sizeof(std::uint32_t) + sizeof(PackedLaunchShape) + wanted.places.size_bytes() + wanted.arguments.size();
    const bool room = !crowded() && whole_ < most_whole_shapes && bytes_of_whole_ + bytes <= most;
    if (room) {
        ++whole_;
        bytes_of_whole_ += bytes;
    } else {
        crowded_.store(true, std::memory_order_relaxed);
    }
    return room;
}

const LaunchShape& ShapeStore::find_or_make(const Wanted& wanted, std::uint64_t hash) {
    bool& here = this_thread().has_shapes;
    if (here) return no_shape();
    struct Mark {
        bool& mark;
        explicit Mark(bool& set) : mark(set) { mark = true; }
        ~Mark() { mark = false; }
    } const mark(here);
    const std::lock_guard lock(mutex_);
    if (const LaunchShape* const known = find(wanted, hash); known != nullptr) return *known;
    if (!wanted.is_reduced() && takes(wanted)) return make(wanted, hash);
    const Wanted less = wanted.reduced();
    const std::uint64_t hash_of_less = less.hash();
    if (const LaunchShape* const known = find(less, hash_of_less); known != nullptr) return *known;
    return all_.size() < 2 * most_launch_shapes ? make(less, hash_of_less) : no_shape();
}

/// Two threads that meet a new shape at once may both add it.
[[gnu::noinline]] std::uint32_t add_to_table(const LaunchShape& shape, std::uint64_t generation) {
    if (shape.kernel == nullptr) return 0;
    Writer& writer = *recorder()->writer;
    PackedLaunchShape head{};
    head.symbol = symbol_id(*shape.kernel, writer);
    head.code = code_id(*shape.kernel, writer);
    std::ranges::copy(shape.dimensions.grid, head.grid);
    std::ranges::copy(shape.dimensions.block, head.block);
    head.shared = shape.dimensions.shared;
    head.places = static_cast<std::uint16_t>(shape.place_bytes / sizeof(PackedPlace));
    head.arguments = static_cast<std::uint16_t>(shape.argument_bytes);
    std::string content(reinterpret_cast<const char*>(shape.places.get()), shape.place_bytes);
    content.append(reinterpret_cast<const char*>(shape.arguments.get()), shape.argument_bytes);
    const std::uint32_t id = head.symbol == 0 ? 0 : writer.launch_shape(head, content);
    shape.id.store(generation | id, std::memory_order_relaxed);
    return id;
}

STREAMSAN_LAUNCH_PATH std::uint32_t id_of(const LaunchShape& shape) {
    const std::uint64_t generation = recorder()->writer->generation() << 32;
    const std::uint64_t known = shape.id.load(std::memory_order_relaxed);
    if (known != 0 && (known & 0xFFFFFFFF00000000U) == generation) return static_cast<std::uint32_t>(known);
    return add_to_table(shape, generation);
}

STREAMSAN_LAUNCH_PATH Wanted wanted_of(const Kernel& kernel, const LaunchDimensions& dimensions,
                                       const LaunchArguments& arguments) {
    // Values of arguments are content: left out of a redacted trace.
    const bool values = !recorder()->settings.redact;
    return {kernel, dimensions, arguments.places(), values ? arguments.buffer() : std::span<const unsigned char>{}};
}

[[gnu::noinline]] const LaunchShape& find_slowly(LaunchShapesMet& met, const Wanted& wanted, std::uint64_t hash) {
    if (shape_store().crowded()) {
        // Nothing new is kept whole: the many that differ in a counter are told without a lock, too.
        const Wanted less = wanted.reduced();
        const std::uint64_t hash_of_less = less.hash();
        const LaunchShape*& known = met.by_hash[hash_of_less % LaunchShapesMet::size];
        if (known == nullptr || known->hash != hash_of_less || !less.is(*known))
            known = &shape_store().find_or_make(less, hash_of_less);
        return *known;
    }
    const LaunchShape& found = shape_store().find_or_make(wanted, hash);
    met.by_hash[found.hash % LaunchShapesMet::size] = &found;
    return found;
}

}  // namespace

STREAMSAN_LAUNCH_PATH std::uint32_t launch_shape(LaunchShapesMet& met, const Kernel& kernel,
                                                 const LaunchDimensions& dimensions, const LaunchArguments& arguments) {
    const Wanted wanted = wanted_of(kernel, dimensions, arguments);
    const std::uint64_t hash = wanted.hash();
    const LaunchShape* const known = met.by_hash[hash % LaunchShapesMet::size];
    if (known != nullptr && known->hash == hash && wanted.is(*known)) [[likely]]
        return id_of(*known);
    return id_of(find_slowly(met, wanted, hash));
}

std::uint32_t launch_shape(const Kernel& kernel, const LaunchDimensions& dimensions, const LaunchArguments& arguments) {
    const Wanted wanted = wanted_of(kernel, dimensions, arguments);
    return id_of(shape_store().find_or_make(wanted, wanted.hash()));
}

void launch_shapes_after_fork() { shape_store().after_fork(); }

}  // namespace streamsan::recorder::cuda
