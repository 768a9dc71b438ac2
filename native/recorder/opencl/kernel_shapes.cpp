#include "recorder/opencl/kernel_shapes.hpp"

#include <algorithm>
#include <cstring>

#include "recorder/launch_path.hpp"
#include "recorder/opencl/recorder.hpp"

namespace streamsan::recorder::opencl {
namespace {

/// Of one kernel with all their numbers: who goes over an array by offsets has another one each time.
constexpr std::size_t most_told = 128;
constexpr std::size_t most_shapes = 192;
constexpr GlobalOffset no_offset{};

bool same_places(std::span<const PackedPlace> one, std::span<const PackedPlace> other) {
    return std::ranges::equal(one, other, [](const PackedPlace& left, const PackedPlace& right) {
        return left.reference == right.reference && left.offset == right.offset;
    });
}

/// Arguments are the offset's three words and the numbers, or none where there are neither; `told`: whether offset,
/// sizes and numbers are said.
std::uint32_t add(std::uint32_t name, std::uint32_t code, const LaunchNumbers& launch, bool told) {
    PackedLaunchShape head{};
    head.symbol = name;
    head.code = code;
    std::vector<PackedPlace> entries(launch.places.begin(), launch.places.end());
    if (!told) {
        entries.push_back({not_told, 0});
        entries.push_back({not_told, sizeof launch.offset});
    } else {
        std::ranges::copy(launch.sizes.items, head.grid);
        std::ranges::copy(launch.sizes.group, head.block);
    }
    const bool arguments = !told || launch.offset != no_offset || !launch.numbers.empty();
    const std::size_t bytes = sizeof launch.offset + (told ? launch.numbers.size_bytes() : 0);
    head.places = static_cast<std::uint16_t>(entries.size());
    head.arguments = static_cast<std::uint16_t>(arguments ? bytes : 0);
    std::string content(entries.size() * sizeof(PackedPlace), '\0');
    if (!entries.empty()) std::memcpy(content.data(), entries.data(), content.size());
    if (arguments) {
        const GlobalOffset& said = told ? launch.offset : no_offset;
        content.append(reinterpret_cast<const char*>(said.data()), sizeof said);
        if (told) content.append(reinterpret_cast<const char*>(launch.numbers.data()), launch.numbers.size_bytes());
    }
    return recorder()->writer->launch_shape(head, content);
}

}  // namespace

std::uint32_t KernelShapes::code_of(const ProgramBuilds& builds, Word device) {
    for (const auto& [known, code] : codes_)
        if (known == device) return code;
    codes_.emplace_back(device, code_names(images_for(builds, device)));
    return codes_.back().second;
}

STREAMSAN_LAUNCH_PATH std::uint32_t KernelShapes::of(std::uint32_t name, const ProgramBuilds& builds, Word device,
                                                     const LaunchNumbers& launch) {
    const std::uint32_t code = code_of(builds, device);
    const auto find = [&](const LaunchNumbers& wanted) {
        const auto found = std::ranges::find_if(shapes_, [&](const Shape& shape) {
            return shape.code == code && shape.offset == wanted.offset && shape.sizes == wanted.sizes &&
                   same_places(shape.places, wanted.places) && std::ranges::equal(shape.numbers, wanted.numbers);
        });
        if (found != shapes_.end() && found != shapes_.begin()) std::iter_swap(found, shapes_.begin());
        return found != shapes_.end() ? shapes_.front().id : 0;
    };
    if (const std::uint32_t id = find(launch); id != 0) return id;
    // Stands for any offset, sizes and numbers that are not said: no launch has it.
    constexpr GlobalOffset any{~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}};
    const bool told = shapes_.size() < most_told;
    const LaunchNumbers said = told ? launch : LaunchNumbers{any, {}, launch.places, {}};
    if (!told) {
        if (const std::uint32_t id = find(said); id != 0) return id;
        if (shapes_.size() >= most_shapes) return 0;
    }
    const std::uint32_t id = add(name, code, said, told);
    if (id != 0)
        shapes_.insert(shapes_.begin(), {{said.places.begin(), said.places.end()},
                                         {said.numbers.begin(), said.numbers.end()},
                                         said.offset,
                                         said.sizes,
                                         code,
                                         id});
    return id;
}

}  // namespace streamsan::recorder::opencl
