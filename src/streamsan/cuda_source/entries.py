"""Where execution may start: main, else every function with a body that nothing visible calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set

from msgspec import Struct

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.program.coverage import Coverage
from streamsan.cuda_source.program.index import Program
from streamsan.cuda_source.program.linkage import Home
from streamsan.cuda_source.program.relevance import Relevance, walk
from streamsan.cuda_source.values.cells import Cell, Operand, StructObject
from streamsan.cuda_source.values.classes import ClassInfo, last_name
from streamsan.cuda_source.values.types import CType
from streamsan.cuda_syntax.tree import Call, Function, Lambda, Member, Name, New, Span, Type, Variable


class Entry(Struct):
    """A function that is run on its own."""

    name: str
    function: Function
    home: Home
    """the unit in which it stands"""
    cls: ClassInfo | None = None
    is_main: bool = False
    is_fragment: bool = False
    known: int = 1
    """how many entries are known when the first one is run, if it is one of them"""
    behind: int = 0
    """how many of these come behind it"""

    @property
    def span(self) -> Span:
        """Where the function stands."""
        return self.function.span

    def run(self, machine: Machine) -> None:
        """Call the function; its parameters are what an unknown caller passes."""
        function = self.function
        frame = machine.frame
        frame.cls = self.cls
        if self.cls is not None:
            frame.bindings = dict(self.cls.bindings)
            frame.namespace = self.cls.namespace
        else:
            frame.namespace = function.name.rpartition("::")[0]
        origin = "input" if self.is_main else "parameter"
        operands: list[Operand] = []
        for parameter in function.parameters:
            if parameter.pack:
                continue
            type = machine.resolve(parameter.type)
            if type.array:
                type = type.element().pointer_to()
            cell = Cell(None, type.plain(), parameter.name, span=function.span)
            cell.value = machine.objects.unknown(type.plain(), parameter.name, origin)  # type: ignore[arg-type]
            machine.objects.adopt(cell)
            operands.append(Operand(cell=cell, moved=not type.reference))
        this: Cell | None = None
        if self.cls is not None and not function.static:
            type = CType(self.cls.name, self.cls.arguments)
            this = Cell(None, type, "this")
            symbol = machine.fresh("this", "parameter")
            this.value = StructObject(self.cls, None if function.constructor else symbol)
            machine.objects.adopt(this)
        frame.cls = None
        if function.destructor and this is not None and isinstance(this.value, StructObject):
            this.value.constructed = True
            machine.constructors.destruct(this.value, function.span)
            return
        frame.bindings = {}
        machine.functions.invoke(function, operands, function.span, this=this, cls=self.cls, entry=True)


def entries_of_program(homes: Sequence[Home], coverage: Coverage) -> Iterator[Entry]:
    """Yield the entries of a program; what is yielded late depends on what the earlier ones came to.

    First what no unit calls. Then what would be one in its unit alone, if no path has entered it by then: a call led
    there, or none did that could be followed. In the end what only code that nobody can see may call.
    """
    called: set[str] = set()
    for home in homes if len(homes) > 1 else ():
        called |= _called_names(home.program)
    mains = [home for home in homes if has_main(home.program)]
    known = [entry for home in mains or homes for entry in entries_of(home, called)]
    for position, entry in enumerate(known):
        entry.known, entry.behind = len(known), len(known) - position - 1
        yield entry
    for home in homes if len(homes) > 1 else ():
        if home not in mains:
            yield from (entry for entry in entries_of(home) if not coverage.has_entered(entry.function))
    for home in homes:
        yield from _called_by_others(home, coverage, home in mains)


def _called_by_others(home: Home, coverage: Coverage, whole: bool) -> Iterator[Entry]:
    """Yield the functions that code which nobody can see may call, and that no path has entered.

    Those that stand in a table or are given to somebody (a callback, a thread's function), and lambdas that are. Where
    the program may have further files (not `whole`), what none of its functions calls comes before the rest: methods of
    a class of which there are objects, functions of a template. The rest is what the reader could not follow the calls
    to, and what nobody calls.
    """
    program = home.program
    named = program.functions_as_values()
    called = _called_names(program) if not whole else set()

    def is_left(function: Function) -> bool:
        # Headers are long, and mostly never looked into: what stands in them is left to who includes them.
        return function.span.file == program.unit.file and not coverage.has_entered(function)

    def may_be_called(function: Function) -> bool:
        name = last_name(function.name)
        return is_left(function) and (name in named or (not whole and name not in called))

    for entry in _candidates(home, home.relevance, may_be_called):
        # Those before it may have come to it by now.
        if not coverage.has_entered(entry.function):
            yield entry
    excused = coverage.only_after_errors(program)
    for entry in _candidates(home, home.relevance, is_left):
        function = entry.function
        if coverage.has_entered(function) or id(function) in excused:
            continue
        if not whole or home.prospects.has_new(function.body):
            yield entry
    for function, cls in _entered_functions(home, coverage):
        for node in walk(function.body):
            if isinstance(node, Lambda) and _stands_alone(node) and coverage.has_only_unreached_calls(node.body):
                body = Function(node.span, f"{function.name}::lambda", node.parameters, Type("auto"), node.body)
                body.static = not node.captures
                yield Entry(body.name, body, home, cls)


def _entered_functions(home: Home, coverage: Coverage) -> Iterator[tuple[Function, ClassInfo | None]]:
    program = home.program
    for functions in program.functions.values():
        yield from ((each, None) for each in functions if coverage.has_entered(each))
    for name, node in program.classes.items():
        for method in program.members_of(name, node):
            if coverage.has_entered(method):
                yield method, program.class_of(CType(name))


def _stands_alone(node: Lambda) -> bool:
    """Tell whether a lambda means something without the function in which it stands."""
    return not node.default and all(name == "this" for name, _, _ in node.captures)


def has_main(program: Program) -> bool:
    """Tell whether a unit defines `main`."""
    return any(function.body is not None for function in program.functions.get("main", []))


def entries_of(home: Home, called_elsewhere: Set[str] = frozenset()) -> list[Entry]:
    """Return the entries of a unit. What other units call is none, unless all is called."""
    program, relevance = home.program, home.relevance
    mains = [f for f in program.functions.get("main", []) if f.body is not None]
    if mains:
        return [Entry("main", mains[0], home, is_main=True)]
    if program.fragment is not None and program.fragment.body is not None:
        return [Entry("", program.fragment, home, is_fragment=True)]
    candidates = _candidates(home, relevance)
    called = called_elsewhere or _called_names(program)
    entries = [entry for entry in candidates if last_name(entry.name) not in called or entry.function.destructor]
    if called_elsewhere:
        return [entry for entry in entries if entry.span.file == program.unit.file]
    entries = entries or candidates
    # What a header defines is walked where it is called; on its own it is checked when the header itself is.
    own = [entry for entry in entries if entry.span.file == program.unit.file]
    return own or _called_by_headers_only(home) or entries


def _called_by_headers_only(home: Home) -> list[Entry]:
    """Return the entries of the file itself that only headers mention: by names that are others', or as callbacks."""
    file = home.program.unit.file
    called = _called_names(home.program, file)
    own = _candidates(home, home.relevance, lambda function: function.span.file == file)
    return [each for each in own if last_name(each.name) not in called]


def _candidates(home: Home, relevance: Relevance, among: Callable[[Function], bool] | None = None) -> list[Entry]:
    """Return the functions that do something on a device, and the methods of classes of which no objects are seen.

    `among`: only functions for which this holds, and then methods of every class.
    """
    program = home.program
    found: list[Entry] = []
    for functions in program.functions.values():
        for function in functions:
            if function.body is None or function.kernel or function.device_only:
                continue
            if among is not None and not among(function):
                continue
            if relevance.function_acts(function.name) and relevance.touches_gpu(function):
                found.append(Entry(function.name, function, home))
    instantiated = _instantiated(program) if among is None else set()
    for name, node in program.classes.items():
        if last_name(name) in instantiated:
            continue
        cls = program.class_of(CType(name))
        if cls is None:
            continue
        for method in program.members_of(name, node):
            if method.body is None or method.kernel or method.device_only or method.deleted:
                continue
            if among is not None and not among(method):
                continue
            if relevance.body_acts(method) and relevance.touches_gpu(method):
                found.append(Entry(f"{name}::{last_name(method.name)}", method, home, cls))
    return found


def _called_names(program: Program, file: str = "") -> set[str]:
    """Names that some body mentions, other than a function that mentions itself. `file`: only bodies there."""
    called: set[str] = set()
    for function in program.bodies():
        if file and function.span.file != file:
            continue
        own = last_name(function.name)
        for part in walk(function):
            name = ""
            if isinstance(part, Name):
                name = last_name(part.name)
            elif isinstance(part, Member):
                name = last_name(part.member)
            if name and name != own:
                called.add(name)
    for variable in program.globals:
        for part in walk(variable):
            if isinstance(part, Name):
                called.add(last_name(part.name))
    return called


def _instantiated(program: Program) -> set[str]:
    """Classes that some function makes objects of, or that are parts of other classes or globals."""
    names: set[str] = set()

    def of_type(type: Type) -> None:
        names.add(last_name(type.name))
        for argument in type.arguments:
            if isinstance(argument, Type):
                of_type(argument)

    for function in program.bodies():
        for part in walk(function.body):
            if (isinstance(part, Variable) and not part.type.reference and not part.type.pointers) or isinstance(
                part, New
            ):
                of_type(part.type)
            elif isinstance(part, Call) and isinstance(part.callee, Name):
                names.add(last_name(part.callee.name))
                for argument in part.callee.template_arguments:
                    if isinstance(argument, Type):
                        of_type(argument)
    for variable in program.globals:
        of_type(variable.type)
    for node in program.classes.values():
        for field in node.fields:
            if not field.type.pointers:
                of_type(field.type)
        for base in node.bases:
            names.add(last_name(base.name))
    return names
