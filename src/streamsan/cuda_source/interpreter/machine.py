"""The state of one path: frames, names, unknowns, decisions, budgets. The parts that know C++ hang off it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamsan.cuda_source.interpreter.bounds import Bounds
from streamsan.cuda_source.interpreter.frame import Completion, Frame, MacroArgument, PathEnds, Scope
from streamsan.cuda_source.interpreter.program import ClassInfo, PlainContext, Program
from streamsan.cuda_source.interpreter.relevance import Relevance
from streamsan.cuda_source.interpreter.statuses import Success, means_success
from streamsan.cuda_source.interpreter.terms import combine, condition, substitute
from streamsan.cuda_source.interpreter.types import INT, UNKNOWN, CType
from streamsan.cuda_source.interpreter.values import (
    BoundMethod,
    Cell,
    CellPointer,
    Closure,
    DevicePointer,
    ElementPointer,
    FunctionValue,
    LibraryObject,
    Native,
    SymbolPointer,
    Term,
    Value,
)
from streamsan.cuda_syntax.tree import Expression, Function, Span, Type, Variable
from streamsan.model.values import Handle, Origin, Symbol
from streamsan.vocabulary import MemoryKind

if TYPE_CHECKING:
    from streamsan.cuda_source.interpreter.decisions import Decisions
    from streamsan.cuda_source.interpreter.device import Device


@dataclass(frozen=True, slots=True)
class Limits:
    """How far the interpreter goes. All are counts, so that two runs give the same worlds."""

    paths: int = 64
    """paths of one entry"""
    steps: int = 60_000
    """expressions and statements of one path"""
    entries: int = 400
    """entries that are run even when the file's budget is spent; more run as long as it lasts"""
    file_steps: int = 150_000
    """expressions and statements of all paths of one file, beyond which each entry is run once"""
    most_steps: int = 250_000
    """expressions and statements of all paths of one file, whatever its entries"""
    operations: int = 20_000
    """operations of one path"""
    file_operations: int = 60_000
    """operations of all paths of one file"""
    depth: int = 40
    """calls nested in each other"""
    nesting: int = 1500
    """statements and expressions nested in each other, over all active calls"""
    iterations: int = 64
    """iterations of a loop whose count is known"""
    first_iterations: int = 6
    """iterations that are run of a longer loop, before its last two"""
    unknown_iterations: int = 4
    """iterations of a loop whose count is not known: enough for double and triple buffering"""
    endless_iterations: int = 16
    """iterations of a loop that only a `break` ends"""


