"""Host threads and what orders them: std::thread, futures, POSIX threads, mutexes, condition variables, atomics.

A thread's body runs where it is started, as a host thread of its own; what orders it against the others is what the
model is told: start and join are promised edges, mutexes and atomics are edges of this run only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamsan.cuda_source.interpreter.frame import Thrown
from streamsan.cuda_source.interpreter.library import NOT_MODELLED, CallSite, class_, function
from streamsan.cuda_source.interpreter.library.memory import value_of
from streamsan.cuda_source.interpreter.machine import Operand
from streamsan.cuda_source.interpreter.types import CType
from streamsan.cuda_source.interpreter.values import (
    Cell,
    CellPointer,
    LibraryObject,
    Reference,
    StructObject,
    Value,
)
from streamsan.cuda_source.syntax.tree import Span
from streamsan.model.state import HostThread
from streamsan.model.values import Origin, Symbol
from streamsan.vocabulary import EdgeClass

if TYPE_CHECKING:
    from streamsan.cuda_source.interpreter.machine import Machine


class Waits(Exception):  # noqa: N818 - no error: how control leaves the thread's body
    """A thread can go on only after another has done something that is not run yet."""

    def __init__(self, span: Span) -> None:
        super().__init__("waits")
        self.span = span


class Parked(LibraryObject):
    """The rest of a thread that waits: at some time it runs, and may do anything with what it reaches."""

    class_name = "waiting thread"

    def __init__(self, given: list[Any]) -> None:
        super().__init__()
        self.given = [item.cell or item.value if isinstance(item, Operand) else item for item in given]

    def parts(self) -> list[Any]:
        """What the thread was given."""
        return self.given

    def goes_on(self, machine: Machine, span: Span) -> None:
        """Now it may have run."""
        machine.calls.opaque("", [Operand(self)], span, quiet=True)


def start(machine: Machine, callee: Value, operands: list[Operand], span: Span) -> tuple[HostThread, Value]:
    """Run a function as a new host thread; returns the thread and the function's result."""
    device = machine.device
    parent = device.thread
    name = getattr(callee, "name", "") or getattr(callee, "function", "") or "thread"
    worker = device.model.spawn(parent, name, device.site(span))
    worker.conditional = parent.conditional
    given = [_decayed(machine, operand, span) for operand in operands]
    device.thread = worker
    result: Value = None
    try:
        result = machine.expressions.load(machine.calls.invoke_value(callee, given, span), span)
    except Waits as waits:
        result = Parked([callee, *given])
        machine.not_understood(waits.span, "a thread waits here for another: what it does then is not followed")
        result.goes_on(machine, span)
    except Thrown:
        machine.not_understood(span, "an exception leaves a thread")
    finally:
        device.thread = parent
    return worker, result


def _decayed(machine: Machine, operand: Operand, span: Span) -> Operand:
    """A thread gets copies of its arguments, but for `std::ref`."""
    value = operand.cell.value if operand.cell is not None else operand.value
    if isinstance(value, Reference):
        return Operand(cell=value.cell)
    if isinstance(value, StructObject | LibraryObject):
        type = machine.expressions.type_of(operand).bare()
        cell = Cell(None, type, operand.cell.name if operand.cell is not None else "")
        machine.objects.initialise(cell, type, operand, span)
        machine.objects.adopt(cell)
        machine.reach.kept.append(cell)
        return Operand(cell=cell, moved=True)
    return Operand(machine.expressions.load(operand, span))


