#include "recorder/cuda/launch_shapes.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <new>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "recorder/cuda/argument_variance.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/cuda/repeated_launches.hpp"
#include "recorder/launch_path.hpp"
#include "recorder/sites/words_hash.hpp"

namespace streamsan::recorder::cuda {

/// What is compared first: four words.
struct ShapeHead {
    LaunchDimensions dimensions;
    std::uint16_t places = 0;
    std::uint16_t argument_bytes = 0;
};
static_assert(sizeof(ShapeHead) == 4 * sizeof(std::uint64_t), "no padding: compared as words");

/// One of the table. Lives until the process ends. Its places and arguments lie right behind it: a launch looks at two
/// cache lines mostly.
struct alignas(64) LaunchShape {
    ShapeHead head;
    const Kernel* kernel = nullptr;
    mutable std::atomic<std::uint64_t> id{0};  ///< with the writer's generation in the upper half
    /// The shape that the kernel was launched with after this one, the last time.
    mutable std::atomic<const LaunchShape*> after{nullptr};
    /// Of the memory (AddressMap::growth), when its arguments were last seen to have addresses at its places alone; 0:
    /// never.
    mutable std::atomic<std::uint32_t> growth{0};
    mutable std::atomic<bool> met_again{false};
    std::uint8_t round = 0;  ///< of the kernel's variance: what is not told of its arguments

    [[nodiscard]] std::size_t place_bytes() const { return head.places * sizeof(PackedPlace); }
    [[nodiscard]] std::span<const PackedPlace> places() const {
        return {reinterpret_cast<const PackedPlace*>(this + 1), head.places};
    }
    [[nodiscard]] const unsigned char* arguments() const {
        return reinterpret_cast<const unsigned char*>(this + 1) + place_bytes();
    }
};
static_assert(sizeof(LaunchShape) == 64);

namespace {

template <class Word>
inline Word word_at(const void* bytes, std::size_t offset) {
    Word word;
    std::memcpy(&word, static_cast<const unsigned char*>(bytes) + offset, sizeof word);
    return word;
}

/// For a handful of words: a call of the library's function takes longer. `size`: a multiple of 4 where it is small.
inline bool same_bytes(const void* one, const void* other, std::size_t size) {
    constexpr std::size_t few = 128;
    if (size > few || size % 4 != 0) return std::memcmp(one, other, size) == 0;
    std::uint64_t differences = 0;
    std::size_t at = 0;
    for (; at + 8 <= size; at += 8) differences |= word_at<std::uint64_t>(one, at) ^ word_at<std::uint64_t>(other, at);
    if (at < size) differences |= word_at<std::uint32_t>(one, at) ^ word_at<std::uint32_t>(other, at);
    return differences == 0;
}

/// A shape as it is looked for.
struct Wanted {
    const Kernel& kernel;
    ShapeHead head;
    const PackedPlace* places;
    const unsigned char* arguments;  ///< zeros follow them up to a multiple of 32
    std::uint8_t round;              ///< of the kernel's variance, when they were collected

