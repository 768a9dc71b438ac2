"""Recordings made by hand: what a recorder writes, an operation a line."""

from __future__ import annotations

import numpy as np
from order_program import PRIMARY, Program

from streamsan.trace import Trace
from streamsan.trace.layout import SLOT, TEXT
from streamsan.trace.store import MemorySlots
from streamsan.vocabulary import CallClass, SlotFlag
from streamsan.vocabulary import OperationKind as Kind


class Recording(Program):
    """A recording of a process with some host threads, all with the primary context current."""

    def __init__(
        self, *streams: int, threads: int = 2, processes: tuple[int, ...] | None = None, whole: bool = True
    ) -> None:
        super().__init__(whole=whole, processes=processes or (0,) * threads, origin="recording")
        self.words: dict[int, str] = {}
        for thread in range(1, threads if processes is None else 1):
            self.current(PRIMARY, thread=thread)
        for stream in streams:
            self.stream(stream)

    def entered(self, kind: Kind, **fields: object) -> int:
        """A call that was entered and did not return."""
        return self.op(kind, flags=SlotFlag.ENTER, **fields)  # type: ignore[arg-type]

    def explained(self, text: str, thread: int = 0) -> None:
        """The driver's own words on the thread's latest call."""
        self.op(Kind.CALL, detail=CallClass.EXPLAINED, api="", thread=thread)
        self.words[self.builder.operations] = text

    def trace(self) -> Trace:
        """The trace, with the driver's words in continuations."""
        trace = super().trace()
        if self.words:
            trace.slots = MemorySlots(self._with_words(trace))
        return trace

    def _with_words(self, trace: Trace) -> np.ndarray:
        slots = np.concatenate(list(trace.chunks()))
        parts = []
        for slot in slots.reshape(-1, 1):
            parts.append(slot)
            if slot["kind"][0] >= Kind.REFERENCES or int(slot["sequence"][0]) not in self.words:
                continue
            text = self.words[int(slot["sequence"][0])].encode()
            pieces = [text[at : at + 56] for at in range(0, len(text), 56)]
            slot["more"] = len(pieces)
            for piece in pieces:
                more = np.zeros(1, TEXT)
                more["kind"], more["text"], more["length"] = Kind.TEXT, piece, len(piece)
                parts.append(more.view(SLOT))
        return np.concatenate(parts)
