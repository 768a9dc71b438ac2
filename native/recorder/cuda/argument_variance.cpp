#include "recorder/cuda/argument_variance.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "recorder/cuda/host_addresses.hpp"
#include "recorder/cuda/kernels.hpp"
#include "recorder/sites/words_hash.hpp"

namespace streamsan::recorder::cuda {
namespace {

constexpr std::size_t piece_bytes = 8;
constexpr std::size_t most_runs = 1024;
constexpr std::uint8_t most_searches = 4;
constexpr std::uint8_t most_rounds = 32;
constexpr std::size_t least_gain = 8;
/// A kernel with so many bytes of arguments takes structures, with leftovers of the stack; to tell its launches apart
/// costs as much as several others.
constexpr std::size_t many_bytes = 512;
/// In the place of any address: which one it is makes no difference.
constexpr std::uint64_t any_address = 0x5353'0000'0000'0001;

/// The parameters, cut into words of the buffer.
std::vector<ArgumentRun> pieces_of(const Kernel& kernel) {
    std::vector<ArgumentRun> pieces;
    std::uint16_t number = 0;
    for (const Parameter& parameter : kernel.parameters()) {
        const std::size_t end = std::size_t{parameter.offset} + parameter.size;
        for (std::size_t begin = parameter.offset; begin < end;) {
            const std::size_t next = std::min(end, (begin / piece_bytes + 1) * piece_bytes);
            pieces.push_back({static_cast<std::uint16_t>(begin), static_cast<std::uint16_t>(next), number});
            begin = next;
        }
        ++number;
    }
    return pieces;
}

/// What a launch has in each piece.
std::vector<std::uint64_t> values_of(const SeenLaunch& launch, const std::vector<ArgumentRun>& pieces) {
    std::vector<bool> addresses(launch.arguments.size() + piece_bytes);
    for (const PackedPlace place : launch.places)
        if (place.reference != not_told && place.offset < addresses.size()) addresses[place.offset] = true;
    std::vector<std::uint64_t> values;
    values.reserve(pieces.size());
    for (const ArgumentRun& piece : pieces) {
        std::uint64_t value = 0;
        if (piece.end <= launch.arguments.size())
            std::memcpy(&value, launch.arguments.data() + piece.begin, piece.end - piece.begin);
        // A buffer may end long before the parameters do (NCCL).
        const bool is_address = piece.begin < addresses.size() && addresses[piece.begin];
        values.push_back(is_address ? any_address : value);
    }
    return values;
}

/// How many launches differ in something else than the pieces that have more than `most` values.
std::size_t groups_without(std::span<const SeenLaunch> launches, const std::vector<std::vector<std::uint64_t>>& values,
                           const std::vector<std::size_t>& kinds, std::size_t most) {
    std::unordered_set<std::uint64_t> groups;
    for (std::size_t launch = 0; launch < launches.size(); ++launch) {
        call_sites::WordsHash hash;
        std::size_t index = 0;
        const LaunchDimensions& dimensions = launches[launch].dimensions;
        for (const auto& sizes : {dimensions.grid, dimensions.block})
            for (const std::uint32_t size : sizes) hash.add(index++, size);
        hash.add(index++, dimensions.shared);
        for (std::size_t piece = 0; piece < kinds.size(); ++piece)
            if (kinds[piece] <= most) hash.add(index++, values[launch][piece]);
        groups.insert(hash.value());
    }
    return groups.size();
}

using Values = std::vector<std::vector<std::uint64_t>>;

/// Of each launch, in each piece.
Values values_of(std::span<const SeenLaunch> launches, const std::vector<ArgumentRun>& pieces) {
    Values values;
    for (const SeenLaunch& launch : launches) values.push_back(values_of(launch, pieces));
    return values;
}

/// Most pieces are the same in all launches: nothing is gathered of these.
bool differs(const Values& values, std::size_t piece) {
    return std::ranges::any_of(values, [&](const auto& each) { return each[piece] != values.front()[piece]; });
}

std::unordered_set<std::uint64_t> kinds_in(const Values& values, std::size_t piece) {
    std::unordered_set<std::uint64_t> kinds;
    for (const auto& each : values) kinds.insert(each[piece]);
    return kinds;
}

bool is_known(const ArgumentVariance* before, const ArgumentRun& piece) {
    return before != nullptr && std::ranges::any_of(before->runs, [&piece](const ArgumentRun& run) {
               return run.begin <= piece.begin && piece.end <= run.end;
           });
}

/// A word with two or three addresses is told: a program's first launches leave others on the stack than all later
/// ones, and each word that is not told costs every launch.
bool are_leftovers(const std::unordered_set<std::uint64_t>& kinds) {
    constexpr std::size_t least_kinds = 4, most_looked_at = 16;
    if (kinds.contains(any_address) || kinds.size() < least_kinds) return false;
    std::size_t addresses = 0, numbers = 0;
    for (const std::uint64_t word : kinds) {
        if (addresses + numbers == most_looked_at) break;
        if (word != 0) ++(is_host_address(word) ? addresses : numbers);
    }
    return addresses >= 2 && addresses >= 3 * numbers;
}

using LaunchGroup = std::vector<std::size_t>;

/// The latest launches of each group with the same grid, block and places, as the parts of one step have: the first
/// launches of a program leave other things on the stack than all later ones.
std::vector<LaunchGroup> latest_alike(std::span<const SeenLaunch> launches) {
    constexpr std::size_t least = 8;
    std::vector<LaunchGroup> groups;
    for (std::size_t launch = 0; launch < launches.size(); ++launch) {
        const auto alike = std::ranges::find_if(groups, [&](const LaunchGroup& group) {
            const SeenLaunch& first = launches[group.front()];
            return first.dimensions == launches[launch].dimensions &&
                   std::ranges::equal(first.places, launches[launch].places, [](PackedPlace one, PackedPlace other) {
                       return one.reference == other.reference && one.offset == other.offset;
                   });
        });
        if (alike != groups.end()) alike->push_back(launch);
        else groups.push_back({launch});
    }
    std::erase_if(groups, [](const LaunchGroup& group) { return group.size() < least; });
    for (LaunchGroup& group : groups)
        group.erase(group.begin(), group.end() - static_cast<std::ptrdiff_t>(std::max(least, group.size() * 3 / 4)));
    return groups;
}

/// A word that never comes again: a counter or a time that calls before have left on the stack, a factor that goes with
/// the steps.
bool never_comes_again(const Values& values, const std::vector<LaunchGroup>& groups, std::size_t piece) {
    return std::ranges::any_of(groups, [&](const LaunchGroup& group) {
        std::vector<std::uint64_t> words;
        for (const std::size_t launch : group) words.push_back(values[launch][piece]);
        std::ranges::sort(words);
        return std::ranges::adjacent_find(words) == words.end() && !std::ranges::binary_search(words, any_address);
    });
}

ArgumentVariance& after(const ArgumentVariance* before) {
    auto& made = *new ArgumentVariance;
    made.round = before == nullptr ? std::uint8_t{1} : static_cast<std::uint8_t>(before->round + 1);
    made.searches = before == nullptr ? std::uint8_t{0} : before->searches;
    return made;
}

void join_neighbours(std::vector<ArgumentRun>& runs) {
    std::vector<ArgumentRun> joined;
    for (const ArgumentRun& run : runs) {
        if (!joined.empty() && joined.back().end == run.begin && joined.back().parameter == run.parameter)
            joined.back().end = run.end;
        else joined.push_back(run);
    }
    runs = std::move(joined);
}

}  // namespace

const ArgumentVariance& next_variance(const Kernel& kernel, std::span<const SeenLaunch> launches) {
    const ArgumentVariance* const before = kernel.variance.load(std::memory_order_acquire);
    ArgumentVariance& found = after(before);
    ++found.searches;
    const std::vector<ArgumentRun> pieces = pieces_of(kernel);
    const Values values = values_of(launches, pieces);
    std::vector<std::size_t> kinds;
    for (std::size_t piece = 0; piece < pieces.size(); ++piece)
        kinds.push_back(differs(values, piece) ? kinds_in(values, piece).size() : 1);
    std::size_t most = launches.size();
    do most /= 2;
    while (most > 1 && groups_without(launches, values, kinds, most) * least_gain > launches.size());
    if (found.searches <= most_searches && most >= 1 &&
        groups_without(launches, values, kinds, most) * least_gain <= launches.size()) {
        for (std::size_t piece = 0; piece < pieces.size(); ++piece)
            if (kinds[piece] > most || is_known(before, pieces[piece])) found.runs.push_back(pieces[piece]);
        join_neighbours(found.runs);
        if (found.runs.size() <= most_runs) return found;
    }
    found.runs.clear();
    found.round = ArgumentVariance::all_vary;
    return found;
}

const ArgumentVariance* next_leftovers(const Kernel& kernel, std::span<const SeenLaunch> launches) {
    const ArgumentVariance* const before = kernel.variance.load(std::memory_order_acquire);
    if (before != nullptr && before->round >= most_rounds) return nullptr;
    const std::vector<ArgumentRun> pieces = pieces_of(kernel);
    const Values values = values_of(launches, pieces);
    const std::vector<LaunchGroup> alike =
        kernel.argument_bytes >= many_bytes ? latest_alike(launches) : std::vector<LaunchGroup>{};
    std::vector<ArgumentRun> runs;
    bool more = false;
    for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
        const ArgumentRun& run = pieces[piece];
        const bool known = is_known(before, run);
        const bool fresh = !known && run.end - run.begin == piece_bytes && differs(values, piece) &&
                           (are_leftovers(kinds_in(values, piece)) || never_comes_again(values, alike, piece));
        if (fresh || known) runs.push_back(run);
        more |= fresh;
    }
    join_neighbours(runs);
    if (!more || runs.size() > most_runs) return nullptr;
    ArgumentVariance& found = after(before);
    found.runs = std::move(runs);
    return &found;
}

}  // namespace streamsan::recorder::cuda
