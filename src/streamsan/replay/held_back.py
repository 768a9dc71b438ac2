"""Host threads that wait while others go on: their calls come later than in the trace."""

from __future__ import annotations

from collections.abc import Iterator

from streamsan.replay.replayed_machine import ReplayedMachine
from streamsan.replay.replayed_steps import Step
from streamsan.vocabulary import OperationKind

_MAKES = (
    OperationKind.STREAM_CREATE,
    OperationKind.EVENT_CREATE,
    OperationKind.CONTEXT_CREATE,
    OperationKind.GRAPH_INSTANTIATE,
    OperationKind.HOST_RELEASE,
)


class HeldBack:
    """The calls that could not be made in the order of the trace."""

    def __init__(self, machine: ReplayedMachine, pending: int) -> None:
        """Begin with none. `pending` is the operation that is to come behind: who waits for it is held back."""
        self._machine = machine
        self._pending = pending
        self._threads: set[int] = set()
        self._missing: dict[tuple[int, int, int], int] = {}
        """what a call that was held back would have made -> that call"""
        self.held_back: set[int] = set()
        """sequence numbers"""

    def attempt(self, step: Step) -> None:
        """Make a call if its thread can go on, and what it names is there."""
        waits = step.thread in self._threads or any(name in self._missing for name in _names(step))
        if waits or not self._machine.let_go_on(step, self._pending):
            self._threads.add(step.thread)
            self.held_back.add(step.sequence)
            self._missing.update((name, step.sequence) for name in _made(step))
        else:
            self._machine.issue(step)

    def release(self, step: Step) -> None:
        """Make a call that was held back."""
        self.held_back.discard(step.sequence)
        self._machine.issue(step)


def _made(step: Step) -> Iterator[tuple[int, int, int]]:
    if step.kind in _MAKES:
        yield step.process, 0, step.object
    elif step.kind is OperationKind.ALLOC and step.memory is not None:
        yield step.process, 1, step.memory.number


def _names(step: Step) -> Iterator[tuple[int, int, int]]:
    yield step.process, 0, step.object
    yield step.process, 0, step.stream
    if step.memory is not None:
        yield step.process, 1, step.memory.number
    for access in step.accesses:
        yield step.process, 1, access.memory.number
