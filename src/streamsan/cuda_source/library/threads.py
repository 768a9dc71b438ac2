"""Host threads: std::thread, std::async and futures, POSIX threads.

A thread's body runs where it is started, as a host thread of its own; what orders it against the others is what the
model is told: start and join are promised edges. Where it matters which thread comes first (one issues work, records
events, or waits for others), there is another path, on which main's threads run only where main waits for them. With
condition variables there is a third, on which of several such threads the last one runs first. A thread that waits for
what is still to come stops, and goes on where another notifies it or main waits. If nothing lets it go on, its rest is
code that may run at any time until it is joined.
"""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.library.host_data import value_of
from streamsan.cuda_source.library.modelled import Modelled
from streamsan.cuda_source.library.stop_tokens import StopSource, takes_token
from streamsan.cuda_source.library.thread_runs import ThreadRun, wait_until
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    NOT_MODELLED,
    CallSite,
    Cell,
    Closure,
    FunctionValue,
    LibraryObject,
    Operand,
    Reference,
    StructObject,
    Value,
    cell_name,
)
from streamsan.cuda_source.values.types import CType
from streamsan.cuda_syntax.tree import Span
from streamsan.model.process_state import HostThread
from streamsan.model.values import Origin, Symbol
from streamsan.trace.host_threads import UNNAMED
from streamsan.vocabulary import EdgeClass, MemoryKind


class Late(LibraryObject):
    """A thread that was started and has not run yet, or what came of it."""

    class_name = "thread that has not run"

    def __init__(self, worker: HostThread, callee: Value, given: list[Operand], span: Span) -> None:
        super().__init__()
        self.worker = worker
        self.callee = callee
        self.given = given
        self.span = span
        self.result: Value = None

    def parts(self) -> list[Any]:
        return [self.callee, *(item.cell or item.value for item in self.given)]

    def run(self, machine: Machine) -> Value:
        """Run it, if it has not run; returns what the function returned."""
        if machine.late_threads.pop(self.worker, None) is not None:
            self.result = _run(machine, self.worker, self.callee, self.given, self.span)
        return self.result


def _starts_late(machine: Machine, callee: Value) -> bool:
    """Decide whether main's new thread runs only where main waits for it: the program must be right either way."""
    if machine.device.thread is not machine.device.model.main_thread:
        return False
    if machine.relevance.has_host_functions:  # these tell threads what is done; the reader runs them at their call
        return False
    node = callee.node if isinstance(callee, Closure) else None
    functions = callee.functions if isinstance(callee, FunctionValue) else []
    bodies = [node.body] if node is not None else [each.body for each in functions if each.body is not None]
    if not any(machine.relevance.matters_when(body) for body in bodies):
        return False
    if machine.threads_are_late is None:
        decisions = machine.decisions
        decisions.either_way.add(len(decisions.taken))
        machine.threads_are_late = not decisions.choose(machine.fresh("threads run at once", "input"), True)
    return machine.threads_are_late


def start(
    machine: Machine, callee: Value, operands: list[Operand], span: Span, name: str = ""
) -> tuple[HostThread, Value]:
    """Run a function as a new host thread; returns the thread and the function's result.

    The thread is called as the function is; for a lambda, as the variable that holds the thread (`name`).
    """
    worker, given = _spawned(machine, callee, operands, span, name)
    if _starts_late(machine, callee):
        late = machine.late_threads[worker] = Late(worker, callee, given, span)
        machine.reach.kept.append(late)
        return worker, late
    return worker, _run(machine, worker, callee, given, span)


def _spawned(
    machine: Machine, callee: Value, operands: list[Operand], span: Span, name: str = ""
) -> tuple[HostThread, list[Operand]]:
    device = machine.device
    parent = device.thread
    name = getattr(callee, "name", "") or name or f"{UNNAMED}line {span.line}"
    worker = device.model.spawn(parent, name, device.site(span))
    worker.conditional = parent.conditional
    return worker, [_decayed(machine, operand, span) for operand in operands]


def _run(machine: Machine, worker: HostThread, callee: Value, given: list[Operand], span: Span) -> Value:
    """Run a thread until it waits for another or ends; return its function's result, or what goes on later."""

    def body() -> Value:
        return machine.expressions.load(machine.calls.invoke_value(callee, given, span), span)

    run = ThreadRun(machine, worker, body, [callee, *given], span)
    run.go_on()
    return run.result if run.is_over else run


def _decayed(machine: Machine, operand: Operand, span: Span) -> Operand:
    """A thread gets copies of its arguments, but for `std::ref`."""
    value = operand.held
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


def _variable(cell: Cell | None) -> str:
    """Return the name of the variable or member that a thread is put into; a container's element has none."""
    if cell is None or (cell.kind == MemoryKind.HOST_HEAP and not isinstance(cell.owner, StructObject)):
        return ""
    return cell_name(cell)


