// Command buffers (cl_khr_command_buffer): commands that are recorded once and enqueued again and again.
//
// On a queue in order the commands of an enqueued buffer are told one by one. On another one, and where a buffer has
// several queues, they are told as one launch that uses what they use: how its commands are ordered is not looked at.
#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "recorder/opencl/commands.hpp"
#include "recorder/opencl/kernels.hpp"
#include "recorder/opencl/live_objects.hpp"
#include "recorder/opencl/memory.hpp"
#include "recorder/opencl/releases.hpp"

namespace streamsan::recorder::opencl {

/// A command as it will run.
struct BufferedCommand {
    OperationKind kind{};
    std::uint32_t name = 0;   ///< string id of a kernel's function
    std::uint64_t shape = 0;  ///< of a launch
    std::vector<Reference> references;
    std::vector<Word> sub_buffers;  ///< that a kernel was given
};

struct CommandBuffer {
    std::mutex mutex;
    Word queue = 0;  ///< where it runs when no other is named
    bool one_queue = true;
    bool known = true;  ///< false: its commands were changed
    std::vector<BufferedCommand> commands;
    /// What copies and fills name is held until the command buffer ends; what kernels were given is not.
    std::vector<std::shared_ptr<Storage>> held;
};

namespace {

std::shared_ptr<CommandBuffer> buffer_of(Word handle) {
    return live().command_buffers.find(handle).value_or(CommandBufferInfo{}).buffer;
}

void tell_of_command_buffer(Call& call, std::shared_ptr<CommandBuffer> made) {
    const Word context = live().queues.find(made->queue).value_or(QueueInfo{}).context;
    live().command_buffers.made(call.result, {std::move(made)});
    write_handle(call, HandleKind::COMMAND_BUFFER, call.result, context);
}

void command_buffer_made(Call& call) {
    using namespace parameter::clCreateCommandBufferKHR;
    if (call.result == 0) return;
    auto made = std::make_shared<CommandBuffer>();
    const auto count = static_cast<std::uint32_t>(call[num_queues]);
    made->queue = count != 0 && call[queues] != 0 ? read_word(call[queues]) : 0;
    made->one_queue = count <= 1;
    tell_of_command_buffer(call, std::move(made));
}

void add_command(const Call& call, BufferedCommand command, std::initializer_list<Word> objects = {}) {
    constexpr std::size_t most_commands = 1 << 16;
    const auto buffer = buffer_of(call[0]);
    if (buffer == nullptr) return;
    const std::lock_guard lock(buffer->mutex);
    if (buffer->commands.size() >= most_commands) {
        buffer->known = false;
        return;
    }
    for (const Word object : objects) {
        const auto memory = live().memory.find(object);
        if (!memory || memory->storage == nullptr) continue;
        memory->storage->holders.fetch_add(1);
        buffer->held.push_back(memory->storage);
    }
    buffer->commands.push_back(std::move(command));
}

/// Since version 0.9.5 a list of properties stands before the operands. Which it is the first operand tells: an object.
/// -1: neither is known.
int operands_moved(const Call& call) {
    if (live().memory.standing(call[2]) != Standing::unknown) return 0;
    return live().memory.standing(call[3]) != Standing::unknown ? 1 : -1;
}

/// The arguments of a command, by the names that they have in the older version.
class Operands {
public:
    Operands(const Call& call, int moved) : call_(call), moved_(static_cast<unsigned>(moved)) {}
    Word operator[](unsigned position) const { return call_[position + moved_]; }

private:
    const Call& call_;
    unsigned moved_;
};

/// After a call that has recorded a command: `record` is given its operands.
template <auto record>
void commanded(Call& call) {
    const int moved = operands_moved(call);
    if (call.succeeded() && moved >= 0) record(call, Operands(call, moved));
}

Word address_of_object(Word object) { return live().memory.find(object).value_or(MemoryInfo{}).address; }
MemoryInfo image_info(Word image) { return live().memory.find(image).value_or(MemoryInfo{}); }

BufferedCommand buffered_copy(const Reference& to, const Reference& from) {
    return {OperationKind::COPY, 0, 0, {to, from}, {}};
}

/// The bytes of an image's region in a buffer, tight.
Reference tight_region(const MemoryInfo& image, Word buffer, std::uint64_t offset, Word region, AccessMode mode) {
    const auto [columns, rows, slices] = read_triple(region);
    return part_of_buffer(buffer, offset, columns * image.image.element * rows * slices, mode);
}

void copy_command(const Call& call, const Operands& given) {
    using namespace parameter::clCommandCopyBufferKHR;
    add_command(call,
                buffered_copy(part_of_buffer(given[dst_buffer], given[dst_offset], given[size], AccessMode::WRITE),
                              part_of_buffer(given[src_buffer], given[src_offset], given[size], AccessMode::READ)),
                {given[dst_buffer], given[src_buffer]});
}

void rectangle_command(const Call& call, const Operands& given) {
    using namespace parameter::clCommandCopyBufferRectKHR;
    add_command(call,
                buffered_copy(rectangle_at(address_of_object(given[dst_buffer]), given[dst_origin], given[region],
                                           given[dst_row_pitch], given[dst_slice_pitch], AccessMode::WRITE),
                              rectangle_at(address_of_object(given[src_buffer]), given[src_origin], given[region],
                                           given[src_row_pitch], given[src_slice_pitch], AccessMode::READ)),
                {given[dst_buffer], given[src_buffer]});
}

void image_command(const Call& call, const Operands& given) {
    using namespace parameter::clCommandCopyImageKHR;
    add_command(call,
                buffered_copy(
                    region_of_image(image_info(given[dst_image]), given[dst_origin], given[region], AccessMode::WRITE),
                    region_of_image(image_info(given[src_image]), given[src_origin], given[region], AccessMode::READ)),
                {given[dst_image], given[src_image]});
}

void to_image_command(const Call& call, const Operands& given) {
    using namespace parameter::clCommandCopyBufferToImageKHR;
    const MemoryInfo to = image_info(given[dst_image]);
    add_command(call,
                buffered_copy(region_of_image(to, given[dst_origin], given[region], AccessMode::WRITE),
                              tight_region(to, given[src_buffer], given[src_offset], given[region], AccessMode::READ)),
                {given[dst_image], given[src_buffer]});
}

void from_image_command(const Call& call, const Operands& given) {
    using namespace parameter::clCommandCopyImageToBufferKHR;
    const MemoryInfo from = image_info(given[src_image]);
    add_command(
        call,
        buffered_copy(tight_region(from, given[dst_buffer], given[dst_offset], given[region], AccessMode::WRITE),
                      region_of_image(from, given[src_origin], given[region], AccessMode::READ)),
        {given[dst_buffer], given[src_image]});
}

void fill_command(const Call& call, const Operands& given) {
    using namespace parameter::clCommandFillBufferKHR;
    const Reference filled = part_of_buffer(given[buffer], given[offset], given[size], AccessMode::WRITE);
    add_command(call, {OperationKind::MEMSET, 0, 0, {filled}, {}}, {given[buffer]});
}

void fill_image_command(const Call& call, const Operands& given) {
    using namespace parameter::clCommandFillImageKHR;
    const Reference filled = region_of_image(image_info(given[image]), given[origin], given[region], AccessMode::WRITE);
    add_command(call, {OperationKind::MEMSET, 0, 0, {filled}, {}}, {given[image]});
}

void shared_copy_command(Call& call) {
    using namespace parameter::clCommandSVMMemcpyKHR;
    if (!call.succeeded()) return;
    add_command(call,
                buffered_copy(host_memory({call[dst_ptr], call[size], static_cast<std::uint8_t>(AccessMode::WRITE)}),
                              host_memory({call[src_ptr], call[size], static_cast<std::uint8_t>(AccessMode::READ)})));
}

void shared_fill_command(Call& call) {
    using namespace parameter::clCommandSVMMemFillKHR;
    if (!call.succeeded() || call[size] == 0) return;
    const Reference filled{call[svm_ptr], call[size], static_cast<std::uint8_t>(AccessMode::WRITE)};
    add_command(call, {OperationKind::MEMSET, 0, 0, {filled}, {}});
}

/// The commands of another one, for other queues.
void command_buffer_remapped(Call& call) {
    using namespace parameter::clRemapCommandBufferKHR;
    if (call.result == 0) return;
    auto made = std::make_shared<CommandBuffer>();
    const auto count = static_cast<std::uint32_t>(call[num_queues]);
    made->queue = count != 0 && call[queues] != 0 ? read_word(call[queues]) : 0;
    made->one_queue = count <= 1;
    made->known = false;
    if (const auto source = buffer_of(call[command_buffer]); source != nullptr) {
        const std::lock_guard lock(source->mutex);
        made->known = source->known;
        made->commands = source->commands;
        made->held = source->held;
        for (const auto& storage : made->held) storage->holders.fetch_add(1);
    }
    tell_of_command_buffer(call, std::move(made));
}

/// A kernel is recorded with the arguments that it has now.
void kernel_command(Call& call) {
    using namespace parameter::clCommandNDRangeKernelKHR;
    if (!call.succeeded() || is_empty(call[global_work_size], call[work_dim])) return;
    const auto buffer = buffer_of(call[command_buffer]);
    const Word queue = call[command_queue] != 0 || buffer == nullptr ? call[command_queue] : buffer->queue;
    HeldMemory held = held_by(call[kernel], queue, offset_at(call[global_work_offset], call[work_dim]),
                              sizes_at(call[global_work_size], call[local_work_size], call[work_dim]));
    add_command(
        call, {OperationKind::LAUNCH, held.name, held.shape, std::move(held.references), std::move(held.sub_buffers)});
}

void commands_updated(Call& call) {
    const auto buffer = buffer_of(call[0]);
    if (buffer == nullptr) return;
    const std::lock_guard lock(buffer->mutex);
    buffer->known = false;
}

using WrittenSlots = std::vector<Slot*>;

/// One by one; what is written is completed when the call returns.
void write_commands(Call& call, Word queue, const CommandBuffer& buffer, WrittenSlots& written) {
    std::unordered_map<std::uint32_t, std::uint32_t> sites;
    for (const BufferedCommand& command : buffer.commands) {
        call.label = command.name;
        call.site = sites[command.name];
        for (const Word part : command.sub_buffers)
            if (live().memory.standing(part) == Standing::dead)
                write_before(call, OperationKind::HANDLE_USE, HandleKind::SUB_BUFFER, 0, part);
        written.push_back(write_entered(call, command.kind, WaitClass::NONE, queue, command.shape << 32,
                                        command.references.data(), command.references.size()));
        sites[command.name] = call.site;
    }
    call.slot = nullptr;
}

void write_as_one(Call& call, Word queue, const CommandBuffer* buffer) {
    std::vector<Reference> references;
    if (buffer != nullptr && buffer->known) {
        for (const BufferedCommand& command : buffer->commands)
            references.insert(references.end(), command.references.begin(), command.references.end());
    }
    // A launch has no rows, and nothing in the place of a memory that is not known.
    std::erase_if(references, [](const Reference& each) { return each.address == 0; });
    for (Reference& each : references) {
        if (each.rows == 0) continue;
        each = {each.address, 0,
                static_cast<std::uint8_t>(each.mode_flags & ~static_cast<std::uint8_t>(SlotFlag::STRIDED))};
    }
    write_entered(call, OperationKind::LAUNCH, WaitClass::NONE, queue, 0, references.data(), references.size());
}

void enqueue_command_buffer(Call& call) {
    using namespace parameter::clEnqueueCommandBufferKHR;
    const auto buffer = buffer_of(call[command_buffer]);
    Word queue = static_cast<std::uint32_t>(call[num_queues]) != 0 && call[queues] != 0 ? read_word(call[queues]) : 0;
    if (queue == 0 && buffer != nullptr) queue = buffer->queue;
    call.scratch[0] = queue;
    for (Word position = 0;
         call[event_wait_list] != 0 && position < static_cast<std::uint32_t>(call[num_events_in_wait_list]); ++position)
        write_before(call, OperationKind::STREAM_WAIT_EVENT, 0, queue,
                     read_word(call[event_wait_list] + position * sizeof(Word)));
    write_before(call, OperationKind::HANDLE_USE, HandleKind::COMMAND_BUFFER, 0, call[command_buffer]);
    if (buffer == nullptr) return write_as_one(call, queue, nullptr);
    const std::lock_guard lock(buffer->mutex);
    const bool in_order = !live().queues.find(queue).value_or(QueueInfo{}).out_of_order;
    if (!in_order || !buffer->one_queue || !buffer->known) return write_as_one(call, queue, buffer.get());
    if (buffer->commands.empty()) {
        write_entered(call, OperationKind::QUEUE_MARKER, MarkerKind::WAIT_LIST, queue, 0);
        return;
    }
    auto written = std::make_unique<WrittenSlots>();
    write_commands(call, queue, *buffer, *written);
    call.scratch[1] = reinterpret_cast<Word>(written.release());
}

void command_buffer_enqueued(Call& call) {
    using namespace parameter::clEnqueueCommandBufferKHR;
    complete(call);
    const std::unique_ptr<WrittenSlots> written(reinterpret_cast<WrittenSlots*>(call.scratch[1]));
    for (std::size_t number = 0; written != nullptr && number < written->size(); ++number) {
        call.slot = (*written)[number];
        complete(call);
    }
    if (!call.succeeded() || call[event] == 0) return;
    const Word given = read_word(call[event]);
    live().events.made(given, {});
    write_returned(call, OperationKind::EVENT_CREATE, EventKind::COMMAND, 0, given);
    write_returned(call, OperationKind::EVENT_RECORD, 0, call.scratch[0], given);
}

void release_command_buffer(Call& call) {
    const auto buffer = buffer_of(call[0]);
    const Release release =
        begin_release(call, live().command_buffers,
                      {OperationKind::HANDLE_DESTROY, HandleKind::COMMAND_BUFFER, abi::CL_INVALID_COMMAND_BUFFER_KHR});
    if (release != Release::last || buffer == nullptr) return;
    const std::lock_guard lock(buffer->mutex);
    for (const std::shared_ptr<Storage>& storage : buffer->held) let_go(call, *storage);
    buffer->held.clear();
}

}  // namespace

void register_command_buffers(HandlerTable& table) {
    table.on(Function::clCreateCommandBufferKHR, {nullptr, command_buffer_made});
    table.on(Function::clCommandCopyBufferKHR, {nullptr, commanded<copy_command>});
    table.on(Function::clCommandCopyBufferRectKHR, {nullptr, commanded<rectangle_command>});
    table.on(Function::clCommandCopyImageKHR, {nullptr, commanded<image_command>});
    table.on(Function::clCommandCopyBufferToImageKHR, {nullptr, commanded<to_image_command>});
    table.on(Function::clCommandCopyImageToBufferKHR, {nullptr, commanded<from_image_command>});
    table.on(Function::clCommandFillBufferKHR, {nullptr, commanded<fill_command>});
    table.on(Function::clCommandFillImageKHR, {nullptr, commanded<fill_image_command>});
    table.on(Function::clCommandSVMMemcpyKHR, {nullptr, shared_copy_command});
    table.on(Function::clCommandSVMMemFillKHR, {nullptr, shared_fill_command});
    table.on(Function::clRemapCommandBufferKHR, {nullptr, command_buffer_remapped});
    table.on(Function::clCommandNDRangeKernelKHR, {nullptr, kernel_command});
    table.on(Function::clUpdateMutableCommandsKHR, {nullptr, commands_updated});
    table.on(Function::clEnqueueCommandBufferKHR, {enqueue_command_buffer, command_buffer_enqueued});
    table.on(Function::clRetainCommandBufferKHR,
             {[](Call& call) { begin_retain(call, live().command_buffers, HandleKind::COMMAND_BUFFER); },
              [](Call& call) { end_retain(call, live().command_buffers); }});
    table.on(Function::clReleaseCommandBufferKHR, {release_command_buffer, [](Call& call) { complete(call); }});
}

}  // namespace streamsan::recorder::opencl
