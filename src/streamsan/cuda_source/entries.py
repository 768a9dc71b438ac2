"""Where execution may start: main, else every function with a body that nothing visible calls."""

from __future__ import annotations

from dataclasses import dataclass

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.program.index import Program
from streamsan.cuda_source.program.relevance import Relevance, walk
from streamsan.cuda_source.values.cells import Cell, Operand, StructObject
from streamsan.cuda_source.values.classes import ClassInfo, last_name
from streamsan.cuda_source.values.types import CType
from streamsan.cuda_syntax.tree import Call, Function, Member, Name, New, Span, Type, Variable


@dataclass(slots=True)
class Entry:
    """A function that is run on its own."""

    name: str
    function: Function
    cls: ClassInfo | None = None
    is_main: bool = False
    is_fragment: bool = False

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


def entries_of(program: Program, relevance: Relevance) -> list[Entry]:
    """Return the entries of a unit."""
    mains = [f for f in program.functions.get("main", []) if f.body is not None]
    if mains:
        return [Entry("main", mains[0], is_main=True)]
    if program.fragment is not None and program.fragment.body is not None:
        return [Entry("", program.fragment, is_fragment=True)]
    candidates = _candidates(program, relevance)
    called = _called_names(program)
    entries = [entry for entry in candidates if last_name(entry.name) not in called or entry.function.destructor]
    entries = entries or candidates
    # What a header defines is walked where it is called; on its own it is checked when the header itself is.
    own = [entry for entry in entries if entry.span.file == program.unit.file]
    return own or entries


def _candidates(program: Program, relevance: Relevance) -> list[Entry]:
    found: list[Entry] = []
    for functions in program.functions.values():
        for function in functions:
            if function.body is None or function.kernel or function.device_only:
                continue
            if relevance.function_acts(function.name) and relevance.touches_gpu(function):
                found.append(Entry(function.name, function))
    instantiated = _instantiated(program)
    for name, node in program.classes.items():
        if last_name(name) in instantiated:
            continue
        cls = program.class_of(CType(name))
        if cls is None:
            continue
        for method in program.members_of(name, node):
            if method.body is None or method.kernel or method.device_only or method.deleted:
                continue
            if relevance.body_acts(method) and relevance.touches_gpu(method):
                found.append(Entry(f"{name}::{last_name(method.name)}", method, cls))
    return found


def _called_names(program: Program) -> set[str]:
    """Names that some body mentions, other than a function that mentions itself."""
    called: set[str] = set()
    for function in program.bodies():
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
