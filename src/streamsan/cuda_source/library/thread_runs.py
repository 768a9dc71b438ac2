"""The body of a host thread under execution: where it waits for another thread it stops, and later it goes on.

Each has a stack of its own (greenlet), and of the machine's state what belongs to a thread.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from greenlet import GreenletExit, getcurrent, greenlet
from msgspec import Struct

from streamsan.cuda_source.machine import Activity, Machine
from streamsan.cuda_source.values.cells import CallSite, LibraryObject, Operand, Value
from streamsan.cuda_source.values.frame import Thrown
from streamsan.cuda_syntax.tree import Span
from streamsan.model.process_state import HostThread


class _Suspended(Struct):
    """The state of the machine and of the variables of a thread that does not run."""

    activity: Activity
    macros: list[Span]
    variables: Any
    thread: HostThread


def _leave(machine: Machine) -> _Suspended:
    device = machine.device
    return _Suspended(machine.activity(), device.sites.macros, machine.thread_storage.leave(), device.thread)


def _enter(machine: Machine, state: _Suspended) -> None:
    machine.take_up(state.activity)
    machine.device.sites.macros = state.macros
    machine.thread_storage.enter(state.variables)
    machine.device.thread = state.thread


class ThreadRun(LibraryObject):
    """A host thread's function, from its begin to its end."""

    class_name = "running thread"

    def __init__(
        self, machine: Machine, worker: HostThread, body: Callable[[], Value], given: list[Any], span: Span
    ) -> None:
        super().__init__()
        self._machine = machine
        self._worker = worker
        self._body = body
        self._given = [item.cell or item.value if isinstance(item, Operand) else item for item in given]
        self._span = span
        self._greenlet = greenlet(self._run)
        self._state: _Suspended | None = None
        self._waits_at: Span | None = None
        self._runs = False
        self.spins = False
        """it turns in a loop until another thread tells something"""
        self._has_waited_enough = False
        self.result: Value = None

    def parts(self) -> list[Any]:
        """Return what it was given; while it waits, its variables too."""
        return self._given

    @property
    def is_over(self) -> bool:
        """Its function has returned."""
        return self._greenlet.dead

    def go_on(self) -> None:
        """Let it run until it waits for another thread, or ends. Raises what leaves it: the end of the path."""
        if self._runs or self.is_over:
            return
        machine = self._machine
        machine.thread_runs[self._worker] = self
        outer = _leave(machine)
        machine.resting.append(outer.activity)
        if self._state is None:
            _enter(machine, _Suspended(outer.activity.begun(), list(outer.macros), [], self._worker))
        else:
            machine.resting.remove(self._state.activity)
            _enter(machine, self._state)
        self._greenlet.parent = getcurrent()
        self._runs = True
        try:
            self._greenlet.switch()
        finally:
            self._runs = False
            self._state = _leave(machine)
            if self.is_over:
                machine.thread_runs.pop(self._worker, None)
            else:
                machine.resting.append(self._state.activity)
            machine.resting.remove(outer.activity)
            _enter(machine, outer)

    def wait(self, span: Span) -> None:
        """Stop here, being what runs, until another thread lets it go on."""
        self._waits_at = span
        parent = self._greenlet.parent
        assert parent is not None
        parent.switch()
        self._waits_at = None

    def rest(self) -> None:
        """Stop here, being what runs: another thread may be the next."""
        self.wait(self._span)

    def spin(self, holds: Callable[[], bool], span: Span) -> bool:
        """Stop here, being what runs, until something holds; False: nobody who is seen lets it go on."""
        self.spins = True
        while not holds() and not self._has_waited_enough:
            self.wait(span)
        told = not self._has_waited_enough
        self.spins = self._has_waited_enough = False
        self._machine.passed_waits += 1
        return told

    def _ends_a_spin(self) -> bool:
        """Let a thread go on that turns in a loop, this one first, as if what it waits for had come."""
        for run in (self, *self._machine.thread_runs.values()):
            if run.spins and not run._runs:
                run._has_waited_enough = True
                run.go_on()
                return True
        return False

    def is_awaited(self) -> bool:
        """Let it run to its end, and other threads where it waits for them; tell whether it came there."""
        while not self.is_over:
            before = self._machine.progress
            self.go_on()
            if not self.is_over:
                self._machine.run_late_threads()
            if self._machine.progress == before and not self._ends_a_spin():
                break
        return self.is_over

    def may_have_run(self, span: Span) -> None:
        """Nothing was seen that lets it go on: its rest may have done anything with what it reaches."""
        self.say_unfollowed()
        self._machine.unseen.call("", [Operand(self)], span, quiet=True)

    def say_unfollowed(self) -> None:
        """Say where it waits for ever."""
        machine = self._machine
        if self._waits_at is not None:
            what = "a thread waits here for another: what it does then is not followed"
            machine.not_understood(self._waits_at, what)

    def end(self) -> None:
        """The path is over: forget where it was."""
        if self._state is not None and not self.is_over:
            _enter(self._machine, self._state)
            with contextlib.suppress(BaseException):  # destructors on its stack find that the path is over
                self._greenlet.throw(GreenletExit)

    def _run(self) -> None:
        machine = self._machine
        try:
            self.result = self._body()
        except Thrown:
            machine.not_understood(self._span, "an exception leaves a thread")
        machine.passed_waits += 1
        machine.thread_storage.end(self._span)


def wait_once(machine: Machine, span: Span) -> None:
    """Let the thread that runs wait until it is woken, for whatever reason; main lets the others run, and goes on."""
    run = machine.thread_runs.get(machine.device.thread)
    if run is not None:
        run.wait(span)
    else:
        machine.run_late_threads()


def wait_until(machine: Machine, holds: Callable[[], bool | None], span: Span) -> None:
    """Let the thread that runs wait until something holds, or may; main lets the others run, and goes on."""
    run = machine.thread_runs.get(machine.device.thread)
    if run is None:
        machine.await_others(holds)
        return
    while holds() is False:
        run.wait(span)
    machine.passed_waits += 1


def spin_until(machine: Machine, holds: Callable[[], bool], span: Span) -> bool:
    """Let the thread that runs turn in its loop until something holds; False if nobody who is seen makes it so."""
    run = machine.thread_runs.get(machine.device.thread)
    if run is not None:
        return bool(run.spin(holds, span))
    machine.await_others(holds)
    return holds()


def pause(machine: Machine, operands: list[Operand], call: CallSite) -> int:
    """Let others run for a while: in a loop that comes to nothing it is a wait for one of them."""
    machine.signals.asked += 1
    return 0
