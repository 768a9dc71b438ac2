"""The part of `choices` that is about what nobody can see: objects of unknown callers, and calls of unknown code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from execution_oracle.memory import Allocation
from streamsan.trace import Reference
from streamsan.vocabulary import AccessMode, FreeClass, MemoryKind, SlotFlag, StreamKind
from streamsan.vocabulary import OperationKind as Kind

if TYPE_CHECKING:
    from execution_oracle.choices import Choices

STREAMS, EVENT = (20, 21), 35
GIVEN = 0xC000
SIZE = 0x100


@dataclass
class UnknownChoices:
    """What unknown code made for a program that is being made."""

    choices: Choices
    wanted: int
    """0: nothing; 1: a stream and memory, stated; 2: a stream and an event first seen in use; 3: two streams"""

    @property
    def any(self) -> bool:
        return self.wanted != 0

    def begin(self) -> None:
        """Let the program begin with what it was given."""
        choices = self.choices
        if not self.wanted:
            return
        stated = self.wanted in (1, 3) and not choices.recording
        for handle in STREAMS[: 1 + (self.wanted == 3)]:
            if stated:
                choices.put(Kind.STREAM_CREATE, object=handle, detail=StreamKind.UNKNOWN, flags=SlotFlag.ASSUMED)
            choices.streams[handle] = StreamKind.UNKNOWN
            choices.gone.made(handle, 0)
        if self.wanted == 2:
            choices.events.add(EVENT)
            choices.gone.made(EVENT, 0)
        if stated:
            given = (Reference(GIVEN, SIZE),)
            choices.put(Kind.ALLOC, detail=MemoryKind.UNKNOWN, flags=SlotFlag.ASSUMED, references=given)
            choices.memory.allocate(len(choices.ops) - 1, choices.ops[-1], 0)

    def family(self, number: int) -> FreeClass:
        """How memory of an unknown kind is freed."""
        return (FreeClass.ASYNC, FreeClass.DEVICE)[number % 2]

    def call(self, thread: int, b: int, c: int) -> None:
        """Call code that nobody can see, with memory or without."""
        choices = self.choices
        if not self.wanted or choices.recording:
            return
        choices.run_bodies()
        memory: list[Allocation] = choices.live()
        found = [Reference(memory[b % len(memory)].base, 0, 0, AccessMode.OPAQUE)] if memory and c % 2 else []
        choices.put(Kind.OPAQUE_CALL, thread, references=tuple(found))
