"""Entries and paths: which functions to run, and every way their undecided branches can go, within a budget."""

from __future__ import annotations

import heapq
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from streamsan.cuda_source.interpreter.decisions import Decisions
from streamsan.cuda_source.interpreter.device import Device
from streamsan.cuda_source.interpreter.entries import Entry, entries_of
from streamsan.cuda_source.interpreter.frame import Exited, PathEnds, Thrown
from streamsan.cuda_source.interpreter.host_functions import HostFunctionsRun
from streamsan.cuda_source.interpreter.machine import Limits, Machine
from streamsan.cuda_source.interpreter.program import Program
from streamsan.cuda_source.interpreter.statements import end_of
from streamsan.cuda_source.world import Reading, World
from streamsan.cuda_syntax import read_unit
from streamsan.cuda_syntax.tree import Span, Unit
from streamsan.model.device_model import DeviceModel
from streamsan.trace.builder import TraceBuilder
from streamsan.vocabulary import ExitKind

Result = TypeVar("Result")
STACK_BYTES = 256 << 20
DEEPEST_RECURSION = 40_000
PER_THREAD_MACRO = "CUDA_API_PER_THREAD_DEFAULT_STREAM"


def read(
    path: Path,
    *,
    defines: dict[str, str] | None = None,
    include_dirs: Sequence[Path] = (),
    limits: Limits | None = None,
    strict: bool = False,
    contents: Mapping[str, bytes] | None = None,
) -> Reading:
    """Read a CUDA source file and explore its paths. `contents` stand for those of the files that they name.

    `strict` lets an error of the interpreter itself through (for tests); otherwise it becomes a NOT_UNDERSTOOD of the
    entry. Raises OSError when the file cannot be read.
    """
    unit = read_unit(path, defines=defines, include_dirs=include_dirs, contents=contents)
    return explore(unit, limits=limits, strict=strict)


def explore(unit: Unit, *, limits: Limits | None = None, strict: bool = False) -> Reading:
    """Explore the paths of a unit."""
    return with_deep_stack(lambda: _explore(unit, limits or Limits(), strict))


def with_deep_stack(work: Callable[[], Result]) -> Result:
    """Run on a thread whose stack allows deep recursion; exceptions come through."""
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    recursion = sys.getrecursionlimit()
    stack = threading.stack_size(STACK_BYTES)
    try:
        sys.setrecursionlimit(max(recursion, DEEPEST_RECURSION))
        thread = threading.Thread(target=run, name="interpreter")
        thread.start()
        thread.join()
    finally:
        threading.stack_size(stack)
        sys.setrecursionlimit(recursion)
    if errors:
        raise errors[0]
    return results[0]


def _explore(unit: Unit, limits: Limits, strict: bool) -> Reading:
    program = Program(unit)
    reading = Reading(files=unit.files)
    steps = operations = 0
    entries = entries_of(program, unit)
    for position, entry in enumerate(entries):
        # Paths with the fewest turns off the first path come first: each branch is seen both ways before combinations.
        pending: list[tuple[int, int, tuple[bool, ...]]] = [(0, 0, ())]
        worlds = order = 0
        done = False
        while pending:
            turns, _, prefix = heapq.heappop(pending)
            left_steps = max(1, limits.most_steps - steps)
            run = Path_(program, unit, entry, prefix, replace(limits, steps=min(limits.steps, left_steps)), strict)
            run.run()
            worlds += 1
            steps += run.machine.steps
            operations += run.builder.operations
            for alternative in run.decisions.alternatives():
                order += 1
                heapq.heappush(pending, (turns + 1, order, alternative))
            spent = steps > limits.file_steps or operations > limits.file_operations
            if pending and (spent or worlds >= limits.paths):
                run.note(f"more paths through {entry.name or 'the fragment'} than the budget allows")
                run.truncated = True
                pending = []
            left = len(entries) - position - 1
            exhausted = steps >= limits.most_steps
            done = left > 0 and not pending and ((position + 1 >= limits.entries and spent) or exhausted)
            if done:
                run.note(f"{left} more functions than the budget allows, from {entries[position + 1].name} on")
                run.truncated = True
            reading.worlds.append(run.world())
        if done:
            break
    reading.problems = [*unit.problems, *unit.missing_includes]
    return reading


class Path_:  # noqa: N801 - `Path` is the file system's
    """One path of one entry."""

    def __init__(
        self, program: Program, unit: Unit, entry: Entry, prefix: tuple[bool, ...], limits: Limits, strict: bool
    ) -> None:
        self.entry = entry
        self.strict = strict
        self.truncated = False
        self.decisions = Decisions(prefix)
        self.builder = TraceBuilder(unit.file, origin="source")
        per_thread = PER_THREAD_MACRO in unit.defines or PER_THREAD_MACRO in unit.macros
        self.model = DeviceModel(self.builder, per_thread_default=per_thread, executor=HostFunctionsRun())
        self.device = Device(self.model, unit.files)
        self.machine = Machine(program, self.device, self.decisions, limits, strict)
        self.machine.known_main = entry.is_main or entry.is_fragment

    def run(self) -> None:
        """Run the path to its end."""
        try:
            if self.entry.is_main:
                self._run_main()
            else:
                self.entry.run(self.machine)
        except PathEnds as end:
            self.truncated = True
            self.note(end.reason, end.span)
        except Exited:
            pass
        except Thrown:
            pass
        except RecursionError:
            self.truncated = True
            self.note("nested too deeply to follow")
        except Exception as error:
            if self.strict:
                raise
            self.truncated = True
            self.note(f"the interpreter failed here ({type(error).__name__})")

    def _run_main(self) -> None:
        machine, device, model = self.machine, self.device, self.model
        model.static_begin(device.thread)
        end = end_of(self.entry.span)
        kind = ExitKind.NORMAL
        try:
            for variable in machine.program.globals:
                machine.global_cell(variable.name)
            model.main_begin(device.thread, device.site(self.entry.span))
            self.entry.run(machine)
            end = machine.returned_at or end
        except Exited as exited:
            kind = ExitKind.NORMAL if exited.normal else ExitKind.ABORTED
            end = exited.span or end
        except Thrown as thrown:
            kind = ExitKind.ABORTED
            end = thrown.span
        del machine.frames[1:]
        site = device.site(end)
        device.failures.go_on()
        device.failures.say_unread()
        if kind is ExitKind.NORMAL:
            hidden = machine.reach.hidden_and_live()
            if hidden:  # what nobody sees may have freed them, or does so now
                device.opaque_call("", hidden, end)
            model.main_end(device.thread, site)
            self._run_exit_handlers(end)
        model.process_exit(device.thread, site, kind)

    def _run_exit_handlers(self, end: Span) -> None:
        machine = self.machine
        try:
            for function, span in reversed(machine.exit_functions):
                machine.functions.call_value(function, [], span)
            machine.statements.end_scope(machine.globals, end)
            for cell in reversed(list(machine.statics.values())):
                machine.objects.destroy(cell, end)
        except (Exited, Thrown):
            return

    def note(self, what: str, span: Span | None = None) -> None:
        """Add a NOT_UNDERSTOOD to the path."""
        self.device.not_understood(span or self.entry.span, what)

    def world(self) -> World:
        """Return the path's world."""
        return World(self.entry.name, tuple(self.decisions.taken), self.builder.finish(), self.truncated)
