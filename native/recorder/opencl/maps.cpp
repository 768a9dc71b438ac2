// Mappings: from the map to the unmap the region is the host's.
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "recorder/opencl/commands.hpp"
#include "recorder/opencl/mappings.hpp"
#include "recorder/opencl/memory.hpp"

namespace streamsan::recorder::opencl {
namespace {

/// What is mapped, by the object (0: shared virtual memory) and the pointer; the same may be mapped several times.
struct Mappings {
    std::mutex mutex;
    std::multimap<std::pair<Word, Word>, Mapping> all;
    /// What was ever mapped of objects that may be alive, by pointer.
    struct Place {
        std::uint64_t size;
        std::weak_ptr<Storage> storage;
    };
    std::map<Word, Place> places;
};

Mappings*& mappings() {
    static Mappings* all = new Mappings;
    return all;
}

constexpr std::size_t most_mapped_places = 1024;

bool is_gone(const Mappings::Place& place) {
    const auto storage = place.storage.lock();
    return storage == nullptr || storage->holders.load() == 0;
}

AccessMode mode_of(Word flags) {
    const bool reads = (flags & abi::CL_MAP_READ) != 0;
    const bool writes = (flags & (abi::CL_MAP_WRITE | abi::CL_MAP_WRITE_INVALIDATE_REGION)) != 0;
    if (reads && writes) return AccessMode::READ_WRITE;
    return writes ? AccessMode::WRITE : AccessMode::READ;
}

void map_buffer(Call& call) {
    using namespace parameter::clEnqueueMapBuffer;
    begin_map(call, part_of_buffer(call[buffer], call[offset], call[size], AccessMode::READ), call[map_flags]);
}

void buffer_mapped(Call& call) {
    using namespace parameter::clEnqueueMapBuffer;
    end_map(call, call[buffer], call.result, call[size],
            part_of_buffer(call[buffer], call[offset], call[size], mode_of(call[map_flags])));
}

void map_image(Call& call) {
    using namespace parameter::clEnqueueMapImage;
    const MemoryInfo there = live().memory.find(call[image]).value_or(MemoryInfo{});
    begin_map(call, region_of_image(there, call[origin], call[region], AccessMode::READ), call[map_flags]);
}

/// How many bytes the host sees: to the end of the last row, in the pitches that the runtime chose.
std::uint64_t bytes_of_image_map(const Call& call, const MemoryInfo& there) {
    using namespace parameter::clEnqueueMapImage;
    const auto [columns, rows, slices] = read_triple(call[region]);
    const std::uint64_t row = read_word(call[image_row_pitch]);
    const std::uint64_t slice = read_word(call[image_slice_pitch]);
    if (columns == 0 || rows == 0 || slices == 0) return 0;
    return (slices - 1) * slice + (rows - 1) * row + columns * there.image.element;
}

void image_mapped(Call& call) {
    using namespace parameter::clEnqueueMapImage;
    const MemoryInfo there = live().memory.find(call[image]).value_or(MemoryInfo{});
    end_map(call, call[image], call.result, bytes_of_image_map(call, there),
            region_of_image(there, call[origin], call[region], mode_of(call[map_flags])));
}

void unmap(Call& call) {
    using namespace parameter::clEnqueueUnmapMemObject;
    begin_unmap(call, call[memobj], call[mapped_ptr]);
}

}  // namespace

void begin_map(Call& call, Reference region, Word flags) {
    const bool reads = (flags & abi::CL_MAP_WRITE_INVALIDATE_REGION) == 0;
    const Reference both[] = {{0, 0, static_cast<std::uint8_t>(AccessMode::WRITE)},
                              reads ? region : Reference{0, 0, static_cast<std::uint8_t>(AccessMode::READ)}};
    write_command(call, OperationKind::COPY, wait_of(call), both, 2);
}

void end_map(Call& call, Word object, Word pointer, std::uint64_t size, Reference region) {
    complete(call, is_blocking(call));
    if (pointer != 0 && call.succeeded()) {
        const Mapping mapping{region};
        {
            const std::lock_guard lock(mappings()->mutex);
            mappings()->all.emplace(std::pair{object, pointer}, mapping);
            if (const auto memory = live().memory.find(object)) {
                if (mappings()->places.size() >= most_mapped_places)
                    std::erase_if(mappings()->places, [](const auto& entry) { return is_gone(entry.second); });
                mappings()->places[pointer] = {size, memory->storage};
            }
        }
        const Reference both[] = {{pointer, size, 0}, region};
        write_returned(call, OperationKind::ALLOC, MemoryKind::CL_MAPPED, queue_of(call), 0, both, 2);
    }
    tell_of_event(call);
}

void begin_unmap(Call& call, Word object, Word pointer) {
    write_waits(call);
    const Reference freed{pointer, 0, 0};
    write_before(call, OperationKind::FREE, FreeClass::CL_UNMAP, queue_of(call), 0, &freed, 1);
    Reference region{0, 0, static_cast<std::uint8_t>(AccessMode::READ)};
    {
        const std::lock_guard lock(mappings()->mutex);
        const auto found = mappings()->all.find({object, pointer});
        if (found != mappings()->all.end()) {
            region = found->second.region;
            mappings()->all.erase(found);
        }
    }
    const auto mode = static_cast<AccessMode>(region.mode_flags & static_cast<std::uint8_t>(AccessMode::READ_WRITE));
    if (mode == AccessMode::READ) {
        write_entered(call, OperationKind::QUEUE_MARKER, MarkerKind::WAIT_LIST, queue_of(call), 0);
        return;
    }
    region.mode_flags = static_cast<std::uint8_t>((region.mode_flags & ~static_cast<std::uint8_t>(AccessMode::READ)) |
                                                  static_cast<std::uint8_t>(AccessMode::WRITE));
    const Reference both[] = {region, {0, 0, static_cast<std::uint8_t>(AccessMode::READ)}};
    write_entered(call, OperationKind::COPY, WaitClass::NONE, queue_of(call), 0, both, 2);
}

bool lies_in_mapping(Word address) {
    const std::lock_guard lock(mappings()->mutex);
    const auto next = mappings()->places.upper_bound(address);
    if (next == mappings()->places.begin()) return false;
    const auto& [pointer, place] = *std::prev(next);
    return address - pointer < place.size && !is_gone(place);
}

void mappings_after_fork() { mappings() = new Mappings; }

void register_maps(HandlerTable& table) {
    table.on(Function::clEnqueueMapBuffer, {map_buffer, buffer_mapped});
    table.on(Function::clEnqueueMapImage, {map_image, image_mapped});
    table.on(Function::clEnqueueUnmapMemObject, {unmap, end_command});
}

}  // namespace streamsan::recorder::opencl
