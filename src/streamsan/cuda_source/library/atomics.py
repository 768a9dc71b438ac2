"""Atomic variables of the host: what is stored releases, what is loaded acquires. Threads wait for each other so."""

from __future__ import annotations

from typing import Any, Final

from streamsan.cuda_source.library.synchroniser import Synchroniser
from streamsan.cuda_source.library.thread_runs import wait_until
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import NOT_MODELLED, Cell, Operand, Value
from streamsan.cuda_source.values.types import CType
from streamsan.cuda_syntax.tree import Span
from streamsan.model.values import Origin

_ARITHMETIC: Final = {
    "fetch_add": "+", "fetch_sub": "-", "operator++": "+", "operator--": "-", "operator+=": "+", "operator-=": "-",
    "fetch_or": "|", "fetch_and": "&",
}  # fmt: skip


class Atomic(Synchroniser):
    """An atomic variable: its stores release, its loads acquire."""

    class_name = "std::atomic"
    own_parts = ("held",)

    def __init__(self, type: CType) -> None:
        super().__init__(type)
        element = type.arguments[0] if type.arguments and isinstance(type.arguments[0], CType) else CType("int")
        self.held = Cell(0, element, "atomic")

    def begin(self, machine: Machine, operands: list[Operand], span: Span) -> None:
        if operands:
            held = operands[0].held
            given = held.held.value if isinstance(held, Atomic) else machine.expressions.load(operands[0], span)
            self.held.value = given

    def begin_unknown(self, machine: Machine, name: str, origin: Origin) -> None:
        self.held.value = machine.objects.unknown(self.held.type, name, origin)

    def truth(self) -> bool | None:
        return bool(self.held.value) if isinstance(self.held.value, int | float) else None

    def worth(self, machine: Machine, span: Span) -> Value:
        machine.run_late_threads()
        return self.look(machine, span)

    def look(self, machine: Machine, span: Span) -> Value:
        """Load the value."""
        machine.signals.asked += 1
        self.acquire(machine, span)
        return self.held.value

    def put(self, machine: Machine, value: Value, span: Span) -> None:
        """Store a value: threads that wait for another one than there was can go on."""
        known = isinstance(value, int | float) and isinstance(self.held.value, int | float)
        old, self.held.value = self.held.value, value
        self.release(machine, span)
        if not known or value != old:
            machine.signals.changed.append((self.held, old))
            machine.notified()
            machine.released()

    def await_other(self, machine: Machine, value: Value, span: Span) -> None:
        """Wait until the value is another one."""
        equal = machine.expressions.operators.compare
        wait_until(machine, lambda: machine.truth(equal("!=", self.held.value, value)), span)
        self.look(machine, span)

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        operators = machine.expressions.operators
        value = machine.expressions.load(operands[0], span) if operands else None
        if method == "wait":
            self.await_other(machine, value, span)
            return None
        if method in ("notify_one", "notify_all"):
            self.release(machine, span)
            return None
        if method.startswith("compare_exchange"):
            return self._compare_exchange(machine, operands, value, span)
        if method in ("store", "operator="):
            self.put(machine, value, span)
            return value
        if method == "exchange":
            old = self.look(machine, span)
            self.put(machine, value, span)
            return old
        arithmetic = _ARITHMETIC.get(method)
        if arithmetic is not None:
            old = self.look(machine, span)
            made = operators.arithmetic(arithmetic, old, 1 if method in ("operator++", "operator--") else value)
            self.put(machine, made, span)
            return old if method.startswith("fetch") else made
        if method == "load" or method.startswith("operator "):
            return self.worth(machine, span)
        return NOT_MODELLED

    def _compare_exchange(self, machine: Machine, operands: list[Operand], expected: Value, span: Span) -> int:
        held = self.look(machine, span)
        known = isinstance(held, int | float) and isinstance(expected, int | float)
        if known and held != expected:
            if operands[0].cell is not None:
                operands[0].cell.value = held
            return 0
        if len(operands) > 1:
            self.put(machine, machine.expressions.load(operands[1], span), span)
        return 1


class AtomicFlag(Atomic):
    """A flag, which is also how locks are built."""

    class_name = "std::atomic_flag"

    def begin(self, machine: Machine, operands: list[Operand], span: Span) -> None:
        """It is clear at first, whatever `ATOMIC_FLAG_INIT` is."""

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        if method == "test_and_set":
            old = self.look(machine, span)
            self.put(machine, 1, span)
            return old if isinstance(old, int) else 0
        if method == "clear":
            self.put(machine, 0, span)
            return None
        if method == "test":
            machine.run_late_threads()
            return self.look(machine, span)
        return (
            super().call(machine, method, operands, span)
            if method in ("wait", "notify_one", "notify_all")
            else NOT_MODELLED
        )
