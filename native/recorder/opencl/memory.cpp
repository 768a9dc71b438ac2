#include "recorder/opencl/memory.hpp"

#include <algorithm>
#include <map>

#include "recorder/opencl/commands.hpp"
#include "recorder/opencl/layer.hpp"
#include "recorder/opencl/mappings.hpp"
#include "recorder/opencl/releases.hpp"
#include "recorder/opencl/svm.hpp"
#include "recorder/trace_writer/row_table.hpp"

namespace streamsan::recorder::opencl {
namespace {

/// Objects without a host pointer have no address: each gets a range of its own, which is never given twice.
Word new_range(std::uint64_t size) {
    static std::atomic<Word> next{Word{1} << 60};
    constexpr std::uint64_t granule = 4096;
    const std::uint64_t granules = size / granule + 2;  // a gap follows
    return next.fetch_add(granules * granule, std::memory_order_relaxed);
}

/// Host memory under buffers, by address.
struct HostRanges {
    std::mutex mutex;
    std::map<Word, std::weak_ptr<Storage>> ranges;
};
HostRanges& host_ranges() {
    static HostRanges& all = *new HostRanges;
    return all;
}

std::shared_ptr<Storage> new_storage(Word address, std::uint64_t size, bool told) {
    auto storage = std::make_shared<Storage>();
    storage->address = address;
    storage->size = size;
    storage->told = told;
    return storage;
}

/// The storage of a buffer over host memory: one for all buffers that lie at the same place. Where they overlap
/// otherwise, the later one gets a range of its own.
std::shared_ptr<Storage> host_storage(Word address, std::uint64_t size) {
    if (lies_in_svm(address)) return new_storage(address, size, false);
    HostRanges& all = host_ranges();
    const std::lock_guard lock(all.mutex);
    constexpr std::size_t many = 256;
    if (all.ranges.size() > many) std::erase_if(all.ranges, [](const auto& entry) { return entry.second.expired(); });
    auto next = all.ranges.lower_bound(address);
    if (next != all.ranges.end() && next->first == address) {
        if (auto there = next->second.lock(); there != nullptr && there->holders.load() != 0) {
            if (there->size != size) return new_storage(new_range(size), size, true);
            there->holders.fetch_add(1);
            return there;
        }
    }
    const bool reaches_next = next != all.ranges.end() && next->first != address && next->first < address + size;
    bool reached = false;
    if (next != all.ranges.begin()) {
        const auto before = std::prev(next)->second.lock();
        reached = before != nullptr && before->holders.load() != 0 && before->address + before->size > address;
    }
    if (reaches_next || reached) return new_storage(new_range(size), size, true);
    auto storage = new_storage(address, size, true);
    all.ranges[address] = storage;
    return storage;
}

template <class Value>
Value ask_image(Word image, std::uint32_t what) {
    Value value{};
    below<Function::clGetImageInfo>(image, what, sizeof value, address_of(value), Word{0});
    return value;
}

template <class Value>
Value ask_memory(Word memory, std::uint32_t what) {
    Value value{};
    below<Function::clGetMemObjectInfo>(memory, what, sizeof value, address_of(value), Word{0});
    return value;
}

/// How an image lies in memory: in the program's pitches where that is the program's memory, else tight.
MemoryInfo laid_out(Word image, bool in_given_memory) {
    MemoryInfo info;
    if (ask_image<std::uint32_t>(image, abi::CL_IMAGE_NUM_MIP_LEVELS) > 1) {
        info.size = ask_memory<std::size_t>(image, abi::CL_MEM_SIZE);
        return info;
    }
    const auto element = ask_image<std::size_t>(image, abi::CL_IMAGE_ELEMENT_SIZE);
    const auto width = ask_image<std::size_t>(image, abi::CL_IMAGE_WIDTH);
    const auto height = std::max<std::size_t>(1, ask_image<std::size_t>(image, abi::CL_IMAGE_HEIGHT));
    const auto depth = std::max<std::size_t>(1, ask_image<std::size_t>(image, abi::CL_IMAGE_DEPTH));
    const auto layers = std::max<std::size_t>(1, ask_image<std::size_t>(image, abi::CL_IMAGE_ARRAY_SIZE));
    const bool rows_are_layers = ask_memory<std::uint32_t>(image, abi::CL_MEM_TYPE) == abi::CL_MEM_OBJECT_IMAGE1D_ARRAY;
    const std::size_t rows = rows_are_layers ? layers : height;
    const std::size_t slices = rows_are_layers ? 1 : depth * layers;
    std::size_t row = element * width;
    std::size_t slice = row * rows;
    if (in_given_memory) {
        const auto given_row = ask_image<std::size_t>(image, abi::CL_IMAGE_ROW_PITCH);
        const auto given_slice = ask_image<std::size_t>(image, abi::CL_IMAGE_SLICE_PITCH);
        // Of an array of rows the pitch of layers is called that of slices.
        if (rows_are_layers) row = std::max(row, given_slice);
        else row = std::max(row, given_row);
        slice = std::max(row * rows, rows_are_layers ? 0 : given_slice);
    }
    info.image = {element, row, slice};
    info.size = slice * slices;
    return info;
}

void tell_of_memory(Call& call, Word handle, MemoryInfo info) {
    info.context = call[0];  // of whatever makes memory that is no part of other memory
    info.address = info.storage->address;
    info.size = info.storage->size;
    const bool first = info.storage->told && info.storage->holders.load() == 1;
    live().memory.made(handle, info);
    if (!first) return;
    const Reference memory[] = {{info.address, info.size, 0}, {info.context, 0, 0}};
    write_returned(call, OperationKind::ALLOC, MemoryKind::CL_BUFFER, 0, 0, memory, 2);
}

void buffer_made(Call& call, unsigned flags, unsigned size, unsigned host_pointer) {
    if (call.result != 0) memory_made(call, call.result, call[flags], call[size], call[host_pointer]);
}

/// A part of another object: it holds that object's storage.
void part_made(Call& call, Word handle, Word parent, std::uint64_t offset, std::uint64_t size,
               const ImageLayout& layout) {
    const auto whole = live().memory.find(parent);
    if (!whole || whole->storage == nullptr) return live().memory.forget(handle);
    MemoryInfo info = *whole;
    info.storage->holders.fetch_add(1);
    info.address += offset;
    info.size = size;
    info.part = true;
    info.image = layout;
    live().memory.made(handle, info);
    write_handle(call, HandleKind::SUB_BUFFER, handle, info.context);
}

void sub_buffer_made(Call& call) {
    using namespace parameter::clCreateSubBuffer;
    if (call.result == 0) return;
    if (call[buffer_create_type] != abi::CL_BUFFER_CREATE_TYPE_REGION) return live().memory.forget(call.result);
    const auto region = read_word<abi::BufferRegion>(call[buffer_create_info]);
    part_made(call, call.result, call[buffer], region.origin, region.size, {});
}

void image_made(Call& call, Word flags, Word host_pointer) {
    const Word image = call.result;
    if (image == 0) return;
    if (const Word from = ask_memory<Word>(image, abi::CL_MEM_ASSOCIATED_MEMOBJECT); from != 0) {
        const MemoryInfo laid = laid_out(image, true);
        return part_made(call, image, from, 0, laid.size, laid.image);
    }
    const bool given = (flags & abi::CL_MEM_USE_HOST_PTR) != 0 && host_pointer != 0;
    MemoryInfo info = laid_out(image, given);
    info.storage = given ? host_storage(host_pointer, info.size) : new_storage(new_range(info.size), info.size, true);
    tell_of_memory(call, image, info);
}

/// Of memory that another API made, or that is imported: its size is asked for.
void foreign_made(Call& call) {
    if (call.result == 0) return;
    const bool image = ask_memory<std::uint32_t>(call.result, abi::CL_MEM_TYPE) != abi::CL_MEM_OBJECT_BUFFER;
    MemoryInfo info = image ? laid_out(call.result, false) : MemoryInfo{};
    if (!image) info.size = ask_memory<std::size_t>(call.result, abi::CL_MEM_SIZE);
    info.storage = new_storage(new_range(info.size), info.size, true);
    tell_of_memory(call, call.result, info);
}

void pipe_made(Call& call) {
    using namespace parameter::clCreatePipe;
    if (call.result == 0) return;
    memory_made(call, call.result, 0, call[pipe_packet_size] * call[pipe_max_packets], 0);
}

void free_storage(Call& call, const Storage& storage) {
    if (!storage.told) return;
    const Reference whole{storage.address, storage.destructor_key.load(), 0};
    write_entered(call, OperationKind::FREE, FreeClass::CL_RELEASE, 0, 0, &whole, 1);
}

void release_memory(Call& call) {
    const Word handle = call[0];
    const auto info = live().memory.find(handle);
    const Release release = live().memory.release(handle);
    if (!info || release == Release::unknown || release == Release::left) return;
    if (release == Release::too_many) {
        if (unseen_makers.load(std::memory_order_relaxed)) return;
        call.stopped = true;
        call.result = static_cast<Word>(static_cast<std::int64_t>(abi::CL_INVALID_MEM_OBJECT));
        if (info->part) write_entered(call, OperationKind::HANDLE_DESTROY, HandleKind::SUB_BUFFER, 0, handle);
        else free_storage(call, *info->storage);
        return;
    }
    if (info->part) write_before(call, OperationKind::HANDLE_DESTROY, HandleKind::SUB_BUFFER, 0, handle);
    if (info->storage->holders.fetch_sub(1) == 1) free_storage(call, *info->storage);
}

/// Parts hold what they are parts of: who asks one for it may retain it.
void retain_memory(Call& call) {
    const Word handle = call[0];
    const Standing standing = live().memory.retain(handle);
    call.scratch[0] = standing == Standing::dead ? 1 : 0;
    if (standing != Standing::dead) return;
    const auto info = live().memory.find(handle);
    if (!info || info->storage->holders.load() != 0 || unseen_makers.load(std::memory_order_relaxed)) return;
    const Reference whole{info->address, 0, 0};
    write_entered(call, OperationKind::ALLOC_ATTRIBUTE, 0, 0, 0, &whole, 1);
}

void memory_retained(Call& call) {
    if (call.scratch[0] != 0 && call.succeeded()) {
        const auto info = live().memory.find(call[0]);
        if (info && info->storage->holders.load() != 0) info->storage->holders.fetch_add(1);
    }
    end_retain(call, live().memory);
}

/// Whether an address lies in the memory under a buffer that is alive.
bool lies_under_buffer(Word address) {
    HostRanges& all = host_ranges();
    const std::lock_guard lock(all.mutex);
    auto next = all.ranges.upper_bound(address);
    if (next == all.ranges.begin()) return false;
    const auto storage = std::prev(next)->second.lock();
    return storage != nullptr && storage->holders.load() != 0 && address - storage->address < storage->size;
}

}  // namespace

Reference host_memory(Reference reference) {
    const Word address = reference.address;
    const bool known = lies_in_svm(address) || lies_under_buffer(address) || lies_in_mapping(address);
    if (known && reference.size != 0) return reference;
    return {0, 0, static_cast<std::uint8_t>(reference.mode_flags & static_cast<std::uint8_t>(AccessMode::READ_WRITE))};
}

Reference reference_to(const Box& box, AccessMode mode) {
    const auto flags = static_cast<std::uint8_t>(mode);
    if (box.columns == 0 || box.rows == 0 || box.slices == 0) return {box.address, 0, flags};
    const bool rows_apart = box.rows > 1 && box.row_pitch != box.columns;
    const bool slices_apart = box.slices > 1 && box.slice_pitch != box.rows * box.row_pitch;
    const std::uint64_t bytes = (box.slices - 1) * box.slice_pitch + (box.rows - 1) * box.row_pitch + box.columns;
    if (!rows_apart && !slices_apart) return {box.address, bytes, flags};
    const std::uint32_t number =
        row_table().number_of({box.columns, box.row_pitch, box.rows, box.slice_pitch, box.slices});
    return {box.address, bytes, static_cast<std::uint8_t>(flags | static_cast<std::uint8_t>(SlotFlag::STRIDED)),
            number};
}

std::array<std::uint64_t, 3> read_triple(Word address) {
    if (address == 0) return {0, 0, 0};
    return read_word<std::array<std::uint64_t, 3>>(address);
}

Reference rectangle_at(Word base, Word origin, Word region, std::uint64_t row_pitch, std::uint64_t slice_pitch,
                       AccessMode mode) {
    if (base == 0) return {0, 0, static_cast<std::uint8_t>(mode)};
    const auto [x, y, z] = read_triple(origin);
    const auto [columns, rows, slices] = read_triple(region);
    if (row_pitch == 0) row_pitch = columns;
    if (slice_pitch == 0) slice_pitch = rows * row_pitch;
    return reference_to(Box{base + x + y * row_pitch + z * slice_pitch, columns, rows, slices, row_pitch, slice_pitch},
                        mode);
}

void let_go(Call& call, Storage& storage) {
    if (storage.holders.fetch_sub(1) != 1 || !storage.told) return;
    const Reference whole{storage.address, storage.destructor_key.load(), 0};
    write_before(call, OperationKind::FREE, FreeClass::CL_RELEASE, 0, 0, &whole, 1);
}

Reference region_of_image(const MemoryInfo& image, Word origin, Word region, AccessMode mode) {
    const ImageLayout& layout = image.image;
    if (layout.element == 0) return {image.address, 0, static_cast<std::uint8_t>(mode)};
    const auto [x, y, z] = read_triple(origin);
    const auto [columns, rows, slices] = read_triple(region);
    return reference_to(Box{image.address + x * layout.element + y * layout.row_pitch + z * layout.slice_pitch,
                            columns * layout.element, rows, slices, layout.row_pitch, layout.slice_pitch},
                        mode);
}

Reference part_of_buffer(Word buffer, std::uint64_t offset, std::uint64_t size, AccessMode mode) {
    const auto memory = live().memory.find(buffer);
    if (!memory || size == 0) return {0, 0, static_cast<std::uint8_t>(mode)};
    return {memory->address + offset, size, static_cast<std::uint8_t>(mode)};
}

void write_host_copy(Call& call, const Reference& object, const Reference& host) {
    // Copies that have not ended when their call returns are what others may meet: once there was one, all are told.
    static std::atomic<bool> any_goes_on{false};
    const bool goes_on = !is_blocking(call);
    if (goes_on) any_goes_on.store(true, std::memory_order_relaxed);
    const bool into_host = (host.mode_flags & static_cast<std::uint8_t>(AccessMode::WRITE)) != 0;
    const Reference named = host_memory(host);
    const Reference all[] = {
        into_host ? named : object,
        into_host ? object : named,
        {host.address, host.size,
         static_cast<std::uint8_t>(host.mode_flags | static_cast<std::uint8_t>(SlotFlag::HOST_SIDE))}};
    const bool plain = host.rows == 0 && host.address != 0 && host.size != 0;
    const bool aside = named.address == 0 && plain && any_goes_on.load(std::memory_order_relaxed);
    write_command(call, OperationKind::COPY, wait_of(call), all, aside ? 3 : 2);
}

void memory_made(Call& call, Word handle, Word flags, std::uint64_t size, Word host_pointer) {
    MemoryInfo info;
    const bool given = (flags & abi::CL_MEM_USE_HOST_PTR) != 0 && host_pointer != 0;
    info.storage = given ? host_storage(host_pointer, size) : new_storage(new_range(size), size, true);
    tell_of_memory(call, handle, info);
}

void register_memory(HandlerTable& table) {
    table.on(Function::clCreateBuffer, {nullptr, [](Call& call) {
                                            using namespace parameter::clCreateBuffer;
                                            buffer_made(call, flags, size, host_ptr);
                                        }});
    for (const Function function :
         {Function::clCreateBufferWithProperties, Function::clCreateBufferWithPropertiesINTEL})
        table.on(function, {nullptr, [](Call& call) {
                                using namespace parameter::clCreateBufferWithProperties;
                                buffer_made(call, flags, size, host_ptr);
                            }});
    table.on(Function::clCreateSubBuffer, {nullptr, sub_buffer_made});
    table.on(Function::clCreatePipe, {nullptr, pipe_made});
    table.on(Function::clCreateImage, {nullptr, [](Call& call) {
                                           using namespace parameter::clCreateImage;
                                           image_made(call, call[flags], call[host_ptr]);
                                       }});
    table.on(Function::clCreateImageWithProperties, {nullptr, [](Call& call) {
                                                         using namespace parameter::clCreateImageWithProperties;
                                                         image_made(call, call[flags], call[host_ptr]);
                                                     }});
    table.on(Function::clCreateImage2D, {nullptr, [](Call& call) {
                                             using namespace parameter::clCreateImage2D;
                                             image_made(call, call[flags], call[host_ptr]);
                                         }});
    table.on(Function::clCreateImage3D, {nullptr, [](Call& call) {
                                             using namespace parameter::clCreateImage3D;
                                             image_made(call, call[flags], call[host_ptr]);
                                         }});
    for (const Function function :
         {Function::clCreateFromGLBuffer, Function::clCreateFromGLTexture, Function::clCreateFromGLTexture2D,
          Function::clCreateFromGLTexture3D, Function::clCreateFromGLRenderbuffer, Function::clCreateFromEGLImageKHR,
          Function::clImportMemoryARM, Function::clCreateFromVA_APIMediaSurfaceINTEL})
        table.on(function, {nullptr, foreign_made});
    table.on(Function::clRetainMemObject, {retain_memory, memory_retained});
    table.on(Function::clReleaseMemObject, {release_memory, [](Call& call) { complete(call); }});
}

}  // namespace streamsan::recorder::opencl
