"""What orders host threads against each other: mutexes, condition variables, promises, atomics, once-flags.

They are edges of this run only: that one thread came first is how this interleaving went, no promise of the program.
"""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.interpreter.library import class_, function
from streamsan.cuda_source.interpreter.library.face import NOT_MODELLED, CallSite, Machine
from streamsan.cuda_source.interpreter.library.memory import value_of
from streamsan.cuda_source.interpreter.library.threads import Future, Waits
from streamsan.cuda_source.interpreter.types import CType
from streamsan.cuda_source.interpreter.values import Cell, CellPointer, LibraryObject, Operand
from streamsan.cuda_syntax.tree import Span
from streamsan.model.values import Origin
from streamsan.vocabulary import EdgeClass


class Synchroniser(LibraryObject):
    """An object with a sync key of the model."""

    class_name = "synchroniser"

    def __init__(self, type: CType) -> None:
        super().__init__()
        self.type = type
        self._key = 0

    @classmethod
    def construct(
        cls, machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        """A new one."""
        return cls(type)

    @classmethod
    def unknown(cls, machine: Machine, type: CType, name: str, origin: Origin) -> LibraryObject:
        """One that unseen code made."""
        return cls(type)

    def acquire(self, machine: Machine, span: Span) -> None:
        """See what was released."""
        device = machine.device
        self._key = self._key or device.model.sync_key()
        device.model.acquire(device.thread, self._key, EdgeClass.RUN, device.site(span))

    def release(self, machine: Machine, span: Span) -> None:
        """Publish what the thread has seen."""
        device = machine.device
        self._key = self._key or device.model.sync_key()
        device.model.release(device.thread, self._key, EdgeClass.RUN, device.site(span))


@class_("std::mutex", "std::recursive_mutex", "std::shared_mutex", "std::timed_mutex", "std::binary_semaphore",
        "std::counting_semaphore", "std::condition_variable", "std::condition_variable_any", "std::barrier",
        "std::latch", "std::promise", "std::once_flag", "std::atomic_flag")  # fmt: skip
class Mutex(Synchroniser):
    """A mutex, and whatever else one thread signals and another waits for."""

    class_name = "std::mutex"
    promised: Cell | None = None
    _ACQUIRE = frozenset({"lock", "lock_shared", "acquire", "wait", "arrive_and_wait", "wait_for", "wait_until"})
    _RELEASE = frozenset({"unlock", "unlock_shared", "release", "notify_one", "notify_all", "arrive_and_wait",
                          "count_down", "set_value", "arrive", "clear", "set_exception"})  # fmt: skip

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        """Call a method."""
        if method in ("try_lock", "try_acquire", "test_and_set"):
            self.acquire(machine, span)
            return 1 if method != "test_and_set" else 0
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
        if method not in self._ACQUIRE and method not in self._RELEASE:
            return NOT_MODELLED
        if method in self._RELEASE:
            self.release(machine, span)
        if method == "wait" and self.type.name.rpartition("::")[2].startswith("condition_variable"):
            self._wait(machine, operands[1:], span)
        if method in self._ACQUIRE:
            for operand in operands[:1]:
                lock = operand.cell.value if operand.cell is not None else operand.value
                if isinstance(lock, Lock):
                    lock.relock(machine, span)
            self.acquire(machine, span)
        return None

    def parts(self) -> list[Any]:
        """What was promised."""
        return [self.promised] if self.promised is not None else []

    def _promised(self) -> Cell:
        self.promised = self.promised or Cell(None, CType("auto"), "promised")
        return self.promised

    def _wait(self, machine: Machine, predicate: list[Operand], span: Span) -> None:
        """A thread's body runs where it starts: if what it waits for is still to come, it cannot go on here."""
        device = machine.device
        if device.thread is device.model.main_thread:
            return
        if predicate:
            held = predicate[0].cell.value if predicate[0].cell is not None else predicate[0].value
            result = machine.expressions.load(machine.calls.invoke_value(held, [], span), span)
            if machine.truth(result) is not False:
                return
        raise Waits(span)


@class_("std::lock_guard", "std::unique_lock", "std::scoped_lock", "std::shared_lock")
class Lock(LibraryObject):
    """A mutex held for a scope."""

    class_name = "std::unique_lock"

    def __init__(self, type: CType, mutexes: list[Synchroniser]) -> None:
        super().__init__()
        self.type = type
        self.mutexes = mutexes
        self.held = bool(mutexes)

    @classmethod
    def construct(
        cls, machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        """Lock the mutexes."""
        found = [operand.cell.value if operand.cell is not None else operand.value for operand in operands]
        mutexes = [value for value in found if isinstance(value, Synchroniser)]
        for mutex in mutexes:
            mutex.acquire(machine, span)
        return cls(type, mutexes)

    @classmethod
    def unknown(cls, machine: Machine, type: CType, name: str, origin: Origin) -> LibraryObject:
        """A lock that unseen code holds."""
        return cls(type, [])

    def relock(self, machine: Machine, span: Span) -> None:
        """Wait on a condition variable: the mutex is given up and taken again."""
        for mutex in self.mutexes:
            mutex.release(machine, span)
            mutex.acquire(machine, span)

    def destroy(self, machine: Machine, span: Span) -> None:
        """Unlock."""
        if self.held:
            self.held = False
            for mutex in reversed(self.mutexes):
                mutex.release(machine, span)

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        """Call a method."""
        if method == "unlock":
            self.destroy(machine, span)
            return None
        if method in ("lock", "try_lock"):
            self.held = True
            for mutex in self.mutexes:
                mutex.acquire(machine, span)
            return 1
        if method in ("owns_lock", "operator bool"):
            return int(self.held)
        return NOT_MODELLED


@class_("std::atomic", "std::atomic_int", "std::atomic_bool", "std::atomic_size_t", "std::atomic_uint", "cuda::atomic")
class Atomic(Synchroniser):
    """An atomic variable: its stores release, its loads acquire."""

    class_name = "std::atomic"

    def __init__(self, type: CType) -> None:
        super().__init__(type)
        element = type.arguments[0] if type.arguments and isinstance(type.arguments[0], CType) else CType("int")
        self.held = Cell(0, element, "atomic")

    @classmethod
    def construct(
        cls, machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        """Holds what is given."""
        made = cls(type)
        if operands:
            held = operands[0].cell.value if operands[0].cell is not None else operands[0].value
            made.held.value = (
                held.held.value if isinstance(held, Atomic) else machine.expressions.load(operands[0], span)
            )
        return made

    @classmethod
    def unknown(cls, machine: Machine, type: CType, name: str, origin: Origin) -> LibraryObject:
        """An atomic that unseen code set."""
        made = cls(type)
        made.held.value = machine.objects.unknown(made.held.type, name, origin)
        return made

    def parts(self) -> list[Any]:
        """The value."""
        return [self.held]

    def truth(self) -> bool | None:
        """The value as a condition."""
        return bool(self.held.value) if isinstance(self.held.value, int | float) else None

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        """Call a method."""
        operators = machine.expressions.operators
        value = machine.expressions.load(operands[0], span) if operands else None
        old = self.held.value
        if method in ("load", "wait") or method.startswith("operator ") or method in ("operator==", "operator!="):
            self.acquire(machine, span)
            return operators.compare(method[8:], old, value) if method in ("operator==", "operator!=") else old
        if method in ("store", "operator=", "exchange"):
            if method == "exchange":
                self.acquire(machine, span)
            self.held.value = value
            self.release(machine, span)
            return old if method == "exchange" else value
        arithmetic = {"fetch_add": "+", "fetch_sub": "-", "operator++": "+", "operator--": "-", "operator+=": "+",
                      "operator-=": "-", "fetch_or": "|", "fetch_and": "&"}.get(method)  # fmt: skip
        if arithmetic is not None:
            self.acquire(machine, span)
            amount = 1 if method in ("operator++", "operator--") else value
            self.held.value = operators.arithmetic(arithmetic, old, amount)
            self.release(machine, span)
            return old if method.startswith("fetch") else self.held.value
        if method.startswith("compare_exchange"):
            self.acquire(machine, span)
            if len(operands) > 1:
                self.held.value = machine.expressions.load(operands[1], span)
            self.release(machine, span)
            return 1
        if method in ("notify_one", "notify_all"):
            self.release(machine, span)
            return None
        return NOT_MODELLED


@function("std::call_once", "call_once")
def call_once(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The function runs the first time."""
    if len(operands) < 2 or operands[0].cell is None:
        return None
    flag = operands[0].cell.value
    if isinstance(flag, Synchroniser) and not getattr(flag, "called", False):
        flag.called = True  # type: ignore[attr-defined]
        callee = operands[1].cell.value if operands[1].cell is not None else operands[1].value
        machine.calls.invoke_value(callee, operands[2:], call.span)
        flag.release(machine, call.span)
    elif isinstance(flag, Synchroniser):
        flag.acquire(machine, call.span)
    return None


@function("pthread_mutex_lock", "pthread_mutex_unlock", "pthread_cond_wait", "pthread_cond_signal",
          "pthread_cond_broadcast", "sem_wait", "sem_post", "pthread_mutex_init", "pthread_mutex_destroy")  # fmt: skip
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
