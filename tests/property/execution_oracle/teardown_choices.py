"""The part of `choices` that is about contexts that end, and about handles and memory that are gone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from execution_oracle.memory import Allocation
from execution_oracle.program import INVALID_VALUE, SUCCESS
from streamsan.trace import Reference
from streamsan.vocabulary import AccessMode, EdgeClass, FreeClass, MemoryKind, WaitClass
from streamsan.vocabulary import OperationKind as Kind

if TYPE_CHECKING:
    from execution_oracle.choices import Choices

FAMILIES = {
    MemoryKind.PLAIN: FreeClass.DEVICE, MemoryKind.MANAGED: FreeClass.DEVICE, MemoryKind.PINNED: FreeClass.PINNED,
    MemoryKind.ARRAY: FreeClass.ARRAY, MemoryKind.IPC: FreeClass.IPC_CLOSE,
}  # fmt: skip
"""by which memory that went with its context may still be freed"""


@dataclass
class TeardownChoices:
    """What is gone from a program that is being made."""

    choices: Choices
    streams: set[int] = field(default_factory=set)
    events: set[int] = field(default_factory=set)
    homes: dict[int, int] = field(default_factory=dict)
    """streams and events to the contexts that they are of"""
    second_gone: bool = False

    def made(self, handle: int, thread: int) -> None:
        """Note that a stream or event was made, in the thread's context."""
        self.homes[handle] = self.choices.current[thread]
        self.streams.discard(handle)
        self.events.discard(handle)

    def end(self, thread: int, primary: int, second: int, a: int, b: int) -> None:
        """Reset the primary context, release it for the last time, or destroy the other one."""
        choices = self.choices
        choices.run_bodies()
        destroys = choices.two_contexts and not self.second_gone and a % 2
        context = second if destroys else primary
        kind = Kind.CONTEXT_DESTROY if destroys or b % 4 == 3 else Kind.DEVICE_RESET
        choices.put(kind, thread, object=context)
        choices.memory.end_context(len(choices.ops) - 1, choices.ops[-1])
        gone = {handle for handle, home in self.homes.items() if home == context}
        self.streams |= gone & set(choices.streams)
        self.events |= gone & choices.events
        choices.events -= gone
        for handle in gone & set(choices.streams):
            del choices.streams[handle]
        if not destroys:
            return
        self.second_gone = True
        choices.graphs.end_context(context)
        for other, current in list(choices.current.items()):
            if current == context:
                choices.put(Kind.CONTEXT_CURRENT, other, object=primary)
                choices.current[other] = primary

    def meet(self, thread: int, key: int) -> None:
        """Let a thread know that the other one's calls so far are over."""
        self.choices.put(Kind.HOST_RELEASE, 1 - thread, object=key, detail=EdgeClass.CONTRACT)
        self.choices.put(Kind.HOST_ACQUIRE, thread, object=key, detail=EdgeClass.CONTRACT)

    def use_gone(self, thread: int, a: int, b: int, c: int) -> None:
        """Use a stream or event that was destroyed, or went with its context."""
        choices = self.choices
        choices.run_bodies()
        stream = choices.a_stream(b)
        if self.streams and (c % 2 or not self.events):
            gone = sorted(self.streams)[a % len(self.streams)]
            memory = choices.on_device()
            sort = c // 2 % 6
            if sort == 0 and memory:
                reference = choices.reference(memory[b % len(memory)], c // 12, AccessMode.WRITE)
                choices.put(Kind.LAUNCH, thread, stream=gone, references=(reference,))
            elif sort == 1 and choices.events:
                kind = (Kind.EVENT_RECORD, Kind.STREAM_WAIT_EVENT)[c // 12 % 2]
                choices.put(kind, thread, stream=gone, object=sorted(choices.events)[b % len(choices.events)])
            elif sort == 2:
                choices.put(Kind.STREAM_DESTROY, thread, object=gone)
            elif sort == 3 and (ordered := choices.live(MemoryKind.STREAM_ORDERED)):
                free = Reference(ordered[b % len(ordered)].base)
                choices.put(Kind.FREE, thread, stream=gone, detail=FreeClass.ASYNC, references=(free,))
            else:
                choices.put((Kind.STREAM_SYNCHRONIZE, Kind.STREAM_QUERY)[b % 2], thread, stream=gone)
        elif self.events:
            gone = sorted(self.events)[a % len(self.events)]
            kinds = (
                Kind.STREAM_WAIT_EVENT, Kind.EVENT_SYNCHRONIZE, Kind.EVENT_RECORD, Kind.EVENT_QUERY, Kind.EVENT_DESTROY,
                Kind.STREAM_WAIT_EVENT, Kind.EVENT_ELAPSED,
            )  # fmt: skip
            kind = kinds[c // 2 % len(kinds)]
            on = stream if kind in (Kind.STREAM_WAIT_EVENT, Kind.EVENT_RECORD) else 0
            address = gone if kind is Kind.EVENT_ELAPSED else 0
            choices.put(kind, thread, stream=on, object=gone, address=address)

    def dead(self) -> list[Allocation]:
        """Memory that went with its context."""
        return [each for each in self.choices.memory.allocations if each.dead and each.kind in FAMILIES]

    def use_dead(self, thread: int, a: int, b: int, c: int) -> None:
        """Free, or use, memory that went with its context."""
        choices = self.choices
        choices.run_bodies()
        dead = self.dead()
        if not dead:
            return
        found = dead[a % len(dead)]
        if c % 3 == 0:
            reference = Reference(found.base)
            # A recording tells that the driver refused it.
            status = INVALID_VALUE if choices.recording else SUCCESS
            choices.put(Kind.FREE, thread, detail=FAMILIES[found.kind], status=status, references=(reference,))
        elif c % 3 == 1 and found.kind is not MemoryKind.ARRAY:
            reference = choices.reference(found, c // 3, AccessMode.WRITE, 0x20)
            choices.put(Kind.MEMSET, thread, stream=choices.a_stream(b), detail=WaitClass.NONE, references=(reference,))
        else:
            reference = choices.reference(found, c // 3, AccessMode.READ_WRITE)
            choices.put(Kind.LAUNCH, thread, stream=choices.a_stream(b), references=(reference,))
