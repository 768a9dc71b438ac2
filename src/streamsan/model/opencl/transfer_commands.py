"""Reads, writes, copies, fills and migrations."""

from __future__ import annotations

from streamsan.effects import Effect, Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.opencl.commands import command
from streamsan.model.opencl.handling import handles, memory_of, named_list
from streamsan.model.opencl.memory_objects import reference_to
from streamsan.model.opencl.objects import MemoryObject
from streamsan.model.opencl.rectangles import image_region_of, region_of
from streamsan.model.values import Outcome, Pointer, Symbol, Value
from streamsan.trace.references import Reference
from streamsan.vocabulary import AccessMode, OperationKind, SlotFlag


@handles(Effect.COPY)
def copy(core: ModelCore, call: Call) -> Outcome:
    """Copy: the destination first, then the source."""
    to = _side(core, call, AccessMode.WRITE)
    source = _side(core, call, AccessMode.READ)
    return command(core, call, OperationKind.COPY, both(to, source))


@handles(Effect.MEMSET)
def fill(core: ModelCore, call: Call) -> Outcome:
    """Fill a buffer, an image or shared virtual memory."""
    to = _side(core, call, AccessMode.WRITE)
    return command(core, call, OperationKind.MEMSET, [] if to is None else [to])


@handles(Effect.PREFETCH)
def migrate(core: ModelCore, call: Call) -> Outcome:
    """Migrate memory: it must live until then, its contents stay."""
    references = []
    for value in [*named_list(call, "mem_objects"), *named_list(call, "svm_pointers"), call.value(Role.INSPECTED)]:
        found = use(core, call, value, AccessMode.READ) if value not in (None, 0) else None
        if found is not None:
            references.append(found)
    return command(core, call, OperationKind.PREFETCH, references)


@handles(Effect.ACQUIRE_OBJECTS, Effect.RELEASE_OBJECTS)
def hand_over(core: ModelCore, call: Call) -> Outcome:
    """Take memory over from another interface, which has written it, or hand it back, which then reads it."""
    mode = AccessMode.WRITE if call.api.effect is Effect.ACQUIRE_OBJECTS else AccessMode.READ
    values = named_list(call, "mem_objects")
    references = [reference_to(memory_of(core, call, value), mode) for value in values if value not in (None, 0)]
    return command(core, call, OperationKind.PREFETCH, references)


def both(to: Reference | None, source: Reference | None) -> list[Reference]:
    """Return the references of a copy; address 0 stands for a side that nobody knows."""
    if to is None:
        return [] if source is None else [Reference(0, 0, 0, AccessMode.WRITE), source]
    return [to] if source is None else [to, source]


def use(core: ModelCore, call: Call, value: Value, mode: AccessMode) -> Reference | None:
    """Return the use of a memory object, or of memory at an address."""
    if isinstance(value, Pointer):
        return core.reference(call.thread, value, None, mode, call.site)
    return reference_to(memory_of(core, call, value), mode)


def _side(core: ModelCore, call: Call, mode: AccessMode) -> Reference | None:
    """Return what a command writes, or what it reads."""
    reads = mode is AccessMode.READ
    value = call.value(Role.READ_OBJECT if reads else Role.WRITE_OBJECT)
    if call.has(Role.READ_OBJECT if reads else Role.WRITE_OBJECT):
        thing = memory_of(core, call, value)
        return object_region(call, thing, mode, reads)
    value = call.value(Role.READ if reads else Role.WRITE)
    if not isinstance(value, Pointer | Symbol):
        return None
    if call.has(Role.REGION):
        found = None if "Image" in call.api.name else region_of(call, reads)
        if found is None or not isinstance(value, Pointer):
            return core.reference(call.thread, value, None, mode, call.site)
        start, rows = found
        moved = Pointer(value.address + start, value.base, value.generation, value.exact)
        return core.reference(call.thread, moved, rows.extent, mode, call.site, 0, rows if rows.count > 1 else None)
    size = call.value(Role.SIZE)
    return core.reference(call.thread, value, size, mode, call.site, _touches(size))


def _touches(size: Value) -> int:
    """Return the flag of a copy or fill whose size nobody knows: no program means to copy nothing."""
    return 0 if isinstance(size, int) else SlotFlag.TOUCHES


def object_region(call: Call, thing: MemoryObject, mode: AccessMode, reads: bool) -> Reference:
    """Return what a command touches of a memory object, by its offset and size or its region."""
    if call.has(Role.REGION):
        if thing.is_image:
            found = image_region_of(call, reads, thing.shape)
        else:
            found = None if "Image" in call.api.name else region_of(call, reads)
        if found is None or not thing.exact:
            return reference_to(thing, mode, None if call.has(Role.REGION) else 0)
        start, rows = found
        plain = reference_to(thing, mode, start, rows.extent)
        if rows.count == 1:
            return plain
        return Reference(plain.address, plain.size, plain.generation, mode, 0, rows)
    role = Role.SOURCE_OFFSET if reads else Role.OFFSET
    if not call.has(role):
        role = Role.OFFSET
    size, offset = call.value(Role.SIZE), call.value(role)
    flags = _touches(size) if thing.exact and isinstance(offset, int) else 0
    return reference_to(thing, mode, offset, size if isinstance(size, int) else -1, flags)