    [[nodiscard]] std::size_t place_bytes() const { return head.places * sizeof(PackedPlace); }
    [[nodiscard]] std::size_t table_bytes() const {
        return sizeof(std::uint32_t) + sizeof(PackedLaunchShape) + place_bytes() + head.argument_bytes;
    }
    [[nodiscard]] std::uint64_t hash() const {
        call_sites::WordsHash hash;
        const auto add_four = [&hash](const void* bytes) {
            hash.add(0, word_at<std::uint64_t>(bytes, 0));
            hash.add(1, word_at<std::uint64_t>(bytes, 8));
            hash.add(2, word_at<std::uint64_t>(bytes, 16));
            hash.add(3, word_at<std::uint64_t>(bytes, 24));
        };
        hash.add(0, reinterpret_cast<std::uint64_t>(&kernel));
        add_four(&head);
        for (std::size_t at = 0; at < head.argument_bytes; at += 32) add_four(arguments + at);
        const std::size_t bytes = place_bytes();
        std::size_t at = 0;
        for (; at + 8 <= bytes; at += 8) hash.add(1, word_at<std::uint64_t>(places, at));
        if (at < bytes) hash.add(2, word_at<std::uint32_t>(places, at));
        return hash.value();
    }
    [[nodiscard]] bool is(const LaunchShape& shape) const {
        return shape.kernel == &kernel && same_bytes(&shape.head, &head, sizeof head) &&
               same_bytes(shape.places().data(), places, place_bytes()) &&
               same_bytes(shape.arguments(), arguments, head.argument_bytes);
    }
    /// What is kept of it when there are too many.
    [[nodiscard]] Wanted reduced() const { return {kernel, {{}, head.places, 0}, places, arguments, round}; }
    [[nodiscard]] bool is_reduced() const {
        const ShapeHead less{{}, head.places, 0};
        return same_bytes(&head, &less, sizeof head);
    }
};

// A kernel that gets a step counter or an offset has other arguments at each launch: each new shape costs a lock,
// memory and a write. One that goes through its tiles again and again has many, too, but the same ones: a shape that
// was met again counts a quarter.
constexpr std::uint64_t share_of_new = 4;
constexpr std::uint64_t most_of_kernel = share_of_new * most_new_shapes_of_kernel;
constexpr std::uint64_t most_bytes_of_kernel = share_of_new * most_new_shape_bytes_of_kernel;

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
    /// What a kernel's whole shapes count.
    struct Load {
        std::uint64_t shapes = 0;
        std::uint64_t bytes = 0;
        std::vector<const LaunchShape*> made;  ///< of the kernel's round
        std::size_t next_look = first_look;    ///< for leftovers: when so many have been made
        static constexpr std::size_t first_look = 8;
    };

    LaunchShape* find(const Wanted& wanted, std::uint64_t hash) const;
    void meet_again(const Wanted& wanted, LaunchShape& known);
    const LaunchShape& make(const Wanted& wanted, std::uint64_t hash);
    bool takes(const Wanted& wanted);
    static std::vector<SeenLaunch> seen(const Load& load);
    static void look_for_variance(const Kernel& kernel, Load& load);
    static void look_for_leftovers(const Kernel& kernel, Load& load);

