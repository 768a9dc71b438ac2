"""One path of one entry: its machine with all parts, from the first statement to the end of the process."""

from __future__ import annotations

from streamsan.cuda_source.agenda import Alternative, Turn
from streamsan.cuda_source.calls.class_operators import ClassOperators
from streamsan.cuda_source.calls.construction import Constructors
from streamsan.cuda_source.calls.dispatch import Calls
from streamsan.cuda_source.calls.functions import Functions
from streamsan.cuda_source.calls.overloads import Overloads
from streamsan.cuda_source.calls.unseen import Unseen
from streamsan.cuda_source.decisions import Decisions
from streamsan.cuda_source.device.api_calls import ApiCalls
from streamsan.cuda_source.device.call_failures import Failures
from streamsan.cuda_source.device.device import Device
from streamsan.cuda_source.device.host_memory import HostMemory
from streamsan.cuda_source.device.made_names import MadeNames
from streamsan.cuda_source.device.source_sites import end_of
from streamsan.cuda_source.entries import Entry
from streamsan.cuda_source.host_functions import HostFunctionsRun
from streamsan.cuda_source.known_apis import platform_of_texts
from streamsan.cuda_source.language.expressions import Expressions
from streamsan.cuda_source.language.macro_uses import Macros
from streamsan.cuda_source.language.name_lookup import Names
from streamsan.cuda_source.language.statements import Statements
from streamsan.cuda_source.limits import Limits
from streamsan.cuda_source.machine import STEPS_SPENT, Machine
from streamsan.cuda_source.objects.life import Objects
from streamsan.cuda_source.objects.reach import Reach
from streamsan.cuda_source.objects.thread_storage import ThreadStorage
from streamsan.cuda_source.program.coverage import Coverage
from streamsan.cuda_source.program.linkage import Home, Linkage
from streamsan.cuda_source.program.prospects import Goal
from streamsan.cuda_source.values.frame import Exited, PathEnds, Thrown
from streamsan.cuda_source.world import World
from streamsan.cuda_syntax.tree import Span
from streamsan.model.device_model import DeviceModel
from streamsan.trace.builder import TraceBuilder
from streamsan.vocabulary import ExitKind

PER_THREAD_MACRO = "CUDA_API_PER_THREAD_DEFAULT_STREAM"


def wire(machine: Machine, model: DeviceModel) -> Device:
    """Give a machine its parts; returns the one that tells the device model what happens."""
    device = machine.device = Device(machine, model)
    machine.memory = HostMemory(machine)
    machine.made_names = MadeNames(machine)
    machine.failures = Failures(machine)
    machine.api = ApiCalls(machine)
    machine.objects = Objects(machine)
    machine.expressions = Expressions(machine)
    machine.names = Names(machine)
    machine.calls = Calls(machine)
    machine.macros = Macros(machine)
    machine.unseen = Unseen(machine)
    machine.class_operators = ClassOperators(machine)
    machine.overloads = Overloads(machine)
    machine.functions = Functions(machine)
    machine.constructors = Constructors(machine)
    machine.statements = Statements(machine)
    machine.reach = Reach(machine)
    machine.thread_storage = ThreadStorage(machine)
    return device