class Machine:
    """One path of one entry, under execution."""

    def __init__(self, program: Program, device: Device, decisions: Decisions, limits: Limits, strict: bool) -> None:
        from streamsan.cuda_source.interpreter.calls import Calls
        from streamsan.cuda_source.interpreter.expressions import Expressions
        from streamsan.cuda_source.interpreter.functions import Functions
        from streamsan.cuda_source.interpreter.loops import Loops
        from streamsan.cuda_source.interpreter.objects import Objects
        from streamsan.cuda_source.interpreter.reach import Reach
        from streamsan.cuda_source.interpreter.statements import Statements

        self.program = program
        self.device = device
        self.decisions = decisions
        self.limits = limits
        self.strict = strict
        self.globals = Scope()
        self.statics: dict[Any, Cell] = {}
        self.frames: list[Frame] = [Frame("", Scope(self.globals))]
        self.assumed: dict[Any, Any] = {}
        """What conditions have fixed: an unknown that equals a number, a loop's bound."""
        self.bounds = Bounds()
        """What decided comparisons say of unknown numbers."""
        self.conditional = 0
        """Undecided branches around the statement under execution."""
        self.steps = 0
        self.nesting = 0
        self.symbols = 0
        self.pending_completion: Completion | None = None
        """`return` or `break` in a macro's statements: takes effect when the full-expression ends."""
        self.returned_at: Span | None = None
        """Where the function that ended last returned."""
        self.exit_functions: list[tuple[Value, Span]] = []
        self.known_main = False
        """The entry is main: globals hold what their initialisers say."""
        self._undeclared: dict[str, Value] = {}
        self._enumerators: dict[str, Value] = {}
        self._pointees: dict[Symbol, Cell] = {}
        self._noted: set[str] = set()
        self.live_handles: set[int] = set()
        """Numbers of symbols that are handles or addresses: taken as not null."""
        self.objects = Objects(self)
        self.expressions = Expressions(self)
        self.calls = Calls(self)
        self.functions = Functions(self)
        self.statements = Statements(self)
        self.loops = Loops(self)
        self.reach = Reach(self)
        device.attach(self)

    def program_relevance(self) -> Relevance:
        """Return the unit's static answers, shared by all its paths."""
        found = self.program.relevance
        if not isinstance(found, Relevance):
            found = self.program.relevance = Relevance(self.program)
        return found

    # -- frames and budgets ------------------------------------------------------------------------

    @property
    def frame(self) -> Frame:
        """The innermost activation."""
        return self.frames[-1]

    def step(self, span: Span) -> None:
        """Count one step; ends the path when its budget is spent."""
        self.steps += 1
        if self.steps > self.limits.steps:
            raise PathEnds("the path is longer than the budget of steps", span)
        if self.device.operations > self.limits.operations:
            raise PathEnds("the path issues more operations than the budget", span)

    # -- unknowns ----------------------------------------------------------------------------------

    def fresh(self, name: str, origin: Origin) -> Symbol:
        """Return a new unknown."""
        self.symbols += 1
        return Symbol(self.symbols, name, origin)

    def undeclared(self, name: str) -> Value:
        """Return the unknown that an undeclared name stands for: the same one each time."""
        if name not in self._undeclared and means_success(name):
            self._undeclared[name] = Success()
        if name not in self._undeclared:
            symbol = self.fresh(name, "undeclared")
            self.live_handles.add(symbol.number)
            self._undeclared[name] = symbol
        return self._undeclared[name]

    def unknown_of(self, type: CType, name: str, origin: Origin) -> Value:
        """Return an unknown value of a type: a symbol, a symbolic pointer, or an object with unknown members."""
        if type.array:
            return self.objects.default(type, name, origin)
        if type.pointers or type.name == "CUdeviceptr":
            symbol = self.fresh(name, origin)
            self.live_handles.add(symbol.number)
            return SymbolPointer(symbol, 0, type.element() if type.pointers else None)
        return self.objects.unknown(type, name, origin)

    def pointee(self, symbol: Symbol, element: CType | None) -> Cell:
        """Return the one cell behind a symbolic pointer."""
        cell = self._pointees.get(symbol)
        if cell is None:
            type = element if element is not None and element.name != "void" else UNKNOWN
            cell = Cell(self.unknown_of(type, f"*{symbol.name}", symbol.origin), type, symbol.name)
            self.objects.adopt(cell)
            self._pointees[symbol] = cell
        return cell

    def pointed_by(self, cell: Cell) -> Symbol | None:
        """Return the symbolic pointer that a cell stands behind; None if it is no such cell."""
        return next((symbol for symbol, pointee in self._pointees.items() if pointee is cell), None)

    def pointees(self) -> list[Cell]:
        """Return all cells behind symbolic pointers: code nobody can see reaches them."""
        return list(self._pointees.values())

    # -- decisions ---------------------------------------------------------------------------------

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
                return True
            recalled = self.decisions.recall(value)
            return recalled if recalled is not None else self.bounds.decide(value)
        if isinstance(value, Term):
            known = self.known(value)
            if isinstance(known, int | float):
                return bool(known)
            question, positive = condition(known if known is not None else value)
            if isinstance(question, Symbol) and question.number in self.live_handles:
                return positive
            decided = self.decisions.recall(question)
            if decided is None:
                decided = self.bounds.decide(question)
            return None if decided is None else decided == positive
        if isinstance(value, Handle):
            return value.value != 0
        if isinstance(value, LibraryObject):
            return value.truth()
        if isinstance(
            value,
            CellPointer
            | ElementPointer
            | DevicePointer
            | SymbolPointer
            | FunctionValue
            | Closure
            | BoundMethod
            | Native,
        ):
            return True
        return True if isinstance(value, str) else None

    def known(self, value: Value) -> Value:
        """Return a value with what conditions have fixed filled in."""
        if self.assumed and isinstance(value, Symbol | Term):
            found: Value = substitute(value, self.assumed)
            return found
        return value

    def decide(self, value: Value) -> tuple[bool, bool]:
        """Decide a condition: its truth, and whether it was known. An unknown one forks the path."""
        known = self.truth(value)
        if known is not None:
            return known, True
        if isinstance(value, Symbol | Term):
            question, positive = condition(self.known(value))
        else:
            question, positive = self.fresh("condition", "opaque"), True
        answer = self.decisions.choose(question, positive)
        self._fix(question, answer)
        return answer == positive, False

    def assume(self, value: Value, wanted: bool) -> None:
        """Fix a condition that is not known, without a fork."""
        if isinstance(value, Symbol | Term) and self.truth(value) is None:
            question, positive = condition(self.known(value))
            self.decisions.remember(question, wanted == positive)
            self._fix(question, wanted == positive)

    def _fix(self, question: Any, answer: bool) -> None:
        """Draw the consequences of a decided condition: an unknown that must equal a number does from now on."""
        if (
            answer
            and isinstance(question, Term)
            and question.operator == "=="
            and isinstance(question.operands[0], int)
            and isinstance(question.operands[1], Symbol | Term)
        ):
            self.assumed[question.operands[1]] = question.operands[0]
        elif not answer and isinstance(question, Symbol):
            self.assumed[question] = 0
        self.bounds.learn(question, answer)
        self.device.decided(question, answer)

    def succeeds(self, value: Value) -> None:
        """Take an unknown status as success, without a fork; whether a query found its work done stays open."""
        known = self.known(value)
        if isinstance(known, Symbol) and known.number not in self.live_handles and known not in self.device.queries:
            self.assumed[known] = 0

    def enter_conditional(self) -> None:
        """What follows stands under a branch that could not be decided."""
        self.conditional += 1
        self.device.set_conditional(True)

    def leave_conditional(self) -> None:
        """The undecided branch ends."""
        self.conditional -= 1
        self.device.set_conditional(self.conditional > 0)

    # -- notes and places --------------------------------------------------------------------------

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

    # -- names -------------------------------------------------------------------------------------

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
        return self.frame.scope.find(name)

    def global_cell(self, name: str) -> Cell | None:
        """Return the cell of a global variable, made and initialised when first asked for."""
        found = self.program.find(self.program.global_names, name, self.frame)
        if found is None:
            return None
        key, variable = found
        cell = self.globals.names.get(key)
        if isinstance(cell, Cell):
            return cell
        return self.make_global(key, variable)

    def make_global(self, key: str, variable: Variable) -> Cell:
        """Create a global; in an entry that is not main, what other code may have set is unknown."""
        context = PlainContext(namespace=key.rpartition("::")[0])
        type = self.program.resolve(variable.type, context, self.constant)
        cell = Cell(0, type, variable.name, kind=MemoryKind.HOST_STATIC, span=variable.span)
        self.globals.names[key] = cell
        if variable.device:
            self.device.device_symbol(cell, variable)
        frame = Frame("", Scope(self.globals), namespace=context.namespace)
        self.frames.append(frame)
        try:
            constant = type.const or "constexpr" in variable.type.name
            if self.known_main or constant or variable.device:
                if not variable.extern or variable.initializer is not None:
                    self.objects.declare(cell, type, variable, static=True)
                    self.globals.owned.append(cell)
                else:
                    cell.value = self.unknown_of(type, variable.name, "undeclared")
            else:
                cell.value = self.unknown_of(type.plain(), variable.name, "parameter")
            self.objects.adopt(cell)
            self.statements.end_full_expression(variable.span)
        finally:
            self.frames.pop()
        return cell

    def enumerator(self, name: str) -> Value:
        """Return the value of a visible enumerator; None if there is none of that name."""
        found = self.program.find(self.program.enumerators, name, self.frame)
        if found is None:
            return None
        key, (node, position) = found
        if key not in self._enumerators:
            self._enumerators[key] = position  # a guard against enumerators that name each other
            value: Value = -1
            scope = key.rpartition("::")[0]
            frame = Frame("", Scope(self.globals), namespace=scope, cls=self.frame.cls)
            self.frames.append(frame)
            try:
                for item, expression in node.items[: position + 1]:
                    value = self.expressions.value(expression) if expression else combine("+", value, 1)
                    frame.scope.names[item] = Cell(value, INT)
            finally:
                self.frames.pop()
            self._enumerators[key] = value
        return self._enumerators[key]
