// What launches touched, as the first ones of their kind showed it: later ones are not looked at, but said to touch the
// same beside their own references. Of one kind are launches of one shape (kernel, grid, block, values of arguments)
// whose references into one allocation lie alike. Nothing here calls the driver; several threads may call all of it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "recorder/accesses/access_ranges.hpp"
#include "recorder/cuda/call.hpp"
#include "recorder/memory/address_map.hpp"

namespace streamsan::recorder::cuda {

struct LaunchShape;

/// A reference among a launch's arguments, and the live memory that holds it. Without memory: begin is end.
struct Anchor {
    std::uint64_t address;
    std::uint64_t begin;
    std::uint64_t end;
};

/// What tells of which kind a launch is, and where it is.
struct PlacedLaunch {
    const LaunchShape* shape = nullptr;
    std::vector<Anchor> anchors;
};
/// Takes the map's lock.
PlacedLaunch placed_launch(const LaunchShape& shape, std::span<const Reference> references, const AddressMap& memory);

/// What is to be written of a launch that was not looked at.
struct TrustedLaunch {
    std::uint64_t sequence;
    std::vector<AccessRows> rows;
};

class LearnedAccesses {
public:
    enum class Answer {
        LOOK,   ///< the launch is looked at, and `learn` or `forget` is called of it later
        WATCH,  ///< it is looked at, but there is nothing to learn from it
        TRUST,  ///< it is not: `trusted` says what it touches
        WAIT,   ///< it is not: `learn` returns later what it touches, if anything can be said
    };
    /// `launches`: of each kind so many are looked at.
    explicit LearnedAccesses(std::uint32_t launches) : most_(launches) {}

    /// What is to be done with a launch.
    Answer ask(const PlacedLaunch& launch, std::uint64_t sequence, TrustedLaunch& trusted);
    /// Takes what a launch touched. Returns what waited for that and is known now.
    std::vector<TrustedLaunch> learn(const PlacedLaunch& launch, const LaunchAccesses& touched,
                                     const AddressMap& memory);
    /// Nothing becomes known of a launch that was looked at: another one will be.
    void forget(const PlacedLaunch& launch);

private:
    struct Waiting {
        std::uint64_t sequence;
        std::vector<Anchor> anchors;
    };
    struct Kind {
        std::uint32_t asked = 0;    ///< launches that are or were looked at
        std::uint32_t learned = 0;  ///< of these, launches that showed what they touch
        bool differs = false;  ///< launches touch different things, or what no argument leads to: all are looked at
        std::vector<Anchor> anchors;  ///< of the first that was learned from
        std::vector<AccessRows> rows;
        std::vector<std::size_t> anchor_of_row;  ///< `fixed`: it lies where it is for all launches
        std::vector<Waiting> waiting;
    };
    static constexpr std::size_t fixed = SIZE_MAX;
    /// The shape, and of each reference which is the first into the same allocation, and how far it is from there.
    using Key = std::pair<const LaunchShape*, std::vector<std::uint64_t>>;

    static Key key_of(const PlacedLaunch& launch);
    static bool take_first(Kind& kind, const PlacedLaunch& launch, const LaunchAccesses& touched,
                           const AddressMap& memory);
    static std::optional<std::vector<AccessRows>> moved(const Kind& kind, const std::vector<Anchor>& anchors);

    const std::uint32_t most_;
    std::mutex mutex_;
    std::map<Key, Kind> kinds_;
    std::size_t waiting_ = 0;  ///< launches that wait, and their references
};

}  // namespace streamsan::recorder::cuda
