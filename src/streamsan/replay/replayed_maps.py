"""Maps and unmaps of OpenCL, as a trace tells them: which command brings a region to the host, which takes it back.

A region that is mapped is copied to where the pointer leads when the map's command is complete, and what the host has
changed there is copied back by the unmap's. A pointer into memory that has addresses itself (shared virtual memory, a
host pointer) leads to that memory: nothing is copied.
"""

from __future__ import annotations

from msgspec.structs import replace

from streamsan.replay.replayed_addresses import Space
from streamsan.replay.replayed_steps import Access, Memory, Step
from streamsan.vocabulary import OperationKind


def note_command(step: Step, space: Space) -> None:
    """Know a command of a queue: it may be that of a map, or of the unmap before it."""
    place = step.thread, step.stream
    space.latest[place] = step
    taken = space.taken_back.pop(place, None)
    if taken is not None:
        step.unmaps = taken
        if step.kind is OperationKind.COPY and step.accesses:
            step.accesses = (step.accesses[0], _whole(taken, writes=False))


def note_pointer(step: Step, space: Space, pointer: Memory) -> None:
    """Know the pointer that the latest command of a thread on a queue gives."""
    space.maps[pointer.base] += 1
    command = space.latest.get((step.thread, step.stream))
    if command is None or command.kind is not OperationKind.COPY or command.unmaps is not None:
        return
    command.maps, step.mapped_by = pointer, command.sequence
    if command.accesses:
        command.accesses = (_whole(pointer, writes=True), replace(command.accesses[-1], reads=True, writes=False))


def take_back(step: Step, space: Space) -> Memory | None:
    """Return what no pointer leads to any more after an unmap; None where another map has given the same one."""
    pointer = space.live_pointer(step.address)
    if pointer is None or pointer.base != step.address:
        return None
    space.taken_back[step.thread, step.stream] = pointer
    space.maps[pointer.base] -= 1
    if space.maps[pointer.base] > 0:
        return None
    space.freed.add(pointer.number)
    return pointer


def _whole(memory: Memory, *, writes: bool) -> Access:
    if memory.size:
        memory.cuts.add(memory.size)
    return Access(memory, 0, memory.size, reads=not writes, writes=writes)
