"""The state of one path: frames, names, unknowns, decisions, budgets. The parts that know C++ hang off it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from streamsan.cuda_source import faces
from streamsan.cuda_source.allowance import Allowance
from streamsan.cuda_source.decisions import Decisions
from streamsan.cuda_source.limits import Limits
from streamsan.cuda_source.polls import OpenLoop, Polls, handles_of
from streamsan.cuda_source.program.coverage import Coverage
from streamsan.cuda_source.program.index import Program
from streamsan.cuda_source.program.linkage import Home, Linkage
from streamsan.cuda_source.program.relevance import Relevance
from streamsan.cuda_source.values.approaches import Approaches
from streamsan.cuda_source.values.bounds import Bounds
from streamsan.cuda_source.values.cells import (
    BoundMethod,
    Cell,
    Closure,
    FunctionValue,
    LibraryObject,
    MacroArgument,
    Native,
    Scope,
    SymbolPointer,
    Term,
    Value,
    is_pointer,
)
from streamsan.cuda_source.values.classes import ClassInfo
from streamsan.cuda_source.values.frame import CallEnds, Completion, Frame, PathEnds
from streamsan.cuda_source.values.terms import condition, substitute
from streamsan.cuda_source.values.types import CType
from streamsan.cuda_syntax.tree import Expression, Function, Span, Statement, Type
from streamsan.model.values import Handle, Origin, Symbol

STEPS_SPENT = "the path is longer than the budget of steps"
ALLOWANCE_STEPS = 256
"""steps after which time and memory are looked at"""


class Activity(Struct, eq=False):
    """What of the state belongs to the host thread that runs: where it is, and around what."""

    home: Home
    frames: list[Frame]
    conditional: int
    loop_depth: int
    open_loops: list[OpenLoop]
    nesting: int
    call_ends: tuple[int, int] | None
    header_calls: int
    pending_completion: Completion | None
    returned_at: Span | None

    def begun(self) -> Activity:
        """Return that of a thread which is started here."""
        return replace(
            self,
            frames=list(self.frames),
            open_loops=list(self.open_loops),
            call_ends=None,
            header_calls=0,
            pending_completion=None,
        )


class Signals(Struct, eq=False):
    """What threads asked each other, and told each other."""

    asked: int = 0
    """how often atomic variables were looked at, and threads paused"""
    changed: list[tuple[Cell, Value]] = field(default_factory=list)
    """what atomic variables hold that were given another value, each with what was there before"""
    told: int = 0
    """how often something was released that others may wait for: a mutex, an atomic variable"""


class Machine:
    """One path of one entry, under execution, and the faces of the parts that know C++ and the device model."""

    expressions: faces.Expressions
    objects: faces.Objects
    names: faces.Names
    calls: faces.Calls
    macros: faces.Macros
    unseen: faces.Unseen
    class_operators: faces.ClassOperators
    overloads: faces.Overloads
    functions: faces.Functions
    constructors: faces.Constructors
    statements: faces.Statements
    reach: faces.Reach
    thread_storage: faces.ThreadStorage
    device: faces.Device
    memory: faces.HostMemory
    made_names: faces.MadeNames
    failures: faces.Failures
    api: faces.ApiCalls

    def __init__(
        self, home: Home, linkage: Linkage | None, coverage: Coverage, decisions: Decisions, limits: Limits
    ) -> None:
        self.home = home
        """the unit whose code is under execution: names mean what they mean there"""
        self.linkage = linkage
        """where other units define what one declares; None: there is one unit"""
        self.program: Program = home.program
        self.relevance: Relevance = home.relevance
        self.coverage = coverage
        self.decisions = decisions
        self.limits = limits
        self.globals = Scope()
        """those of the unit under execution"""
        self._globals = {home: self.globals}
        self.shared_globals: dict[str, Cell] = {}
        """by names, those that other units may mean as well"""
        self.statics: dict[Any, Cell] = {}
        self.frames: list[Frame] = [Frame("", Scope(self.globals))]
        self.assumed: dict[Any, Any] = {}
        """What conditions have fixed: an unknown that equals a number, a loop's bound."""
        self.facts = 0
        """How often more became known of unknowns: what was computed from them before that may differ now."""
        self._one_holds: list[Term] = []
        """What was decided to hold of which only one part need hold."""
        self.supposed_bounds: list[Any] = []
        """Those of them that only say that a loop of unknown length runs a few times."""
        self.handed_out: set[Symbol] = set()
        """Numbers of which something was decided before unseen code got the object that holds them, to write it."""
        self.bounds = Bounds()
        """What decided comparisons say of unknown numbers."""
        self.approaches = Approaches()
        """What loops come nearer to in their first turns."""
        self.decided: list[tuple[Any, bool]] = []
        """Conditions that were not known, and how the path goes on."""
        self.conditional = 0
        """Undecided branches around the statement under execution."""
        self.steps = 0
        self._call_ends: tuple[int, int] | None = None
        """The call under way that may be left out: the steps after which it is, if nothing more is issued by then."""
        self._header_calls = 0
        """Calls under way into headers, each from elsewhere or from another one."""
        self.goes_on: Callable[[Span], bool] = lambda span: False
        """Asked where the steps are spent: whether the path goes on in the code of the file itself."""
        self.past_budget = False
        """It does: calls into headers are left out."""
        self.issued = 0
        """Calls of the API, and launches."""
        self.allowance: Allowance | None = None
        self.nesting = 0
        self.loop_depth = 0
        """Loops around the statement under execution, over all activations."""
        self.late_threads: dict[Any, Any] = {}
        """Host threads that were started and have not run yet, with what runs them."""
        self.thread_runs: dict[Any, Any] = {}
        """Host threads that run, or wait for others, with what lets them go on; main is none of them."""
        self.signals = Signals()
        self.passed_waits = 0
        """How often a thread came past what it waited for, or to its end."""
        self.resting: list[Activity] = []
        """Those of the threads that do not run now."""
        self._last_thread_is_first: bool | None = None
        self._locks: dict[Any, int] = {}
        """how many mutexes each thread holds"""
        self._awaited: Callable[[], bool | None] | None = None
        """What main waits for."""
        self._main_is_next = False
        """It holds, and main goes on before the others do."""
        self._wakes = False
        """Threads were notified that have not looked yet."""
        self._shown = 0
        """What was issued before threads that turn in loops looked again."""
        self.threads_are_late: bool | None = None
        """Whether they run only where they are waited for; None: no thread for which it matters was started yet."""
        self.open_loops: list[OpenLoop] = []
        """Those of them that end by what nobody knows: they may ask for work until it is done."""
        self.polls = Polls()
        """What the host was told when it asked."""
        self.symbols = 0
        self.pending_completion: Completion | None = None
        """`return` or `break` in a macro's statements: takes effect when the full-expression ends."""
        self.returned_at: Span | None = None
        """Where the function that ended last returned."""
        self.exit_functions: list[tuple[Value, Span]] = []
        self.known_main = False
        """The entry is main: globals hold what their initialisers say."""
        self._noted: set[str] = set()
        self.live_handles: set[int] = set()
        """Numbers of symbols that are handles or addresses: taken as not null."""

    def run_late_threads(self) -> None:
        """Something is waited for, or called that nobody sees and may wait: let others go on.

        Where it is main that waits, those too that have not begun.
        """
        if self.device.thread is not self.device.model.main_thread:
            self.let_threads_go_on()
        else:
            late_threads = list(self.late_threads.values())
            for late in reversed(late_threads) if self.last_thread_is_first() else late_threads:
                if not self._main_is_next:
                    late.run(self)
            self.let_threads_go_on()

    def last_thread_is_first(self) -> bool:
        """Decide whether of several late threads the last one runs first: one takes what another has still to put."""
        if self._last_thread_is_first is None and len(self.late_threads) > 1 and self.relevance.has_conditions:
            self.decisions.either_way.add(len(self.decisions.taken))
            in_order = self.decisions.choose(self.fresh("threads run in their order", "input"), True)
            self._last_thread_is_first = not in_order
        return bool(self._last_thread_is_first)

    def await_others(self, holds: Callable[[], bool | None]) -> None:
        """Main waits until something holds: let the others run."""
        if holds() is True:
            return
        self._awaited = holds
        try:
            self.run_late_threads()
        finally:
            self._awaited, self._main_is_next = None, False

    def released(self) -> None:
        """The thread that runs let others go on: late threads stop where main can, which may come first then."""
        run = self.thread_runs.get(self.device.thread)
        if run is None or self._awaited is None or not self.threads_are_late or self._locks.get(self.device.thread, 0):
            return
        if not self._main_is_next and self._awaited() is True:
            self._main_is_next = True
            run.rest()

    def let_threads_go_on(self) -> None:
        """Let each thread that waits look again whether it may go on, until none comes further."""
        before = None
        while self.thread_runs and self.progress != before:
            before = self.progress
            for run in list(self.thread_runs.values()):
                if self._main_is_next:
                    return
                run.go_on()

    @property
    def in_thread(self) -> bool:
        """Whether what runs is a thread that the program has started."""
        return self.device.thread in self.thread_runs

    @property
    def progress(self) -> tuple[int, int]:
        """Return what changes when a thread comes further."""
        return self.passed_waits, self.issued

    def locked(self) -> None:
        """The thread that runs has locked a mutex."""
        self._locks[self.device.thread] = self._locks.get(self.device.thread, 0) + 1

    def unlocked(self) -> None:
        """It has unlocked one: those that it has notified can go on.

        Those that turn in loops may look under the mutex for work that was issued since they looked.
        """
        self._locks[self.device.thread] = max(0, self._locks.get(self.device.thread, 0) - 1)
        if self.issued > self._shown and any(run.spins for run in self.thread_runs.values()):
            self._shown = self.issued
            self.notified()
        else:
            self._wake()

    def notified(self) -> None:
        """It has notified others, which go on as soon as it holds no mutex; late threads where main waits for them."""
        self._wakes = not self.threads_are_late or bool(self._last_thread_is_first)
        self._wake()

    def _wake(self) -> None:
        if self._wakes and not self._locks.get(self.device.thread, 0):
            self._wakes = False
            self.let_threads_go_on()

    def activity(self) -> Activity:
        """Return where the thread that runs is."""
        return Activity(
            self.home,
            self.frames,
            self.conditional,
            self.loop_depth,
            self.open_loops,
            self.nesting,
            self._call_ends,
            self._header_calls,
            self.pending_completion,
            self.returned_at,
        )

    def take_up(self, activity: Activity) -> None:
        """Go on where a thread is."""
        if activity.home is not self.home:
            self._move(activity.home)
        self.frames = activity.frames
        self.conditional = activity.conditional
        self.loop_depth = activity.loop_depth
        self.open_loops = activity.open_loops
        self.nesting = activity.nesting
        self._call_ends = activity.call_ends
        self._header_calls = activity.header_calls
        self.pending_completion = activity.pending_completion
        self.returned_at = activity.returned_at

    def end_threads(self) -> None:
        """The path is over: no thread goes on."""
        self.steps = self.limits.steps + self.limits.overtime + 1
        for run in list(self.thread_runs.values()):
            run.end()

    @property
    def frame(self) -> Frame:
        """The innermost activation."""
        return self.frames[-1]

    def code_behind(self) -> tuple[Statement, ...]:
        """Return what stands behind the statement under execution, in every activation, innermost first."""
        return tuple(each for frame in reversed(self.frames) for each in frame.rest())

    def _place(self) -> tuple[int, ...]:
        """Return which statement is under execution in each activation, the outermost first."""
        return tuple(id(frame.current) for frame in self.frames)

    @contextmanager
    def entered(self, frame: Frame) -> Iterator[None]:
        """Run in an activation for a while."""
        self.frames.append(frame)
        try:
            yield
        finally:
            self.frames.pop()

    @contextmanager
    def at(self, home: Home | None) -> Iterator[None]:
        """Run in another unit for a while; None: in this one."""
        own = self.home
        if home is None or home is own:
            yield
            return
        self._move(home)
        try:
            yield
        finally:
            self._move(own)

    def _move(self, home: Home) -> None:
        self.home, self.program, self.relevance = home, home.program, home.relevance
        self.globals = self._globals.setdefault(home, Scope())

    @contextmanager
    def dispensable(self, function: Function) -> Iterator[bool]:
        """Run a call. True: it ends by `CallEnds` where it takes too long, being into a header, from elsewhere."""
        if function.span.file == self.home.program.unit.file:
            yield False
            return
        watched = self._call_ends is None
        if watched:
            self._call_ends = self.steps + self.limits.call_steps, self.issued
        self._header_calls += 1
        try:
            yield watched
        finally:
            self._header_calls -= 1
            if watched:
                self._call_ends = None

    @property
    def leaves_headers(self) -> bool:
        """The steps are spent in a call into a header, which is left out altogether."""
        return self.past_budget and self._header_calls > 0

    def home_of(self, function: Function | None) -> Home | None:
        """Return the unit in which a function's body stands, where that is another one than this."""
        if self.linkage is None or function is None:
            return None
        home = self.linkage.home_of(function)
        return None if home is self.home else home

    def linked(self, function: Function) -> Function:
        """Return the definition of a function that this unit only declares; itself where there is none."""
        return function if self.linkage is None else self.linkage.definition(function)

    def all_globals(self) -> list[Scope]:
        """Return the global variables of all units that were met, those of the first one first."""
        return list(self._globals.values())

    def step(self, span: Span) -> None:
        """Count one step; ends the path when its budget is spent."""
        self.steps += 1
        if self.steps > self.limits.steps:
            self._leave_headers(span)
        if self.device.builder.operations > self.limits.operations:
            raise PathEnds("the path issues more operations than the budget", span)
        if self._call_ends is not None and self.steps > self._call_ends[0]:
            issued, self._call_ends = self.issued > self._call_ends[1], None
            if not issued:
                raise CallEnds
        if not self.steps % ALLOWANCE_STEPS and self.allowance is not None and (spent := self.allowance.spent):
            raise PathEnds(spent, span)

    def _leave_headers(self, span: Span) -> None:
        """The steps are spent: end the call into a header, or the path, where it does not go on in the file itself."""
        ends = self.steps > self.limits.steps + self.limits.overtime
        if not ends and not self.past_budget and self._header_calls:
            self.past_budget = self.goes_on(span)
        if ends or not self.past_budget:
            raise PathEnds(STEPS_SPENT, span)
        if self._header_calls:
            raise CallEnds

    def may_cut_short(self, body: Statement) -> bool:
        """Tell whether a loop is cut short: half of the path's steps are spent, and its calls of CUDA only ask.

        One that has others is not: what it frees is what one before it allocated.
        """
        return 2 * self.steps > self.limits.steps and not self.home.prospects.has_effects(body)

    def fresh(self, name: str, origin: Origin) -> Symbol:
        """Return a new unknown."""
        self.symbols += 1
        return Symbol(self.symbols, name, origin)

    def truth(self, value: Value) -> bool | None:
        """Return a value as a condition, if it is known."""
        if isinstance(value, int | float):
            return bool(value)
        if value is None:
            return None
        if isinstance(value, Symbol):
            known = self.known(value)
            if isinstance(known, int | float):
                return bool(known)
            if value.number in self.live_handles:
                self.decisions.supposes_pointers = True
                return True
            recalled = self.decisions.recall(value)
            return recalled if recalled is not None else self.bounds.decide(value)
        if isinstance(value, Term):
            known = self.known(value)
            if isinstance(known, int | float):
                return bool(known)
            question, positive = condition(known if known is not None else value)
            if isinstance(question, Symbol) and question.number in self.live_handles:
                self.decisions.supposes_pointers = True
                return positive
            decided = self.decisions.recall(question)
            if decided is None:
                decided = self.bounds.decide(question)
            if decided is None and (asked := self.device.asked(question)):
                from streamsan.cuda_source.values.query_answers import in_any_case  # few programs ask

                decided = in_any_case(question, list(asked))
            return None if decided is None else decided == positive
        if isinstance(value, Handle):
            return value.value != 0
        if isinstance(value, LibraryObject):
            return value.truth()
        if is_pointer(value) or isinstance(value, FunctionValue | Closure | BoundMethod | Native | str):
            self.decisions.supposes_pointers |= isinstance(value, SymbolPointer)
            return True
        return None

    def known(self, value: Value) -> Value:
        """Return a value with what conditions have fixed filled in."""
        if self.assumed and isinstance(value, Symbol | Term):
            found: Value = substitute(value, self.assumed)
            return found
        return value

    def decide(self, value: Value, likely: bool | None = True) -> tuple[bool, bool]:
        """Decide a condition: its truth, and whether it was known. An unknown one forks the path.

        `likely`: what it is on the path that is taken first; None: what it is where work is done that it asks for.
        """
        known = self.truth(value)
        if known is not None:
            return known, True
        if isinstance(value, Symbol | Term):
            question, positive = condition(self.known(value))
        else:
            question, positive = self.fresh("condition", "opaque"), True
        asked = self.device.asked(question)
        if_done: bool | None = None
        if asked:
            from streamsan.cuda_source.values.query_answers import if_all_are_done  # few programs ask

            if_done = if_all_are_done(question, asked)
        if if_done is not None and (told := self._told(handles_of(asked))) is not None:
            answer = if_done == told
            self._settle(question, answer)
            return answer == positive, False
        position = len(self.decisions.taken)
        first = if_done is not False if likely is None else positive == likely
        answer = self.decisions.choose(question, first, self._place())
        self.decided.append((question, answer))
        self._fix(question, answer)
        run = self.open_loops[-1] if self.open_loops else None
        if if_done is None and not (run is not None and run.choices and self.polls.rests_on_time(question)):
            self.polls.doubts += 1
            return answer == positive, False
        if if_done is not None and answer != if_done:
            self.polls.not_done(self._place(), handles_of(asked))
        if run is not None:
            run.choices.append(position)
        else:
            self.decisions.either_way.add(position)
        return answer == positive, False

    def _told(self, handles: tuple[Any, ...]) -> bool | None:
        """Return whether work is done that is asked for; None: that is the path's choice."""
        if self.polls.are_done(handles):
            return True
        if any(loop.gets_an_answer() for loop in reversed(self.open_loops)):
            return True
        return False if self.polls.are_not_done_yet(self._place(), handles) else None

    def assume(self, value: Value, wanted: bool) -> None:
        """Fix a condition that is not known, without a fork."""
        if isinstance(value, Symbol | Term) and self.truth(value) is None:
            question, positive = condition(self.known(value))
            self._settle(question, wanted == positive)

    def _settle(self, question: Any, answer: bool) -> None:
        self.decisions.remember(question, answer)
        self.decided.append((question, answer))
        self._fix(question, answer)

    def is_now(self, unknown: Symbol | Term, value: Value) -> None:
        """Take note of what an unknown is, on this path."""
        self.assumed[unknown] = value
        self.facts += 1

    def suppose(self, value: Value, wanted: bool) -> None:
        """Fix a condition of which nobody decides that: a loop of unknown length ends here."""
        decided = len(self.decided)
        self.assume(value, wanted)
        del self.decided[decided:]

    def _fix(self, question: Any, answer: bool) -> None:
        """Draw the consequences of a decided condition: an unknown that must equal a number does from now on."""
        if (
            answer
            and isinstance(question, Term)
            and question.operator == "=="
            and isinstance(question.operands[0], int)
            and isinstance(question.operands[1], Symbol | Term)
        ):
            self.is_now(question.operands[1], question.operands[0])
        elif not answer and isinstance(question, Symbol):
            self.is_now(question, 0)
        elif isinstance(question, Term) and question.operator == ("&&" if answer else "||"):
            for operand in question.operands:  # each of them is so
                self.assume(operand, answer)
        elif answer and isinstance(question, Term) and question.operator == "||":
            self._one_holds.append(question)
        if not answer:
            self._narrow()
        self.bounds.learn(question, answer)
        self.facts += 1
        self.device.decided(question, answer)

    def _narrow(self) -> None:
        """One of some conditions holds: where all but one turned out not to, it is that one."""
        for question in list(self._one_holds):
            left = [part for part in question.operands if self.known(part) != 0 and self.truth(part) is not False]
            if len(left) == 1:
                self._one_holds = [each for each in self._one_holds if each is not question]
                self.assume(left[0], True)

    def succeeds(self, value: Value) -> None:
        """Take an unknown status as success, without a fork; whether a query found its work done stays open."""
        known = self.known(value)
        if isinstance(known, Symbol) and known.number not in self.live_handles and known not in self.device.queries:
            self.is_now(known, 0)

    @contextmanager
    def under_branch(self, decided: bool) -> Iterator[None]:
        """Run what a branch chose; unless it was decided, operations are conditional."""
        if decided:
            yield
            return
        self.conditional += 1
        self.device.thread.conditional = True
        try:
            yield
        finally:
            self.conditional -= 1
            self.device.thread.conditional = self.conditional > 0

    def program_name(self, function: Function, cls: ClassInfo | None) -> str:
        """Return a function's name for messages."""
        if cls is None or "::" in function.name:
            return function.name
        return f"{cls.name}::{function.name}"

    def not_understood(self, span: Span, what: str) -> None:
        """Say once for each text that something could not be followed."""
        if what not in self._noted:
            self._noted.add(what)
            self.device.not_understood(span, what)

    def resolve(self, type: Type) -> CType:
        """Resolve a type as written in the current frame."""
        return self.program.resolve(type, self.frame, self.constant)

    def resolve_in(self, type: Type, context: Any) -> CType:
        """Resolve a type as written in another context (a class, say)."""
        return self.program.resolve(type, context, self.constant)

    def constant(self, expression: Expression) -> Value:
        """Evaluate a template argument or array dimension."""
        return self.known(self.expressions.value(expression))

    def find(self, name: str) -> Cell | MacroArgument | None:
        """Look up a local, parameter, captured variable or macro argument."""
        return self.frames[-1].scope.find(name)
