#include "recorder/opencl/kernels.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>

#include "recorder/launch_path.hpp"
#include "recorder/opencl/commands.hpp"
#include "recorder/opencl/device_addresses.hpp"
#include "recorder/opencl/layer.hpp"
#include "recorder/opencl/prepared_launches.hpp"
#include "recorder/opencl/processes.hpp"
#include "recorder/opencl/releases.hpp"

namespace streamsan::recorder::opencl {
namespace {

constexpr std::size_t most_arguments = 1024;
constexpr std::size_t most_held_pointers = 4096;
constexpr std::size_t longest_name = 1024;

std::shared_ptr<Kernel> kernel_of(Word handle) {
    const auto found = live().kernels.find(handle);
    return found ? found->kernel : nullptr;
}

std::string name_of(Word kernel) {
    std::array<char, longest_name> text{};
    const std::int32_t status = below<Function::clGetKernelInfo>(kernel, abi::CL_KERNEL_FUNCTION_NAME, text.size() - 1,
                                                                 reinterpret_cast<Word>(text.data()), Word{0});
    return status == abi::CL_SUCCESS ? std::string(text.data()) : std::string();
}

void tell_of_kernel(Call& call, Word handle, std::shared_ptr<Kernel> kernel, Word context) {
    live().kernels.made(handle, {std::move(kernel), context});
    kernel_changed(handle);
    write_handle(call, HandleKind::KERNEL, handle, context);
}

void new_kernel(Call& call, Word handle, ProgramBuilds builds, Word context) {
    auto kernel = std::make_shared<Kernel>();
    kernel->builds = std::move(builds);
    kernel->name = recorder()->writer->string(name_of(handle));
    tell_of_kernel(call, handle, std::move(kernel), context);
}

Word context_of(Word program) { return live().programs.find(program).value_or(ProgramInfo{}).context; }

void kernel_made(Call& call) {
    const Word program = call[parameter::clCreateKernel::program];
    if (call.result != 0) new_kernel(call, call.result, builds_of(program), context_of(program));
}

void kernels_made(Call& call) {
    using namespace parameter::clCreateKernelsInProgram;
    if (!call.succeeded() || call[kernels] == 0) return;
    const Word count = call.scratch[0];
    for (Word position = 0; position < count; ++position) {
        if (const Word handle = read_word(call[kernels] + position * sizeof(Word)); handle != 0)
            new_kernel(call, handle, builds_of(call[program]), context_of(call[program]));
    }
}

/// How many it will make is known to the program only if it asks; we ask the program object.
void kernels_wanted(Call& call) {
    using namespace parameter::clCreateKernelsInProgram;
    std::size_t count = 0;
    const std::int32_t status = below<Function::clGetProgramInfo>(call[program], abi::CL_PROGRAM_NUM_KERNELS,
                                                                  sizeof count, address_of(count), Word{0});
    call.scratch[0] = status == abi::CL_SUCCESS ? std::min<Word>(count, call[num_kernels]) : 0;
    if (status != abi::CL_SUCCESS) unseen_makers.store(true, std::memory_order_relaxed);
}

/// A copy has the arguments of the kernel it is made from (5.9.1).
void kernel_cloned(Call& call) {
    if (call.result == 0) return;
    const KernelInfo original = live().kernels.find(call[0]).value_or(KernelInfo{});
    const std::shared_ptr<Kernel>& from = original.kernel;
    if (from == nullptr) return new_kernel(call, call.result, {}, 0);
    auto kernel = std::make_shared<Kernel>();
    {
        const std::lock_guard lock(from->mutex);
        kernel->name = from->name;
        kernel->arguments = from->arguments;
        kernel->pointers = from->pointers;
        kernel->builds = from->builds;
    }
    tell_of_kernel(call, call.result, std::move(kernel), original.context);
}

template <class Value>
bool ask(Word kernel, Word index, std::uint32_t what, Value& value) {
    return below<Function::clGetKernelArgInfo>(kernel, index, what, sizeof value, address_of(value), Word{0}) ==
           abi::CL_SUCCESS;
}

/// What the runtime says of a parameter; programs that were loaded as machine code say nothing.
void learn(Word kernel, Word index, KernelArgument& argument) {
    std::uint32_t space = 0;
    if (!ask(kernel, index, abi::CL_KERNEL_ARG_ADDRESS_QUALIFIER, space)) {
        argument.sort = KernelArgument::Sort::not_told;
        return;
    }
    const auto mode = [&argument](AccessMode known) { argument.mode = static_cast<std::uint8_t>(known); };
    if (space == abi::CL_KERNEL_ARG_ADDRESS_GLOBAL || space == abi::CL_KERNEL_ARG_ADDRESS_CONSTANT) {
        argument.sort = KernelArgument::Sort::pointer;
        Word qualifiers = 0;
        const bool constant = space == abi::CL_KERNEL_ARG_ADDRESS_CONSTANT ||
                              (ask(kernel, index, abi::CL_KERNEL_ARG_TYPE_QUALIFIER, qualifiers) &&
                               (qualifiers & abi::CL_KERNEL_ARG_TYPE_CONST) != 0);
        if (constant) mode(AccessMode::READ);
        // Images are of the global address space too.
    }
    std::uint32_t access = 0;
    if (ask(kernel, index, abi::CL_KERNEL_ARG_ACCESS_QUALIFIER, access)) {
        if (access == abi::CL_KERNEL_ARG_ACCESS_READ_ONLY) mode(AccessMode::READ);
        if (access == abi::CL_KERNEL_ARG_ACCESS_WRITE_ONLY) mode(AccessMode::WRITE);
        if (access == abi::CL_KERNEL_ARG_ACCESS_READ_ONLY || access == abi::CL_KERNEL_ARG_ACCESS_WRITE_ONLY ||
            access == abi::CL_KERNEL_ARG_ACCESS_READ_WRITE)
            argument.sort = KernelArgument::Sort::memory;
    }
    if (argument.sort == KernelArgument::Sort::not_asked) argument.sort = KernelArgument::Sort::value;
}

KernelArgument* argument_of(Kernel& kernel, Word handle, Word index) {
    if (index >= most_arguments) return nullptr;
    if (kernel.arguments.size() <= index) kernel.arguments.resize(index + 1);
    KernelArgument& argument = kernel.arguments[index];
    if (argument.sort == KernelArgument::Sort::not_asked) learn(handle, index, argument);
    return &argument;
}

/// What of a memory object a kernel uses. Of a whole one nobody knows how much; a part is used as it is: commands that
/// run at once must not use parts that overlap, whichever bytes they touch (5.2.1).
Reference reference_to(const MemoryInfo& memory, std::uint8_t mode) {
    return {memory.address, memory.part ? memory.size : 0, mode};
}

/// What is no memory may say how far the kernel reaches. One that is another one in each launch is left out in time:
/// each would make a shape of its own.
void hold_number(Word kernel, Kernel& holder, KernelArgument& argument, Word size, Word value) {
    const bool whole = size == 1 || size == 2 || size == 4 || size == 8;
    if (!whole || value == 0 || recorder()->settings.redact || (argument.changed && holder.shapes.crowded())) {
        if (argument.number_bytes == 0) return;
        argument.number_bytes = 0;
        return kernel_changed(kernel);
    }
    std::uint64_t number = 0;
    std::memcpy(&number, reinterpret_cast<const void*>(value), size);
    if (argument.number_bytes == size && argument.number == number) return;
    argument.changed = argument.changed || argument.number_bytes != 0;
    argument.number_bytes = static_cast<std::uint8_t>(size);
    argument.number = number;
    kernel_changed(kernel);
}

/// Many programs set before each launch what was set before: that changes nothing.
void hold(Word kernel, KernelArgument& argument, bool set, const Reference& reference, Word sub_buffer) {
    if (argument.set == set && argument.sub_buffer == sub_buffer && (!set || argument.reference == reference)) return;
    argument.set = set;
    argument.sub_buffer = sub_buffer;
    argument.reference = reference;
    kernel_changed(kernel);
}

void argument_set(Call& call) {
    using namespace parameter::clSetKernelArg;
    if (!call.succeeded()) return;
    const std::shared_ptr<Kernel> found = kernel_of(call[kernel]);
    if (found == nullptr) return;
    const std::lock_guard lock(found->mutex);
    KernelArgument* const argument = argument_of(*found, call[kernel], call[arg_index]);
    if (argument == nullptr) return;
    if (argument->sort == KernelArgument::Sort::value)
        return hold_number(call[kernel], *found, *argument, call[arg_size], call[arg_value]);
    const Word handle = call[arg_size] == sizeof(Word) && call[arg_value] != 0 ? read_word(call[arg_value]) : 0;
    const auto memory = handle != 0 ? live().memory.find(handle) : std::nullopt;
    if (!memory) return hold(call[kernel], *argument, false, {}, 0);
    hold(call[kernel], *argument, true, reference_to(*memory, argument->mode), memory->part ? handle : 0);
}

void pointer_set(Call& call) {
    using namespace parameter::clSetKernelArgSVMPointer;
    if (!call.succeeded()) return;
    const std::shared_ptr<Kernel> found = kernel_of(call[kernel]);
    if (found == nullptr) return;
    const std::lock_guard lock(found->mutex);
    KernelArgument* const argument = argument_of(*found, call[kernel], call[arg_index]);
    if (argument == nullptr) return;
    hold(call[kernel], *argument, call[arg_value] != 0, {call[arg_value], 0, argument->mode}, 0);
}

/// Of a buffer's address on a device it is the buffer that the kernel uses.
void device_pointer_set(Call& call) {
    using namespace parameter::clSetKernelArgDevicePointerEXT;
    if (!call.succeeded()) return;
    const std::shared_ptr<Kernel> found = kernel_of(call[kernel]);
    if (found == nullptr) return;
    const Word place = place_of_device_address(call[arg_value]);
    const std::lock_guard lock(found->mutex);
    KernelArgument* const argument = argument_of(*found, call[kernel], call[arg_index]);
    if (argument == nullptr) return;
    hold(call[kernel], *argument, place != 0, {place, 0, argument->mode}, 0);
}

/// The list replaces what was set before of the same sort (5.9.2).
void pointers_set(Call& call) {
    using namespace parameter::clSetKernelExecInfo;
    const auto sort = static_cast<std::uint32_t>(call[param_name]);
    const bool of_devices = sort == abi::CL_KERNEL_EXEC_INFO_DEVICE_PTRS_EXT;
    const bool names_pointers = of_devices || sort == abi::CL_KERNEL_EXEC_INFO_SVM_PTRS ||
                                sort == abi::CL_KERNEL_EXEC_INFO_SVM_PTRS_ARM ||
                                sort == abi::CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL;
    if (!call.succeeded() || !names_pointers) return;
    const std::shared_ptr<Kernel> found = kernel_of(call[kernel]);
    if (found == nullptr) return;
    const std::lock_guard lock(found->mutex);
    std::erase_if(found->pointers, [sort](const HeldPointers& each) { return each.sort == sort; });
    HeldPointers held{
        sort, std::vector<Word>(std::min<std::size_t>(call[param_value_size] / sizeof(Word), most_held_pointers))};
    if (!held.places.empty())
        std::memcpy(held.places.data(), reinterpret_cast<const void*>(call[param_value]),
                    held.places.size() * sizeof(Word));
    if (of_devices) std::ranges::transform(held.places, held.places.begin(), place_of_device_address);
    if (!held.places.empty()) found->pointers.push_back(std::move(held));
    kernel_changed(call[kernel]);
}

/// The device that runs a launch; 0 where all devices run the same.
Word device_of(Word queue, const Kernel& kernel) {
    if (kernel.builds.size() < 2) return 0;
    return live().queues.find(queue).value_or(QueueInfo{}).device;
}

std::size_t count_held(const Kernel& kernel) {
    std::size_t count = kernel.arguments.size();
    for (const HeldPointers& each : kernel.pointers) count += each.places.size();
    return count;
}

/// What a kernel holds; `put` has room for all. The shape of the launch; `on_part` is told of sub-buffers.
template <class OnPart>
STREAMSAN_LAUNCH_PATH std::size_t put_held(Kernel& kernel, Word queue, const GlobalOffset& offset,
                                           const LaunchSizes& sizes, Reference* put, std::uint64_t& shape,
                                           OnPart on_part) {
    std::size_t count = 0;
    std::size_t known = 0;
    std::array<PackedPlace, 32> places;
    std::array<ArgumentNumber, most_numbers> numbers;
    for (std::size_t index = 0; index < kernel.arguments.size(); ++index) {
        const KernelArgument& argument = kernel.arguments[index];
        const bool has_number = argument.number_bytes != 0 || (argument.set && argument.sub_buffer != 0);
        if (has_number && known < numbers.size())
            numbers[known++] = {static_cast<std::uint32_t>(index), argument.number_bytes,
                                argument.number_bytes != 0 ? argument.number : 0};
        if (!argument.set) continue;
        if (count < places.size())
            places[count] = {static_cast<std::uint16_t>(count), static_cast<std::uint16_t>(index)};
        put[count++] = argument.reference;
        if (argument.sub_buffer != 0) on_part(argument.sub_buffer);
    }
    shape = kernel.shapes.of(
        kernel.name, kernel.builds, device_of(queue, kernel),
        {offset, sizes, std::span(places).first(std::min(count, places.size())), std::span(numbers).first(known)});
    for (const HeldPointers& each : kernel.pointers) {
        for (const Word pointer : each.places)
            if (pointer != 0) put[count++] = {pointer, 0, static_cast<std::uint8_t>(AccessMode::OPAQUE)};
    }
    return count;
}

LaunchSizes sizes_of(const Call& call) {
    using namespace parameter::clEnqueueNDRangeKernel;
    if (call.function != Function::clEnqueueNDRangeKernel) return {{1, 1, 1}, {1, 1, 1}};
    return sizes_at(call[global_work_size], call[local_work_size], call[work_dim]);
}

/// Of a launch with an offset, or in more dimensions than there are, nothing is kept.
bool may_come_again(const Call& call) {
    using namespace parameter::clEnqueueNDRangeKernel;
    if (call.function != Function::clEnqueueNDRangeKernel) return true;
    return call[global_work_offset] == 0 && static_cast<std::uint32_t>(call[work_dim]) - 1U < 3U;
}

WorkLists lists_of(const Call& call) {
    using namespace parameter::clEnqueueNDRangeKernel;
    WorkLists lists{};
    if (call.function != Function::clEnqueueNDRangeKernel) return lists;
    lists.dimensions = static_cast<std::uint32_t>(call[work_dim]);
    lists.grouped = call[local_work_size] != 0;
    for (std::size_t axis = 0; axis < lists.dimensions; ++axis) {
        lists.items[axis] = read_word(call[global_work_size] + axis * sizeof(Word));
        if (lists.grouped) lists.group[axis] = read_word(call[local_work_size] + axis * sizeof(Word));
    }
    return lists;
}

/// Whether a launch has the work-items of one that was kept, which are some.
bool has_lists(const Call& call, const WorkLists& lists) {
    using namespace parameter::clEnqueueNDRangeKernel;
    if (call.function != Function::clEnqueueNDRangeKernel) return lists.dimensions == 0;
    const Word items = call[global_work_size];
    const Word group = call[local_work_size];
    if (call[global_work_offset] != 0 || static_cast<std::uint32_t>(call[work_dim]) != lists.dimensions || items == 0 ||
        (group != 0) != lists.grouped)
        return false;
    for (std::size_t axis = 0; axis < lists.dimensions; ++axis) {
        if (read_word(items + axis * sizeof(Word)) != lists.items[axis]) return false;
        if (group != 0 && read_word(group + axis * sizeof(Word)) != lists.group[axis]) return false;
    }
    return true;
}

/// Of a launch that another device or a part of a buffer would make another one, nothing is kept.
void keep_launch(Word handle, const Kernel& kernel, std::uint32_t change, const WorkLists& lists, Word object,
                 const Reference* references, std::size_t count) {
    const bool has_parts = std::ranges::any_of(
        kernel.arguments, [](const KernelArgument& argument) { return argument.set && argument.sub_buffer != 0; });
    if (has_parts || kernel.builds.size() > 1 || count > PreparedLaunch::most_references) return;
    PreparedLaunch& place = place_for_launch(handle);
    place = {handle, object, change, kernel.name, static_cast<std::uint32_t>(count), lists, {}};
    std::copy_n(references, count, place.references.begin());
}

STREAMSAN_LAUNCH_PATH void enqueue_kernel(Call& call) {
    using namespace parameter::clEnqueueNDRangeKernel;
    write_waits(call);
    if (const PreparedLaunch* const again = prepared_launch(call[kernel]);
        again != nullptr && has_lists(call, again->lists)) {
        call.label = again->name;
        call.site = 0;  // the waits had no name
        write_entered(call, OperationKind::LAUNCH, WaitClass::NONE, queue_of(call), again->object,
                      again->references.data(), again->count);
        return;
    }
    const std::uint32_t change = changes_of(call[kernel]);
    const LaunchSizes sizes = sizes_of(call);
    std::uint64_t shape = 0;
    std::array<Reference, 8> few;
    std::vector<Reference> many;
    const Reference* references = few.data();
    std::size_t count = 0;
    const auto [standing, info] = live().kernels.look_up(call[kernel]);
    const std::shared_ptr<Kernel>& found = info.kernel;
    if (standing == Standing::dead) write_before(call, OperationKind::HANDLE_USE, HandleKind::KERNEL, 0, call[kernel]);
    const bool is_range = call.function == Function::clEnqueueNDRangeKernel;  // a task is one work-item
    const Word dimensions = is_range ? call[work_dim] : 0;
    if (is_range && is_empty(call[global_work_size], dimensions)) {
        write_entered(call, OperationKind::QUEUE_MARKER, MarkerKind::WAIT_LIST, queue_of(call), 0);
        return;
    }
    if (found != nullptr) {
        const std::lock_guard lock(found->mutex);
        call.label = found->name;
        call.site = 0;  // the waits had no name
        if (count_held(*found) > few.size()) many.resize(count_held(*found));
        Reference* const put = many.empty() ? few.data() : many.data();
        references = put;
        const GlobalOffset offset = is_range ? offset_at(call[global_work_offset], dimensions) : GlobalOffset{};
        count = put_held(*found, queue_of(call), offset, sizes, put, shape, [&call](Word part) {
            if (live().memory.standing(part) == Standing::dead)
                write_before(call, OperationKind::HANDLE_USE, HandleKind::SUB_BUFFER, 0, part);
        });
        if (standing == Standing::alive && may_come_again(call))
            keep_launch(call[kernel], *found, change, lists_of(call), shape << 32, references, count);
    }
    write_entered(call, OperationKind::LAUNCH, WaitClass::NONE, queue_of(call), shape << 32, references, count);
}

/// A function of the host's: what it does with the memory that it is given nobody sees.
void enqueue_native(Call& call) {
    using namespace parameter::clEnqueueNativeKernel;
    std::vector<Reference> references;
    for (Word position = 0; call[mem_list] != 0 && position < std::min<Word>(call[num_mem_objects], most_arguments);
         ++position) {
        const auto memory = live().memory.find(read_word(call[mem_list] + position * sizeof(Word)));
        if (memory) references.push_back(reference_to(*memory, static_cast<std::uint8_t>(AccessMode::OPAQUE)));
    }
    write_command(call, OperationKind::LAUNCH, WaitClass::NONE, references.data(), references.size());
}

void release_kernel(Call& call) {
    begin_release(call, live().kernels, {OperationKind::HANDLE_DESTROY, HandleKind::KERNEL, abi::CL_INVALID_KERNEL});
    kernel_changed(call[0]);
}

}  // namespace

GlobalOffset offset_at(Word offset, Word dimensions) {
    GlobalOffset read{};
    if (offset == 0) return read;
    for (std::size_t axis = 0; axis < std::min<std::size_t>(static_cast<std::uint32_t>(dimensions), read.size());
         ++axis)
        read[axis] = read_word(offset + axis * sizeof(Word));
    return read;
}

bool is_empty(Word sizes, Word dimensions) {
    if (sizes == 0) return true;
    for (Word axis = 0; axis < std::min<Word>(static_cast<std::uint32_t>(dimensions), 3); ++axis)
        if (read_word(sizes + axis * sizeof(Word)) == 0) return true;
    return false;
}

LaunchSizes sizes_at(Word items, Word group, Word dimensions) {
    LaunchSizes sizes{{1, 1, 1}, {1, 1, 1}};
    constexpr Word most = 0xffffffff;
    if (group == 0) sizes.group = {};
    for (std::size_t axis = 0; axis < std::min<std::size_t>(static_cast<std::uint32_t>(dimensions), 3); ++axis) {
        const Word all = read_word(items + axis * sizeof(Word));
        sizes.items[axis] = all <= most ? static_cast<std::uint32_t>(all) : 0;
        if (group == 0) continue;
        const Word own = read_word(group + axis * sizeof(Word));
        sizes.group[axis] = own <= most ? static_cast<std::uint32_t>(own) : 0;
    }
    return sizes;
}

HeldMemory held_by(Word kernel, Word queue, const GlobalOffset& offset, const LaunchSizes& sizes) {
    HeldMemory held;
    const std::shared_ptr<Kernel> found = kernel_of(kernel);
    if (found == nullptr) return held;
    const std::lock_guard lock(found->mutex);
    held.name = found->name;
    held.references.resize(count_held(*found));
    const std::size_t count = put_held(*found, queue, offset, sizes, held.references.data(), held.shape,
                                       [&held](Word part) { held.sub_buffers.push_back(part); });
    held.references.resize(count);
    return held;
}

void register_kernels(HandlerTable& table) {
    table.on(Function::clCreateKernel, {nullptr, kernel_made});
    table.on(Function::clCreateKernelsInProgram, {kernels_wanted, kernels_made});
    table.on(Function::clCloneKernel, {nullptr, kernel_cloned});
    table.on(Function::clRetainKernel, {[](Call& call) { begin_retain(call, live().kernels, HandleKind::KERNEL); },
                                        [](Call& call) { end_retain(call, live().kernels); }});
    table.on(Function::clReleaseKernel, {release_kernel, [](Call& call) { complete(call); }});
    table.on(Function::clSetKernelArg, {nullptr, argument_set});
    for (const Function function : {Function::clSetKernelArgSVMPointer, Function::clSetKernelArgSVMPointerARM,
                                    Function::clSetKernelArgMemPointerINTEL})
        table.on(function, {nullptr, pointer_set});
    table.on(Function::clSetKernelArgDevicePointerEXT, {nullptr, device_pointer_set});
    table.on(Function::clSetKernelExecInfo, {nullptr, pointers_set});
    table.on(Function::clSetKernelExecInfoARM, {nullptr, pointers_set});
    table.on(Function::clEnqueueNDRangeKernel, {enqueue_kernel, end_command});
    table.on(Function::clEnqueueTask, {enqueue_kernel, end_command});
    table.on(Function::clEnqueueNativeKernel, {enqueue_native, end_command});
}

}  // namespace streamsan::recorder::opencl