class Thread(Modelled):
    """A host thread, or none."""

    class_name = "std::thread"
    contents = ("worker", "rest", "stop")
    own_parts = ("rest", "stop")
    move = Modelled.handed_over

    def __init__(self, type: CType, worker: HostThread | None = None) -> None:
        super().__init__(type)
        self.worker = worker
        self.rest: Value = None
        """what is left of it: it has not run yet, or waits for another"""
        self.stop = StopSource(CType("std::stop_source"))
        """what asks a jthread to end"""

    @classmethod
    def construct(
        cls, machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        """Start a thread, or take one over."""
        if not operands:
            return cls(type)
        held = operands[0].held
        if isinstance(held, Thread):
            machine.statements.keep(held)
            return held.move(machine, span)
        if operands[0].cell is None:
            machine.reach.kept.append(held)
        made = cls(type)
        given = operands[1:]
        if takes_token(held, len(given)):
            given = [Operand(made.stop.token()), *given]
        made.worker, result = start(machine, held, given, span, _variable(cell))
        made.rest = result if isinstance(result, ThreadRun | Late) else None
        return made

    def join(self, machine: Machine, span: Span) -> None:
        """Wait for the thread."""
        if self.worker is not None:
            device = machine.device
            self._run_late(machine)
            rest = self.rest if isinstance(self.rest, ThreadRun) and not self.rest.is_awaited() else None
            device.model.join(device.thread, self.worker, device.site(span))
            if rest is not None:
                rest.may_have_run(span)
            self.worker = self.rest = None

    def _run_late(self, machine: Machine) -> None:
        if isinstance(self.rest, Late):
            if machine.last_thread_is_first():
                machine.run_late_threads()
            self.rest = self.rest.run(machine)

    def destroy(self, machine: Machine, span: Span) -> None:
        """A jthread is asked to end, and joins; a std::thread must have been joined."""
        if self.type.name.endswith("jthread"):
            self.stop.request(machine, span)
            self.join(machine, span)

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        if method == "join":
            self.join(machine, span)
            return None
        if method == "detach":
            self._run_late(machine)
            self.worker = None
            return None
        if method == "joinable":
            return int(self.worker is not None)
        if method in ("operator=", "swap") and operands:
            held = operands[0].held
            if isinstance(held, Thread):
                self.worker, held.worker = held.worker, self.worker if method == "swap" else None
                self.rest, held.rest = held.rest, self.rest if method == "swap" else None
                self.stop, held.stop = held.stop, self.stop
            return Operand(self, self.cell)
        if method == "request_stop":
            return self.stop.request(machine, span)
        if method == "get_stop_token":
            return machine.statements.temporary(self.stop.token())
        if method in ("get_id", "native_handle"):
            return machine.fresh(method, "opaque")
        return NOT_MODELLED


class Future(Modelled):
    """The result of an asynchronous function."""

    class_name = "std::future"
    own_parts = ("result",)

    def __init__(self, type: CType, worker: HostThread | None = None, result: Value = None, key: int = 0) -> None:
        super().__init__(type)
        self.worker = worker
        self.result = result
        self.key = key
        self.promised: Cell | None = None
        """Where a promise puts the result."""

    @classmethod
    def construct(
        cls, machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        if operands:
            held = operands[0].held
            if isinstance(held, Future):
                machine.statements.keep(held)
                return held.move(machine, span)
        return cls(type)

    def begin_unknown(self, machine: Machine, name: str, origin: Origin) -> None:
        self.result = machine.fresh(name, origin)

    def move(self, machine: Machine, span: Span) -> LibraryObject:
        made = Future(self.type, self.worker, self.result, self.key)
        made.promised = self.promised
        self.worker = None
        return made

    def wait(self, machine: Machine, span: Span) -> None:
        """Wait for the function."""
        device = machine.device
        if isinstance(self.result, Late):
            self.result = self.result.run(machine)
        if self.worker is not None:
            rest = self.result
            if isinstance(rest, ThreadRun):
                self.result = rest.result if rest.is_awaited() else machine.fresh("result", "opaque")
            device.model.join(device.thread, self.worker, device.site(span))
            if isinstance(rest, ThreadRun) and not rest.is_over:
                rest.may_have_run(span)
            self.worker = None
        elif self.key:
            wait_until(machine, self._is_set, span)
            device.model.acquire(device.thread, self.key, EdgeClass.RUN, device.site(span))

    def _is_set(self) -> bool | None:
        return None if self.promised is None else self.promised.value is not None

    def destroy(self, machine: Machine, span: Span) -> None:
        """A future of std::async waits, one of a promise does not."""
        if self.worker is not None:
            self.wait(machine, span)

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        if method in ("get", "wait"):
            self.wait(machine, span)
            if method == "get" and self.promised is not None and self.promised.value is not None:
                return Operand(cell=self.promised, moved=True)
            return self.result if method == "get" else None
        if method in ("wait_for", "wait_until", "valid", "share"):
            return machine.fresh(method, "opaque") if method != "share" else Operand(self, self.cell)
        if method == "operator=" and operands:
            held = operands[0].held
            if isinstance(held, Future):
                self.worker, self.result, self.key = held.worker, held.result, held.key
                self.promised = held.promised
                held.worker = None
            return Operand(self, self.cell)
        return NOT_MODELLED


def async_(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Start a function whose result a future gives."""
    if operands and operands[0].cell is None and isinstance(operands[0].value, int | Symbol):
        operands = operands[1:]  # the launch policy
    if not operands:
        return machine.fresh("future", "opaque")
    held = operands[0].held
    worker, result = start(machine, held, operands[1:], call.span)
    return machine.statements.temporary(Future(CType("std::future"), worker, result))


def pthread_create(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Start a POSIX thread. It runs at once: what main waits for is not told apart among POSIX's calls."""
    if len(operands) < 4:
        return 0
    target = machine.expressions.dereference(value_of(machine, operands, 0, call), call.span).cell
    callee = value_of(machine, operands, 2, call)
    worker, given = _spawned(machine, callee, operands[3:4], call.span)
    _run(machine, worker, callee, given, call.span)
    if target is not None:
        target.value = Thread(CType("pthread_t"), worker)
    return 0


def pthread_join(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Wait for a POSIX thread."""
    held = value_of(machine, operands, 0, call)
    if isinstance(held, Thread) and len(operands) > 1:
        held.join(machine, call.span)
    return 0