@class_("std::thread", "std::jthread")
class Thread(LibraryObject):
    """A host thread, or none."""

    class_name = "std::thread"

    def __init__(self, type: CType, worker: HostThread | None) -> None:
        super().__init__()
        self.type = type
        self.worker = worker
        self.rest: Value = None
        """`Parked` if the thread waits for another."""

    @classmethod
    def construct(
        cls, machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        """Start a thread, or take one over."""
        if not operands:
            return cls(type, None)
        held = operands[0].cell.value if operands[0].cell is not None else operands[0].value
        if isinstance(held, Thread):
            machine.statements.keep(held)
            return held.move(machine, span)
        if operands[0].cell is None:
            machine.reach.kept.append(held)
        worker, result = start(machine, held, operands[1:], span)
        made = cls(type, worker)
        made.rest = result if isinstance(result, Parked) else None
        return made

    @classmethod
    def unknown(cls, machine: Machine, type: CType, name: str, origin: Origin) -> LibraryObject:
        """A thread that unseen code started."""
        return cls(type, None)

    def move(self, machine: Machine, span: Span) -> LibraryObject:
        """Hand the thread over."""
        made = Thread(self.type, self.worker)
        made.rest = self.rest
        self.worker = self.rest = None
        return made

    def parts(self) -> list[Any]:
        """What a thread that waits was given."""
        return [self.rest]

    def join(self, machine: Machine, span: Span) -> None:
        """Wait for the thread."""
        if self.worker is not None:
            device = machine.device
            device.model.join(device.thread, self.worker, device.site(span))
            if isinstance(self.rest, Parked):
                self.rest.goes_on(machine, span)
            self.worker = self.rest = None

    def destroy(self, machine: Machine, span: Span) -> None:
        """A jthread joins; a std::thread must have been joined."""
        if self.type.name.endswith("jthread"):
            self.join(machine, span)

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        """Call a method."""
        if method == "join":
            self.join(machine, span)
            return None
        if method == "detach":
            self.worker = None
            return None
        if method == "joinable":
            return int(self.worker is not None)
        if method in ("operator=", "swap") and operands:
            held = operands[0].cell.value if operands[0].cell is not None else operands[0].value
            if isinstance(held, Thread):
                self.worker, held.worker = held.worker, self.worker if method == "swap" else None
                self.rest, held.rest = held.rest, self.rest if method == "swap" else None
            return Operand(self, self.cell)
        if method in ("get_id", "native_handle", "request_stop", "get_stop_token"):
            return machine.fresh(method, "opaque")
        return NOT_MODELLED


@class_("std::future", "std::shared_future")
class Future(LibraryObject):
    """The result of an asynchronous function."""

    class_name = "std::future"

    def __init__(self, type: CType, worker: HostThread | None, result: Value, key: int = 0) -> None:
        super().__init__()
        self.type = type
        self.worker = worker
        self.result = result
        self.key = key
        self.promised: Cell | None = None
        """Where a promise puts the result."""

    @classmethod
    def construct(
        cls, machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        """Nothing, or another future's."""
        if operands:
            held = operands[0].cell.value if operands[0].cell is not None else operands[0].value
            if isinstance(held, Future):
                machine.statements.keep(held)
                return held.move(machine, span)
        return cls(type, None, None)

    @classmethod
    def unknown(cls, machine: Machine, type: CType, name: str, origin: Origin) -> LibraryObject:
        """A future from unseen code."""
        return cls(type, None, machine.fresh(name, origin))

    def parts(self) -> list[Any]:
        """The result."""
        return [self.result]

    def move(self, machine: Machine, span: Span) -> LibraryObject:
        """Hand the result over."""
        made = Future(self.type, self.worker, self.result, self.key)
        made.promised = self.promised
        self.worker = None
        return made

    def wait(self, machine: Machine, span: Span) -> None:
        """Wait for the function."""
        device = machine.device
        if self.worker is not None:
            device.model.join(device.thread, self.worker, device.site(span))
            self.worker = None
        elif self.key:
            device.model.acquire(device.thread, self.key, EdgeClass.RUN, device.site(span))

    def destroy(self, machine: Machine, span: Span) -> None:
        """A future of std::async waits."""
        self.wait(machine, span)

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        """Call a method."""
        if method in ("get", "wait"):
            self.wait(machine, span)
            if isinstance(self.result, Parked):
                self.result.goes_on(machine, span)
                self.result = machine.fresh("result", "opaque")
            if method == "get" and self.promised is not None and self.promised.value is not None:
                return Operand(cell=self.promised, moved=True)
            return self.result if method == "get" else None
        if method in ("wait_for", "wait_until", "valid", "share"):
            return machine.fresh(method, "opaque") if method != "share" else Operand(self, self.cell)
        if method == "operator=" and operands:
            held = operands[0].cell.value if operands[0].cell is not None else operands[0].value
            if isinstance(held, Future):
                self.worker, self.result, self.key = held.worker, held.result, held.key
                self.promised = held.promised
                held.worker = None
            return Operand(self, self.cell)
        return NOT_MODELLED


@function("std::async", "async")
def async_(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Start a function whose result a future gives."""
    if operands and operands[0].cell is None and isinstance(operands[0].value, int | Symbol):
        operands = operands[1:]  # the launch policy
    if not operands:
        return machine.fresh("future", "opaque")
    held = operands[0].cell.value if operands[0].cell is not None else operands[0].value
    worker, result = start(machine, held, operands[1:], call.span)
    return machine.statements.temporary(Future(CType("std::future"), worker, result))


@function("pthread_create", "thrd_create")
def pthread_create(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Start a POSIX thread."""
    if len(operands) < 4:
        return 0
    target = machine.expressions.dereference(value_of(machine, operands, 0, call), call.span).cell
    callee = value_of(machine, operands, 2, call)
    worker, _ = start(machine, callee, operands[3:4], call.span)
    if target is not None:
        target.value = Thread(CType("pthread_t"), worker)
    return 0


@function("pthread_join", "pthread_detach")
def pthread_join(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Wait for a POSIX thread."""
    held = value_of(machine, operands, 0, call)
    if isinstance(held, Thread) and len(operands) > 1:
        held.join(machine, call.span)
    return 0


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
        made.held.value = machine.unknown_of(made.held.type, name, origin)
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
