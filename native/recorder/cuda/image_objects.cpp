// Texture and surface objects: numbers by which kernels reach memory. Which memory, only the call that makes one says.
#include "recorder/cuda/image_objects.hpp"

#include <algorithm>
#include <new>

#include "recorder/cuda/abi_memory.hpp"
#include "recorder/cuda/arrays.hpp"
#include "recorder/cuda/extents.hpp"
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/live_memory.hpp"
#include "recorder/cuda/memory_parts.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {
namespace {

/// What an object leads to. A size of 0: some of the allocation at the address, where nobody says.
struct ImageMemory {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::uint64_t texel = 0;  ///< bytes; 0: not known
};

std::uint64_t texel_bytes(std::uint32_t format, std::uint32_t channels) {
    return format_bytes(format) * std::min<std::uint64_t>(channels, 4);
}

ImageMemory memory_behind(const abi::ResourceDescription& made_of, bool viewed) {
    using Type = abi::ResourceDescription::Type;
    switch (made_of.type) {
        case Type::linear:
            return {made_of.linear.address, made_of.linear.bytes,
                    texel_bytes(made_of.linear.format, made_of.linear.channels)};
        case Type::pitched: {
            const auto& image = made_of.pitched;
            const std::uint64_t texel = texel_bytes(image.format, image.channels);
            if (texel == 0 || image.height == 0) return {image.address, 0, texel};
            return {image.address, sum(product(image.height - 1, image.pitch), product(image.width, texel)), texel};
        }
        case Type::array:
        case Type::mipmapped_array: {
            const auto place = arrays().find(made_of.array);
            if (!place) return {};
            // Of one with levels, or of a view, the first texel may be of any level or layer.
            const bool first = made_of.type == Type::array && !viewed;
            return {place->base, first ? place->size : 0, first ? place->element : 0};
        }
    }
    return {};
}

HandleKind sort_of(const Call& call) {
    return call.callback->name.starts_with("cuTex") ? HandleKind::TEXTURE : HandleKind::SURFACE;
}

void exit_create(ThreadState& state, Call& call) {
    constexpr std::size_t made_of_position = 1;
    constexpr std::size_t view_position = 3;
    constexpr std::uint64_t largest = (std::uint64_t{1} << 56) - 1;
    const auto* const made_of = reinterpret_cast<const abi::ResourceDescription*>(call.word(made_of_position));
    const auto* const number = reinterpret_cast<const std::uint64_t*>(call.word(0));
    if (call.status != abi::success || made_of == nullptr || number == nullptr) return;
    const bool viewed = sort_of(call) == HandleKind::TEXTURE && call.word(view_position) != 0;
    const ImageMemory memory = memory_behind(*made_of, viewed);
    const std::uint64_t size = memory.size > largest ? 0 : memory.size;
    const Reference behind{memory.address, size | memory.texel << 56, 0};
    Slot* const slot =
        prepare_returned(state, call, OperationKind::HANDLE_CREATE, sort_of(call), 0, *number, &behind, 1);
    if (slot == nullptr) return;
    if (rotates()) image_objects().add(call.context, *slot);
    commit_prepared(state);
}

void enter_destroy(ThreadState& state, Call& call) {
    const std::uint64_t object = call.word(0);
    if (prepare_entered(state, call, OperationKind::HANDLE_DESTROY, sort_of(call), 0, object) == nullptr) return;
    image_objects().remove(call.context, object);
    commit_prepared(state);
}

}  // namespace

void ImageObjects::add(std::uint64_t context, const Slot& slot) {
    const std::lock_guard lock(mutex_);
    alive_.insert_or_assign({context, slot.object}, slot);
}

void ImageObjects::remove(std::uint64_t context, std::uint64_t object) {
    const std::lock_guard lock(mutex_);
    alive_.erase({context, object});
}

void ImageObjects::lose_context(std::uint64_t context) {
    const std::lock_guard lock(mutex_);
    std::erase_if(alive_, [context](const auto& entry) { return entry.first.first == context; });
}

void ImageObjects::restate(Lane& lane) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, known] : alive_) {
        Slot* const slot = lane.reserve(0);
        if (slot == nullptr) return;
        *slot = known;
        slot->api = 0;
        lane.commit();
    }
}

void ImageObjects::after_fork() {
    new (&mutex_) std::mutex;  // another thread of the parent may have held it
    alive_.clear();
}

ImageObjects& image_objects() {
    static auto* const all = new ImageObjects;
    return *all;
}

void register_images(HandlerTable& table) {
    for (const std::string_view name : {"cuTexObjectCreate", "cuSurfObjectCreate"})
        table.on(name, {nullptr, exit_create});
    for (const std::string_view name : {"cuTexObjectDestroy", "cuSurfObjectDestroy"})
        table.on(name, {enter_destroy, exit_plain});
}

}  // namespace streamsan::recorder::cuda