    std::mutex mutex_;
    std::unordered_multimap<std::uint64_t, LaunchShape*> all_;
    std::unordered_map<const Kernel*, Load> loads_;
    std::size_t whole_ = 0;
    std::uint64_t bytes_of_whole_ = 0;
    std::atomic<bool> crowded_{false};
};

STREAMSAN_LAUNCH_PATH ShapeStore& shape_store() {
    static auto* const all = new ShapeStore;
    return *all;
}

LaunchShape* ShapeStore::find(const Wanted& wanted, std::uint64_t hash) const {
    const auto [begin, end] = all_.equal_range(hash);
    const auto found = std::find_if(begin, end, [&](const auto& entry) { return wanted.is(*entry.second); });
    return found == end ? nullptr : found->second;
}

const LaunchShape& ShapeStore::make(const Wanted& wanted, std::uint64_t hash) {
    const std::size_t bytes = wanted.place_bytes() + wanted.head.argument_bytes;
    void* const room = ::operator new(sizeof(LaunchShape) + bytes, std::align_val_t{alignof(LaunchShape)});
    auto* const made = new (room) LaunchShape;
    made->kernel = &wanted.kernel;
    made->head = wanted.head;
    made->round = wanted.round;
    auto* const content = reinterpret_cast<unsigned char*>(made + 1);
    std::memcpy(content, wanted.places, wanted.place_bytes());
    std::memcpy(content + wanted.place_bytes(), wanted.arguments, wanted.head.argument_bytes);
    return *all_.emplace(hash, made)->second;
}

/// Counts a whole shape, or says that no more are taken.
bool ShapeStore::takes(const Wanted& wanted) {
    const std::uint64_t most =
        std::min(most_whole_shape_bytes, recorder()->writer->most_bytes_of_launch_shapes() / 3 * 2);
    const std::size_t bytes = wanted.table_bytes();
    if (crowded() || whole_ == most_whole_shapes || bytes_of_whole_ + bytes > most) {
        crowded_.store(true, std::memory_order_relaxed);
        return false;
    }
    const auto varies = [&wanted] {
        return wanted.kernel.round.load(std::memory_order_relaxed) == ArgumentVariance::all_vary;
    };
    Load& load = loads_[&wanted.kernel];
    if (!varies() &&
        (load.shapes + share_of_new > most_of_kernel || load.bytes + share_of_new * bytes > most_bytes_of_kernel))
        look_for_variance(wanted.kernel, load);
    if (varies()) return false;
    load.shapes += share_of_new;
    load.bytes += share_of_new * bytes;
    ++whole_;
    bytes_of_whole_ += bytes;
    return true;
}

std::vector<SeenLaunch> ShapeStore::seen(const Load& load) {
    std::vector<SeenLaunch> launches;
    for (const LaunchShape* const shape : load.made)
        launches.push_back({shape->head.dimensions, shape->places(), {shape->arguments(), shape->head.argument_bytes}});
    return launches;
}

/// From here on the kernel's launches are told without what makes them differ.
void vary(const Kernel& kernel, const ArgumentVariance& found) {
    kernel.variance.store(&found, std::memory_order_release);
    kernel.round.store(found.round, std::memory_order_release);
}

void ShapeStore::look_for_variance(const Kernel& kernel, Load& load) {
    vary(kernel, next_variance(kernel, seen(load)));
    load = {};
}

void ShapeStore::look_for_leftovers(const Kernel& kernel, Load& load) {
    if (load.made.size() < load.next_look) return;
    load.next_look *= 2;
    if (const ArgumentVariance* const found = next_leftovers(kernel, seen(load))) {
        vary(kernel, *found);
        load = {};
    }
}

/// What comes back is no counter that goes on: it counts less from now on.
void ShapeStore::meet_again(const Wanted& wanted, LaunchShape& known) {
    if (known.met_again.exchange(true, std::memory_order_relaxed) || wanted.is_reduced()) return;
    if (known.round != wanted.kernel.round.load(std::memory_order_relaxed)) return;  // not counted any more
    Load& load = loads_[&wanted.kernel];
    load.shapes -= share_of_new - 1;
    load.bytes -= (share_of_new - 1) * wanted.table_bytes();
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
    if (LaunchShape* const known = find(wanted, hash); known != nullptr) {
        meet_again(wanted, *known);
        return *known;
    }
    if (!wanted.is_reduced() && takes(wanted)) {
        const LaunchShape& made = make(wanted, hash);
        if (made.round == wanted.kernel.round.load(std::memory_order_relaxed)) {
            Load& load = loads_[&wanted.kernel];
            load.made.push_back(&made);
            look_for_leftovers(wanted.kernel, load);
        }
        return made;
    }
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
    const LaunchDimensions& dimensions = shape.head.dimensions;
    std::ranges::copy(dimensions.grid, head.grid);
    std::ranges::copy(dimensions.block, head.block);
    head.shared = dimensions.shared;
    head.places = shape.head.places;
    head.arguments = shape.head.argument_bytes;
    const std::string_view content(reinterpret_cast<const char*>(&shape + 1), shape.place_bytes() + head.arguments);
    const std::uint32_t id = head.symbol == 0 ? 0 : writer.launch_shape(head, content);
    shape.id.store(generation | id, std::memory_order_relaxed);
    return id;
}

STREAMSAN_LAUNCH_PART std::uint32_t id_of(const LaunchShape& shape) {
    const std::uint64_t generation = recorder()->writer->generation() << 32;
    const std::uint64_t known = shape.id.load(std::memory_order_relaxed);
    if (known != 0 && (known & 0xFFFFFFFF00000000U) == generation) return static_cast<std::uint32_t>(known);
    return add_to_table(shape, generation);
}

STREAMSAN_LAUNCH_PATH Wanted wanted_of(const Kernel& kernel, const LaunchDimensions& dimensions,
                                       const LaunchArguments& arguments) {
    // Values of arguments are content: left out of a redacted trace.
    const std::size_t bytes = recorder()->settings.redact ? 0 : arguments.buffer().size();
    const auto places = static_cast<std::uint16_t>(arguments.places().size());
    const Wanted whole{kernel,
                       {dimensions, places, static_cast<std::uint16_t>(bytes)},
                       arguments.places().data(),
                       arguments.buffer().data(),
                       arguments.variance() == nullptr ? std::uint8_t{0} : arguments.variance()->round};
    return whole.round == ArgumentVariance::all_vary ? whole.reduced() : whole;
}

const LaunchShape& find_in_store(LaunchShapesMet& met, const Wanted& wanted, std::uint64_t hash) {
    if (shape_store().crowded()) {
        // Nothing new is kept whole: the many that differ in a counter are told without a lock, too.
        const Wanted less = wanted.reduced();
        const std::uint64_t hash_of_less = less.hash();
        const LaunchShape*& known = met.by_hash[hash_of_less % LaunchShapesMet::size];
        if (known == nullptr || !less.is(*known)) known = &shape_store().find_or_make(less, hash_of_less);
        return *known;
    }
    const LaunchShape& found = shape_store().find_or_make(wanted, hash);
    // At its second meeting, so that the store learns of one: what is never met again pushes nothing out, too.
    if (found.met_again.load(std::memory_order_relaxed) && wanted.is(found))
        met.by_hash[hash % LaunchShapesMet::size] = &found;
    return found;
}

const LaunchShape& find(LaunchShapesMet& met, const Wanted& wanted) {
    const std::uint64_t hash = wanted.hash();
    const LaunchShape* const known = met.by_hash[hash % LaunchShapesMet::size];
    return known != nullptr && wanted.is(*known) ? *known : find_in_store(met, wanted, hash);
}

/// The launch had this shape: which one will the next have? Programs go through the same ones again and again.
STREAMSAN_LAUNCH_PART void expect_after(ExpectedShapes& expected, const LaunchShape& shape) {
    if (expected.latest != nullptr && expected.latest->after.load(std::memory_order_relaxed) != &shape)
        expected.latest->after.store(&shape, std::memory_order_release);
    const LaunchShape* const after = shape.after.load(std::memory_order_acquire);
    if (expected.latest != &shape) {
        // In the place of what has come again, or of the oldest.
        const auto again = std::find(expected.others.begin(), expected.others.end() - 1, &shape);
        std::copy_backward(expected.others.begin(), again, again + 1);
        expected.others.front() = expected.latest;
    }
    expected.latest = &shape;
    expected.next = after != nullptr ? after : &shape;
}

/// Whether a launch has this shape. Then its arguments are collected.
STREAMSAN_LAUNCH_PART bool has_shape(const LaunchShape& shape, const Kernel& kernel, const LaunchGiven& given,
                                     LaunchArguments& arguments) {
    return shape.kernel == &kernel && same_bytes(&shape.head.dimensions, &given.dimensions, sizeof given.dimensions) &&
           shape.head.argument_bytes == kernel.argument_bytes &&
           shape.round == kernel.round.load(std::memory_order_acquire) &&
           shape.growth.load(std::memory_order_relaxed) == recorder()->memory.growth() &&
           arguments.follow(kernel, given.arguments, {shape.places(), shape.arguments()});
}

/// Of a few shapes in any order. The first ones mostly differ from the launch in the same bytes.
[[gnu::noinline]] const LaunchShape* find_among_latest(const ExpectedShapes& expected, const Kernel& kernel,
                                                       const LaunchGiven& given, LaunchArguments& arguments) {
    const LaunchShape* failed = expected.next;
    LaunchArguments::Difference difference = arguments.difference();
    const auto differs_too = [&](const LaunchShape& shape) {
        const std::size_t end = difference.begin + difference.size;
        return difference.size != 0 && end <= shape.head.argument_bytes && end <= failed->head.argument_bytes &&
               std::memcmp(shape.arguments() + difference.begin, failed->arguments() + difference.begin,
                           difference.size) == 0;
    };
    const auto is = [&](const LaunchShape* shape) {
        if (shape == nullptr || shape == failed || differs_too(*shape)) return false;
        arguments.clear();
        if (has_shape(*shape, kernel, given, arguments)) return true;
        if (arguments.difference().size != 0) {
            failed = shape;
            difference = arguments.difference();
        }
        return false;
    };
    if (is(expected.latest)) return expected.latest;
    const auto found = std::find_if(expected.others.begin(), expected.others.end(), is);
    return found == expected.others.end() ? nullptr : *found;
}

[[gnu::noinline]] std::uint32_t collect_slowly(LaunchShapesMet& met, const Kernel& kernel, const LaunchGiven& given,
                                               LaunchArguments& arguments) {
    ExpectedShapes& expected = met.of(kernel);
    arguments.collect(kernel, given.arguments, given.extra);
    const Wanted wanted = wanted_of(kernel, given.dimensions, arguments);
    // Of a kernel whose arguments vary only the places are left: the same ones mostly.
    const bool again = expected.latest != nullptr && wanted.is(*expected.latest);
    const LaunchShape& found = again ? *expected.latest : find(met, wanted);
    if (found.met_again.load(std::memory_order_relaxed) && arguments.left_out() == 0) {
        found.growth.store(arguments.growth(), std::memory_order_relaxed);
        expect_after(expected, found);
    }
    met.last = &found;
    return id_of(found);
}

/// As `collect_launch`, where the shape that is expected has many places.
[[gnu::noinline]] const LaunchShape* find_with_many(LaunchShapesMet& met, const LaunchShape* shape,
                                                    const ExpectedShapes& expected, const Kernel& kernel,
                                                    const LaunchGiven& given, LaunchArguments& arguments) {
    std::shared_ptr<RepeatedLaunches>& repeated = met.repeated[&kernel];
    if (repeated == nullptr) repeated = std::make_shared<RepeatedLaunches>();
    if (const LaunchShape* const again = repeated->find(kernel, given, arguments); again != nullptr) return again;
    const std::uint32_t growth = recorder()->memory.growth();
    if (!has_shape(*shape, kernel, given, arguments)) shape = find_among_latest(expected, kernel, given, arguments);
    if (shape != nullptr && !arguments.has_leftovers())
        repeated->remember(kernel, given, arguments, {*shape, shape->places(), shape->round, growth});
    return shape;
}

}  // namespace

