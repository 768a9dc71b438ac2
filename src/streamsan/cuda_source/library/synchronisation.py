"""What orders host threads against each other: mutexes, condition variables, promises, once-flags.

They are edges of this run only: that one thread came first is how this interleaving went, no promise of the program.
"""

from __future__ import annotations

from typing import Any, ClassVar

from streamsan.cuda_source.library.callables import Function
from streamsan.cuda_source.library.host_data import value_of
from streamsan.cuda_source.library.modelled import Modelled
from streamsan.cuda_source.library.synchroniser import Synchroniser
from streamsan.cuda_source.library.thread_runs import wait_once, wait_until
from streamsan.cuda_source.library.threads import Future
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    NOT_MODELLED,
    CallSite,
    Cell,
    CellPointer,
    LibraryObject,
    Operand,
    Value,
)
from streamsan.cuda_source.values.types import CType
from streamsan.cuda_syntax.tree import Span


class Mutex(Synchroniser):
    """A mutex, and whatever else one thread signals and another waits for."""

    class_name = "std::mutex"
    own_parts = ("promised",)
    promised: Cell | None = None
    _WAITS_FOR_A_WHILE = frozenset({"wait_for", "wait_until"})
    _ACQUIRE = _WAITS_FOR_A_WHILE | {"wait", "lock", "lock_shared"}
    _RELEASE = frozenset({"unlock", "unlock_shared", "notify_one", "notify_all", "set_value", "set_exception"})

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        if method == "try_lock":
            self.acquire(machine, span)
            return 1
        if method == "get_future":
            device = machine.device
            self._key = self._key or device.model.sync_key()
            future = Future(CType("std::future"), None, machine.fresh("result", "opaque"), self._key)
            future.promised = self._promised()
            return machine.statements.temporary(future)
        if method == "set_value" and operands:
            result = self._promised()
            machine.objects.initialise(result, machine.expressions.type_of(operands[0]).bare(), operands[0], span)
            machine.objects.adopt(result)
        if method == "set_value" and not operands:
            self._promised().value = 0
        if method not in self._ACQUIRE and method not in self._RELEASE:
            return NOT_MODELLED
        if method in self._RELEASE:
            self.release(machine, span)
        if method.startswith("unlock"):
            machine.unlocked()
        if method.startswith("notify"):
            machine.notified()
        if method in self._RELEASE:
            machine.released()
        if method == "wait" and self.type.name.rpartition("::")[2].startswith("condition_variable"):
            self._wait(machine, operands, span)
        if method in self._WAITS_FOR_A_WHILE:
            machine.run_late_threads()
        if method in self._ACQUIRE:
            for operand in operands[:1]:
                lock = operand.held
                if isinstance(lock, Lock):
                    lock.relock(machine, span)
            self.acquire(machine, span)
        if method in ("lock", "lock_shared"):
            machine.locked()
        return None

    def _promised(self) -> Cell:
        self.promised = self.promised or Cell(None, CType("auto"), "promised")
        return self.promised

    def _wait(self, machine: Machine, operands: list[Operand], span: Span) -> None:
        """Wait on a condition variable, for the condition that is given, or to be woken once."""
        lock = operands[0].held if operands else None
        if len(operands) < 2:
            wait_once(machine, span)
            return
        *tokens, condition = operands[1:]
        held = condition.held

        def holds() -> bool | None:
            if any(machine.truth(_requested(machine, token, span)) for token in tokens):
                return True
            return machine.truth(machine.expressions.load(machine.calls.invoke_value(held, [], span), span))

        if holds() is False:
            if isinstance(lock, Lock):
                lock.give_up(machine, span)
            wait_until(machine, holds, span)


class PackagedTask(Function):
    """A function whose result goes to a future. The future's end waits for nothing: it is that of a promise."""

    class_name = "std::packaged_task"
    own_parts: ClassVar[tuple[str, ...]] = ("held", "promise")

    def __init__(self, type: CType, held: Value = 0) -> None:
        super().__init__(type, held)
        self.promise = Mutex(CType("std::promise"))

    def copy(self, machine: Machine, span: Span) -> LibraryObject:
        made = PackagedTask(self.type, self.held.value)
        made.promise = self.promise
        return made

    def take(self, machine: Machine, operand: Operand, span: Span) -> None:
        source = operand.held
        if isinstance(source, PackagedTask):
            self.promise = source.promise
        super().take(machine, operand, span)

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        if method == "get_future":
            return self.promise.call(machine, method, [], span)
        result = super().call(machine, method, operands, span)
        if method == "operator()":
            given = machine.calls.as_operand(result)
            self.promise.call(machine, "set_value", [] if given.held is None else [given], span)
            return None
        return result


class Lock(Modelled):
    """A mutex held for a scope."""

    class_name = "std::unique_lock"

    def __init__(self, type: CType) -> None:
        super().__init__(type)
        self.mutexes: list[Synchroniser] = []
        self.held = False

    def begin(self, machine: Machine, operands: list[Operand], span: Span) -> None:
        self.mutexes = [value for operand in operands if isinstance(value := operand.held, Synchroniser)]
        self.held = bool(self.mutexes)
        for mutex in self.mutexes:
            mutex.acquire(machine, span)
        if self.held:
            machine.locked()

    def give_up(self, machine: Machine, span: Span) -> None:
        """Let others have the mutex while the thread waits."""
        for mutex in self.mutexes:
            mutex.release(machine, span)

    def relock(self, machine: Machine, span: Span) -> None:
        """Wait on a condition variable: the mutex is given up and taken again."""
        for mutex in self.mutexes:
            mutex.release(machine, span)
            mutex.acquire(machine, span)

    def destroy(self, machine: Machine, span: Span) -> None:
        if self.held:
            self.held = False
            for mutex in reversed(self.mutexes):
                mutex.release(machine, span)
            machine.unlocked()

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        if method == "unlock":
            self.destroy(machine, span)
            return None
        if method in ("lock", "try_lock"):
            if not self.held:
                machine.locked()
            self.held = True
            for mutex in self.mutexes:
                mutex.acquire(machine, span)
            return 1
        if method in ("owns_lock", "operator bool"):
            return int(self.held)
        return NOT_MODELLED


def call_once(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The function runs the first time."""
    if len(operands) < 2 or operands[0].cell is None:
        return None
    flag = operands[0].cell.value
    if isinstance(flag, Synchroniser) and not getattr(flag, "called", False):
        flag.called = True  # type: ignore[attr-defined]
        callee = operands[1].held
        machine.calls.invoke_value(callee, operands[2:], call.span)
        flag.release(machine, call.span)
    elif isinstance(flag, Synchroniser):
        flag.acquire(machine, call.span)
    return None


def pthread_sync(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """POSIX synchronisation: each object is one key; waiting acquires, signalling releases."""
    value = value_of(machine, operands, 0, call)
    if isinstance(value, CellPointer):
        held = value.cell.value
        if not isinstance(held, Synchroniser):
            held = Mutex(CType("pthread_mutex_t"))
            value.cell.value = held
        held.acquire(machine, call.span)
        held.release(machine, call.span)
    return 0


def _requested(machine: Machine, token: Operand, span: Span) -> Value:
    """Return whether a stop token has been told to end."""
    held = token.held
    return held.call(machine, "stop_requested", [], span) if isinstance(held, LibraryObject) else None
