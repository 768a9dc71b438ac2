"""Kernels: what they hold, and their executions. Command buffers."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from streamsan.effects import Effect, Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.opencl.commands import command, queue_argument
from streamsan.model.opencl.handling import (
    INVALID_OBJECTS,
    handles,
    kernel_of,
    known,
    made,
    memory_of,
    named_list,
    queue_of,
    say_handle,
)
from streamsan.model.opencl.memory_objects import argument_reference
from streamsan.model.opencl.objects import CommandBuffer, Kernel, MemoryObject
from streamsan.model.opencl.work_items import ByteRange, work_items_of
from streamsan.model.values import Handle, Outcome, Pointer, Symbol, Value
from streamsan.platforms import OPENCL
from streamsan.trace.reference_bounds import Bounds
from streamsan.trace.references import Reference
from streamsan.vocabulary import AccessMode, HandleKind, OperationKind, SlotFlag, WaitClass

_HOLDS = frozenset(
    OPENCL.constants[f"CL_KERNEL_EXEC_INFO_{name}"] for name in ("SVM_PTRS", "SVM_PTRS_ARM", "USM_PTRS_INTEL")
)
"""what tells of memory that a kernel may use beside its arguments"""


@handles(Effect.KERNEL_ARGUMENT)
def kernel_argument(core: ModelCore, call: Call) -> Outcome:
    """A kernel takes a value for its executions to come. It holds no reference to a memory object (5.9.2)."""
    kernel = kernel_of(core, call, call.value(Role.HANDLE, "kernel"))
    index = call.number(Role.INDEX)
    held = call.value(Role.HELD)
    if call.has(Role.KERNEL_ARGUMENT):
        held = call.structures.get("arg_value", {}).get("0")
    if index is not None:
        kernel.numbers.pop(index, None)
        if isinstance(held, int) and not call.has(Role.HELD):
            kernel.numbers[index] = held
    if index is None:
        kernel.unclear = True
    elif (found := known(call, held)) is not None and isinstance(found, MemoryObject):
        kernel.arguments[index] = found
    elif isinstance(held, Pointer) or (isinstance(held, Symbol) and _may_be_memory(call, held)):
        kernel.arguments[index] = held
    else:
        kernel.arguments.pop(index, None)
    if kernel.counted and not kernel.alive:
        return say_handle(core, call, OperationKind.HANDLE_USE, kernel, INVALID_OBJECTS["kernel"])
    return core.say(call)


def _may_be_memory(call: Call, held: Symbol) -> bool:
    """Return whether an unknown value is a memory object: its type says so, or it is an address."""
    return call.has(Role.HELD) or ("memory", held) in call.thread.process.assumed_handles


@handles(Effect.KERNEL_HELD)
def kernel_held(core: ModelCore, call: Call) -> Outcome:
    """A kernel's executions to come may use this memory beside its arguments."""
    kernel = kernel_of(core, call, call.value(Role.HANDLE, "kernel"))
    if call.named("param_name") in _HOLDS:
        kernel.held = named_list(call, "param_value")
    return core.say(call)


def kernel_references(core: ModelCore, call: Call, kernel: Kernel) -> list[Reference]:
    """Return the memory that an execution may use, each as its source says."""
    found: list[Reference] = []
    items = work_items_of(call)
    known = kernel.text.reach is not None and items is not None and not kernel.unclear
    reach = kernel.text.reach(items, kernel.numbers) if known else {}  # type: ignore[misc, arg-type]
    for index, value in sorted(kernel.arguments.items()):
        mode, flags = AccessMode.OPAQUE, 0
        if kernel.text.modes is not None and index < len(kernel.text.modes):
            use = kernel.text.modes[index]
            if use is None:
                continue
            mode, flags = use
            if call.values.get("global_work_offset", 0) != 0:
                flags &= ~SlotFlag.TOUCHES  # the first work-item is not number 0
        held = _object(core, call, value)
        reference = argument_reference(core, call, held, mode, flags)
        if reference is None:
            continue
        pieces = reach.get(index, ())
        exact = held.exact if isinstance(held, MemoryObject | Pointer) else False
        if pieces and exact:
            found += pieces_of(reference, pieces, held.size if isinstance(held, MemoryObject) else 0)
        else:
            found.append(reference)
    for each in kernel.held:
        reference = core.reference(call.thread, each, None, AccessMode.OPAQUE, call.site)
        if reference is not None:
            found.append(reference)
    return found