STREAMSAN_LAUNCH_PATH std::uint32_t collect_launch(LaunchShapesMet& met, const Kernel& kernel, const LaunchGiven& given,
                                                   LaunchArguments& arguments) {
    ExpectedShapes& expected = met.of(kernel);
    if (given.arguments != nullptr && kernel.round.load(std::memory_order_relaxed) != ArgumentVariance::all_vary)
        [[likely]] {
        const LaunchShape* shape = expected.next;
        if (shape != nullptr) {
            if (shape->head.places > RepeatedLaunches::many) [[unlikely]]
                shape = find_with_many(met, shape, expected, kernel, given, arguments);
            else if (!has_shape(*shape, kernel, given, arguments)) [[unlikely]]
                shape = find_among_latest(expected, kernel, given, arguments);
            if (shape != nullptr) [[likely]] {
                expect_after(expected, *shape);
                met.last = shape;
                return id_of(*shape);
            }
        }
    }
    return collect_slowly(met, kernel, given, arguments);
}

std::uint32_t launch_shape(const Kernel& kernel, const LaunchDimensions& dimensions, const LaunchArguments& arguments) {
    const Wanted wanted = wanted_of(kernel, dimensions, arguments);
    return id_of(shape_store().find_or_make(wanted, wanted.hash()));
}

bool keeps_values(const LaunchShape& shape) {
    const LaunchDimensions none;
    return shape.kernel != nullptr && shape.head.dimensions.grid != none.grid && !recorder()->settings.redact;
}

void launch_shapes_after_fork() { shape_store().after_fork(); }

}  // namespace streamsan::recorder::cuda
