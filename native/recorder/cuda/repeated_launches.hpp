// Launches with many addresses that come again with the same ones: an optimiser's, which name all its tensors in each
// step.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "recorder/cuda/launch_shapes.hpp"

namespace streamsan::recorder::cuda {

/// Of one kernel and one thread: what its latest launches were given, byte by byte. To see that a hundred addresses are
/// those of a launch before takes a tenth of the time that it takes to look each of them up.
class RepeatedLaunches {
public:
    /// Worth it where a launch has more places than this.
    static constexpr std::size_t many = 16;

    /// A launch that has a shape: what `remember` is told.
    struct Seen {
        const LaunchShape& shape;
        std::span<const PackedPlace> places;
        std::uint8_t round;    ///< of the kernel's variance
        std::uint32_t growth;  ///< of the memory, before the launch was looked at
    };

    /// The shape of a launch that was given the same bytes, but for those that are not told, in which there is no
    /// address now either. Then `arguments` has its references. Null: none was.
    const LaunchShape* find(const Kernel& kernel, const LaunchGiven& given, LaunchArguments& arguments);
    /// Keeps a launch for `find`. Its `arguments` were collected, and none of them comes from bytes that are not told.
    void remember(const Kernel& kernel, const LaunchGiven& given, const LaunchArguments& arguments, const Seen& seen);

private:
    /// Some bytes of one parameter.
    struct Piece {
        std::uint16_t argument;  ///< index of the parameter
        std::uint16_t begin;     ///< in the parameter
        std::uint16_t size;
        bool told;
    };
    struct Launch {
        const LaunchShape* shape = nullptr;
        const Kernel* kernel = nullptr;
        LaunchDimensions dimensions;
        std::uint32_t growth = 0;  ///< of the memory
        std::uint8_t round = 0;
        std::vector<Piece> pieces;
        std::vector<unsigned char> bytes;  ///< of the pieces that are told
        std::vector<Reference> references;

        [[nodiscard]] bool is(const Kernel& of, const LaunchGiven& given) const;
    };

    static constexpr std::size_t most = 16;
    /// A kernel whose launches do not come again is left alone for a while.
    static constexpr std::uint32_t most_in_vain = 64;
    static constexpr std::uint32_t pause = 1024;

    std::vector<Launch> launches_;  ///< in the order in which they came, so mostly the order in which they come again
    std::size_t next_ = 0;
    std::uint32_t in_vain_ = 0;  ///< how many more were remembered than found
    std::uint32_t paused_ = 0;   ///< launches that are not remembered yet
};

}  // namespace streamsan::recorder::cuda