def pieces_of(whole: Reference, pieces: Sequence[ByteRange], size: int) -> list[Reference]:
    """Return the references of what is known to be touched through one argument; `size` 0: how large it is, is not."""
    found: list[Reference] = []
    for mode, begin, end, sure in pieces:
        flags = whole.flags & ~SlotFlag.TOUCHES
        if end is None or (size and end > size and not begin < size):
            first = whole.flags if mode & AccessMode.WRITE or whole.mode is AccessMode.READ else flags
            found.append(replace(whole, size=0, mode=mode, flags=first))
        elif sure and not (size and end > size):
            found.append(replace(whole, address=whole.address + begin, size=end - begin, mode=mode, flags=flags))
        else:
            bounds = Bounds(0, (min(end, size) if size else end) - begin)
            first = whole.flags if begin == 0 and (mode & AccessMode.WRITE or whole.mode is AccessMode.READ) else flags
            moved = replace(whole, address=whole.address + begin, size=0, mode=mode, flags=first)
            found.append(replace(moved, bounds=bounds) if bounds.fits else replace(moved, address=whole.address))
    return found


def _object(core: ModelCore, call: Call, value: MemoryObject | Pointer | Symbol) -> MemoryObject | Pointer | Symbol:
    if isinstance(value, Symbol) and ("memory", value) in call.thread.process.assumed_handles:
        return memory_of(core, call, value)
    return value


@handles(Effect.LAUNCH)
def launch(core: ModelCore, call: Call) -> Outcome:
    """Enqueue a kernel's execution; of a native kernel nobody knows what it does with its memory objects."""
    if not call.has(Role.HANDLE, "kernel"):
        values = named_list(call, "mem_list")
        references = [
            found
            for value in values
            if value not in (None, 0)
            and (found := argument_reference(core, call, memory_of(core, call, value), AccessMode.OPAQUE)) is not None
        ]
        return command(core, call, OperationKind.LAUNCH, references, detail=WaitClass.NONE)
    kernel = kernel_of(core, call, call.value(Role.HANDLE, "kernel"))
    if kernel.counted and not kernel.alive:
        return say_handle(core, call, OperationKind.HANDLE_USE, kernel, INVALID_OBJECTS["kernel"])
    _say_dead_parts(core, call, kernel)
    site = call.site
    if kernel.text.name and not core.builder.site_at(site).label:
        site = core.labelled(site, kernel.text.name)
    references = kernel_references(core, call, kernel)
    return command(core, call, OperationKind.LAUNCH, references, site=site, detail=WaitClass.NONE)


def _say_dead_parts(core: ModelCore, call: Call, kernel: Kernel) -> None:
    for value in kernel.arguments.values():
        if isinstance(value, MemoryObject) and value.whole is not None and not value.alive and value.counted:
            core.emit(
                OperationKind.HANDLE_USE,
                call.thread,
                call.site,
                call.api.name,
                object=value.handle,
                detail=HandleKind.SUB_BUFFER,
            )


@handles(Effect.COMMAND_BUFFER_CREATE)
def command_buffer_create(core: ModelCore, call: Call) -> Outcome:
    """Make a command buffer, or one with the commands of another."""
    thing = CommandBuffer(core.fresh_handle(), "command_buffer", None)
    source = known(call, call.value(Role.HANDLE, "command_buffer"))
    if isinstance(source, CommandBuffer):
        thing.memory, thing.made_in = list(source.memory), source.made_in
    say_handle(core, call, OperationKind.HANDLE_CREATE, thing)
    return made(core, call, thing)


@handles(Effect.COMMAND_BUFFER_RECORD, Effect.COMMAND_BUFFER_UPDATE)
def command_buffer_record(core: ModelCore, call: Call) -> Outcome:
    """A command becomes part of a command buffer, with the memory that it uses."""
    buffer = known(call, call.value(Role.HANDLE, "command_buffer"))
    if isinstance(buffer, CommandBuffer):
        kernel = known(call, call.value(Role.HANDLE, "kernel"))
        if isinstance(kernel, Kernel):
            buffer.memory += kernel.arguments.values()
        for role in (Role.READ_OBJECT, Role.WRITE_OBJECT, Role.READ, Role.WRITE):
            buffer.memory += _memory(core, call, call.value(role))
    return core.say(call)


def _memory(core: ModelCore, call: Call, value: Value) -> list[MemoryObject | Pointer | Symbol]:
    if isinstance(value, Handle):
        return [memory_of(core, call, value)]
    return [value] if isinstance(value, Pointer) else []


@handles(Effect.COMMAND_BUFFER_ENQUEUE)
def command_buffer_enqueue(core: ModelCore, call: Call) -> Outcome:
    """All its commands run, with the memory that they were given."""
    buffer = known(call, call.value(Role.HANDLE, "command_buffer"))
    held = buffer.memory if isinstance(buffer, CommandBuffer) else []
    references = [
        found for each in held if (found := argument_reference(core, call, each, AccessMode.OPAQUE)) is not None
    ]
    queues = named_list(call, "queues")
    queue = queue_of(core, call, queues[0]) if queues else queue_argument(core, call)
    return command(core, call, OperationKind.LAUNCH, references, queue=queue, detail=WaitClass.NONE)
