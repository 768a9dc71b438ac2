#include "recorder/cuda/repeated_launches.hpp"

#include <algorithm>
#include <cstring>

#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {

bool RepeatedLaunches::Launch::is(const Kernel& of, const LaunchGiven& given) const {
    if (kernel != &of || dimensions != given.dimensions || growth != recorder()->memory.growth() ||
        round != of.round.load(std::memory_order_acquire))
        return false;
    const unsigned char* known = bytes.data();
    return std::ranges::all_of(pieces, [&](const Piece& piece) {
        const auto* const value = static_cast<const unsigned char*>(given.arguments[piece.argument]);
        if (value == nullptr) return false;
        if (!piece.told) return !LaunchArguments::has_address(value + piece.begin, piece.size);
        const bool same = std::memcmp(value + piece.begin, known, piece.size) == 0;
        known += piece.size;
        return same;
    });
}

const LaunchShape* RepeatedLaunches::find(const Kernel& kernel, const LaunchGiven& given, LaunchArguments& arguments) {
    for (std::size_t tried = 0; tried < launches_.size(); ++tried) {
        const Launch& launch = launches_[next_];
        next_ = (next_ + 1) % launches_.size();
        if (!launch.is(kernel, given)) continue;
        in_vain_ -= in_vain_ != 0;
        arguments.take(launch.references);
        return launch.shape;
    }
    return nullptr;
}

void RepeatedLaunches::remember(const Kernel& kernel, const LaunchGiven& given, const LaunchArguments& arguments,
                                const Seen& seen) {
    if (paused_ != 0) {
        --paused_;
        return;
    }
    if (++in_vain_ > most_in_vain) {
        *this = {};
        paused_ = pause;
        return;
    }
    Launch made;
    made.shape = &seen.shape;
    made.kernel = &kernel;
    made.dimensions = given.dimensions;
    made.growth = seen.growth;
    made.round = seen.round;
    made.references.assign(arguments.references(), arguments.references() + arguments.count());
    const PackedPlace* place = seen.places.data();
    const PackedPlace* const last = place + seen.places.size();
    for (const Parameter& parameter : kernel.parameters()) {
        const auto* const value = static_cast<const unsigned char*>(given.arguments[parameter.index]);
        std::size_t at = 0;
        const auto add = [&](std::size_t end, bool told) {
            if (at < end)
                made.pieces.push_back(
                    {parameter.index, static_cast<std::uint16_t>(at), static_cast<std::uint16_t>(end - at), told});
            if (told) made.bytes.insert(made.bytes.end(), value + at, value + end);
            at = end;
        };
        for (; place != last && place->offset - std::size_t{parameter.offset} < parameter.size; ++place) {
            if (place->reference != not_told) continue;
            add(place->offset - std::size_t{parameter.offset}, true);
            add((++place)->offset - std::size_t{parameter.offset}, false);
        }
        add(parameter.size, true);
    }
    if (launches_.size() < most) {
        launches_.insert(launches_.begin() + static_cast<std::ptrdiff_t>(next_), std::move(made));
    } else {
        launches_[next_] = std::move(made);
    }
    next_ = (next_ + 1) % launches_.size();
}

}  // namespace streamsan::recorder::cuda
