"""What makes threads wait by counting: semaphores, latches, barriers. Where a count is not known, none waits."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.library.synchroniser import Synchroniser
from streamsan.cuda_source.library.thread_runs import wait_until
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import NOT_MODELLED, Operand
from streamsan.cuda_source.values.types import CType
from streamsan.cuda_syntax.tree import Span


class Counter(Synchroniser):
    """A count that one thread changes and another waits for."""

    def __init__(self, type: CType) -> None:
        super().__init__(type)
        self.count: int | None = None
        """None: not known"""

    def begin(self, machine: Machine, operands: list[Operand], span: Span) -> None:
        self.count = self._number(machine, operands, span, None)

    def _number(self, machine: Machine, operands: list[Operand], span: Span, otherwise: int | None) -> int | None:
        """Return the first argument, if it is known; `otherwise` where none is given."""
        if not operands:
            return otherwise
        value = machine.known(machine.expressions.load(operands[0], span))
        return value if isinstance(value, int) else None

    def _add(self, machine: Machine, change: int | None, span: Span) -> None:
        """Change the count, and let those that wait for it see what this thread has seen."""
        self.release(machine, span)
        self.count = None if self.count is None or change is None else self.count + change
        machine.notified()
        machine.released()


class Semaphore(Counter):
    """`acquire` takes one of what there is, `release` gives some back."""

    class_name = "std::counting_semaphore"

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        """Call a method."""
        if method == "release":
            self._add(machine, self._number(machine, operands, span, 1), span)
            return None
        if method in ("acquire", "try_acquire", "try_acquire_for", "try_acquire_until"):
            wait_until(machine, lambda: None if self.count is None else self.count > 0, span)
            if self.count is not None:
                self.count -= 1
            self.acquire(machine, span)
            return None if method == "acquire" else 1
        return NOT_MODELLED


class Latch(Counter):
    """Threads count down, and wait until nothing is left."""

    class_name = "std::latch"

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        """Call a method."""
        if method in ("count_down", "arrive_and_wait"):
            change = self._number(machine, operands, span, 1)
            self._add(machine, None if change is None else -change, span)
        if method in ("wait", "arrive_and_wait", "try_wait"):
            wait_until(machine, lambda: None if self.count is None else self.count <= 0, span)
            self.acquire(machine, span)
            return 1 if method == "try_wait" else None
        return None if method == "count_down" else NOT_MODELLED


class Barrier(Counter):
    """As many threads as it counts wait for each other, again and again."""

    class_name = "std::barrier"

    def __init__(self, type: CType) -> None:
        super().__init__(type)
        self.arrived = 0
        self.phase = 0

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        """Call a method."""
        if method == "arrive_and_wait":
            own = self.phase
            self._arrive(machine, 1, span)
            self._wait(machine, own, span)
            return None
        if method in ("arrive", "arrive_and_drop"):
            own = self.phase
            if method == "arrive_and_drop" and self.count is not None:
                self.count -= 1
                self.arrived -= 1
            self._arrive(machine, self._number(machine, operands, span, 1), span)
            return own
        if method == "wait":
            token = self._number(machine, operands, span, None)
            self._wait(machine, token, span)
            return None
        return NOT_MODELLED

    def _arrive(self, machine: Machine, many: int | None, span: Span) -> None:
        if many is None:
            self.count = None
        elif self.count is not None:
            self.arrived += many
            if self.arrived >= self.count:
                self.arrived = 0
                self.phase += 1
        self._add(machine, 0, span)

    def _wait(self, machine: Machine, phase: int | None, span: Span) -> None:
        wait_until(machine, lambda: None if self.count is None or phase is None else self.phase > phase, span)
        self.acquire(machine, span)
