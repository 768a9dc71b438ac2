"""The part of `choices` that is about calls that do nothing: they failed, or only ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from execution_oracle.program import OUT_OF_MEMORY
from streamsan.trace import Reference
from streamsan.vocabulary import AccessMode, FreeClass, MemoryKind, WaitClass
from streamsan.vocabulary import OperationKind as Kind

if TYPE_CHECKING:
    from execution_oracle.choices import Choices

ASKS = (Kind.CALL, Kind.ALLOC_ATTRIBUTE, Kind.HOST_CLOCK)


def ask(choices: Choices, thread: int, b: int, c: int) -> None:
    """Ask for something: a clock, what a pointer is, anything."""
    choices.run_bodies()
    kind = ASKS[c % len(ASKS)]
    live = choices.live()
    if kind is Kind.ALLOC_ATTRIBUTE and live:
        choices.put(kind, thread, references=(Reference(live[b % len(live)].base),))
    elif kind is not Kind.ALLOC_ATTRIBUTE:
        choices.put(kind, thread)


def fail(choices: Choices, thread: int, a: int, b: int, c: int) -> None:
    """Make a call that fails: it waits for nothing, and neither uses, makes nor frees anything."""
    choices.run_bodies()
    stream = choices.a_stream(a)
    live = choices.on_device()
    events = sorted(choices.events)
    found = live[b % len(live)] if live else None
    sort = c % 7
    if sort == 0:
        choices.put(Kind.STREAM_SYNCHRONIZE, thread, stream=stream, status=OUT_OF_MEMORY)
    elif sort == 1:
        choices.put(Kind.CONTEXT_SYNCHRONIZE, thread, object=choices.current[thread], status=OUT_OF_MEMORY)
    elif sort in (2, 3) and events:
        kind = (Kind.EVENT_RECORD, Kind.STREAM_WAIT_EVENT)[sort - 2]
        choices.put(kind, thread, stream=stream, object=events[b % len(events)], status=OUT_OF_MEMORY)
    elif sort == 4 and found is not None:
        reference = choices.reference(found, c // 7, AccessMode.WRITE)
        choices.put(Kind.LAUNCH, thread, stream=stream, status=OUT_OF_MEMORY, references=(reference,))
    elif sort == 5 and found is not None and found.kind is MemoryKind.STREAM_ORDERED:
        reference = Reference(found.base)
        choices.put(
            Kind.FREE, thread, stream=stream, detail=FreeClass.ASYNC, status=OUT_OF_MEMORY, references=(reference,)
        )
    elif found is not None and found.kind is not MemoryKind.ARRAY:
        reference = choices.reference(found, c // 7, AccessMode.WRITE, 0x20)
        choices.put(
            Kind.MEMSET, thread, stream=stream, detail=WaitClass.NONE, status=OUT_OF_MEMORY, references=(reference,)
        )