class Path:
    """One path of one entry."""

    def __init__(
        self,
        home: Home,
        linkage: Linkage | None,
        coverage: Coverage,
        entry: Entry,
        turn: Turn,
        limits: Limits,
        strict: bool,
    ) -> None:
        self.entry = entry
        self.strict = strict
        self.truncated = False
        self._until_spent: World | None = None
        """the path up to where its steps were spent, if it goes on"""
        self.cut_off = False
        """it ended by an error of the program's, and not where its entry does"""
        self.decisions = Decisions(turn.prefix, turn.against)
        unit = home.program.unit
        self.builder = TraceBuilder(unit.file, platform_of_texts(unit.files.values()), "source")
        per_thread = PER_THREAD_MACRO in unit.macros
        executor = HostFunctionsRun()
        self.model = DeviceModel(self.builder, per_thread_default=per_thread, executor=executor)
        self.machine = Machine(home, linkage, coverage, self.decisions, limits)
        self.machine.goes_on = self._goes_on
        self.machine.known_main = entry.is_main or entry.is_fragment
        self.device = wire(self.machine, self.model)
        executor.extents = self.device.extents

    def run(self) -> None:
        """Run the path to its end."""
        try:
            if self.entry.is_main:
                self._run_main()
            else:
                self.entry.run(self.machine)
            for thread in list(self.machine.thread_runs.values()):
                thread.say_unfollowed()
        except PathEnds as end:
            self.truncated = True
            self.note(end.reason, end.span)
        except Exited as exited:
            self.cut_off = not exited.normal
        except Thrown:
            self.cut_off = True
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
            for home in machine.linkage.homes if machine.linkage is not None else [machine.home]:
                with machine.at(home):
                    for variable in home.program.globals:
                        machine.names.global_cell(variable.name)
            model.main_begin(device.thread, device.site(self.entry.span))
            self.entry.run(machine)
            end = machine.returned_at or end
        except Exited as exited:
            kind = ExitKind.NORMAL if exited.normal else ExitKind.ABORTED
            self.cut_off = not exited.normal
            end = exited.span or end
        except Thrown as thrown:
            kind = ExitKind.ABORTED
            self.cut_off = True
            end = thrown.span
        del machine.frames[1:]
        site = device.site(end)
        machine.failures.go_on()
        machine.failures.say_unread()
        if kind is ExitKind.NORMAL:
            hidden = machine.reach.hidden_and_live()
            if hidden:  # what nobody sees may have freed them, or does so now
                device.opaque_call("", hidden, end)
            self._end_own_variables(end)
            model.main_end(device.thread, site)
            self._run_exit_handlers(end)
        model.process_exit(device.thread, site, kind)

    def _end_own_variables(self, end: Span) -> None:
        """End the variables that are the main thread's own: before anything static, the runtime's included."""
        try:
            self.machine.thread_storage.end(end)
        except (Exited, Thrown):
            return

    def _run_exit_handlers(self, end: Span) -> None:
        machine = self.machine
        try:
            for function, span in reversed(machine.exit_functions):
                machine.functions.call_value(function, [], span)
            for scope in reversed(machine.all_globals()):
                machine.statements.end_scope(scope, end)
            for cell in reversed(list(machine.statics.values())):
                machine.objects.destroy(cell, end)
        except (Exited, Thrown):
            return

    def _goes_on(self, span: Span) -> bool:
        """Tell whether the file's own code leads from here to calls that no path has come to.

        Then the path up to here is a world by itself: what comes after that leaves calls out, which may do anything.
        """
        machine = self.machine
        unit = machine.home.program.unit
        own = tuple(each for each in machine.code_behind() if each.span.file == unit.file)
        if not Goal(machine.home.prospects, own).has_new():
            return False
        self.truncated = True
        self.note(STEPS_SPENT, span)
        self._until_spent = self._world()
        return True

    def alternatives(self) -> list[Alternative]:
        """Return the paths that branch off this one; where calls were left out, only to what no path has come to."""
        found = self.decisions.alternatives(self.cut_off)
        if self._until_spent is None:
            return found
        decided = len(self._until_spent.decisions)
        return [
            each for each in found if len(each.prefix) <= decided or (each.goal is not None and each.goal.has_new())
        ]

    def note(self, what: str, span: Span | None = None) -> None:
        """Add a NOT_UNDERSTOOD to the path."""
        self.device.not_understood(span or self.entry.span, what)

    @property
    def leaves_threads(self) -> bool:
        """Nobody was seen to wait for a thread that was to run late: nothing says where it runs."""
        return bool(self.machine.late_threads)

    def worlds(self) -> list[World]:
        """Return the path's worlds: one, or two, of which the second goes on where the steps are spent."""
        found = [self._world()] if self._until_spent is None else [self._until_spent, self._world()]
        self.machine.end_threads()
        return found

    def _world(self) -> World:
        decisions = self.decisions
        return World(
            self.entry.name,
            tuple(decisions.taken),
            frozenset(decisions.either_way),
            bool(decisions.against) or self._until_spent is not None,
            self.builder.finish(),
            self.truncated,
        )
