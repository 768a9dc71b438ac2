"""Loops that turn until another thread changes an atomic variable: `while (!ready.load()) std::this_thread::yield();`

A turn that asked for atomics, or paused, and did nothing is one of many: the next one that is different comes when
another thread has told something. So the thread waits there, and others go on. Where none of them does, the loop ends
as if what it waits for had come: code that nobody can see may tell it.
"""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.library.thread_runs import spin_until
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import Cell
from streamsan.cuda_syntax.tree import Expression, Name, Statement


class SpinWait:
    """One run of a loop that may be a wait for another thread."""

    def __init__(self, machine: Machine, condition: Expression | None, body: Statement) -> None:
        self._machine = machine
        self._span = body.span if condition is None else condition.span
        parts = [body] if condition is None else [condition, body]
        assigned = [each for part in parts for each in machine.relevance.assigned(part)]
        declared = machine.relevance.declares(body)
        outside = {each.name for each in assigned if isinstance(each, Name)} - declared
        self._counts = [cell for name in outside if isinstance(cell := machine.find(name), Cell)]
        """variables of its own that the loop may count in"""
        self._asked = self._changed = 0
        self._before: tuple[Any, ...] = ()
        self._woken = 0

    def begin_turn(self) -> None:
        """A turn begins, with its condition."""
        signals = self._machine.signals
        self._asked, self._changed, self._before = signals.asked, len(signals.changed), self._done()

    def _done(self) -> tuple[Any, ...]:
        machine = self._machine
        counts = [each.value for each in self._counts]
        return machine.issued, machine.passed_waits, len(machine.decisions.taken), counts

    @property
    def is_idle(self) -> bool:
        """Whether the turn asked for atomics, and came to nothing: what it locked, it has unlocked."""
        signals = self._machine.signals
        if signals.asked == self._asked or self._done() != self._before:
            return False
        first = {id(cell): (cell, old) for cell, old in reversed(signals.changed[self._changed :])}
        return all(cell.value == old for cell, old in first.values())

    def wait(self) -> bool:
        """Let others go on until one of them tells something; False if none does."""
        machine = self._machine
        signals, told = machine.signals, machine.signals.told
        self._woken += 1
        return self._woken <= machine.limits.iterations and spin_until(
            machine, lambda: signals.told != told, self._span
        )
