"""Functions: which overload is meant, what templates bind, how a body runs; constructors and destructors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.program.prospects import Goal
from streamsan.cuda_source.values.cells import (
    Cell,
    CellPointer,
    Closure,
    FunctionValue,
    LibraryObject,
    Operand,
    Reference,
    Scope,
    StructObject,
    Value,
    is_pointer,
)
from streamsan.cuda_source.values.classes import ClassInfo, last_name
from streamsan.cuda_source.values.frame import CallEnds, Frame, Thrown
from streamsan.cuda_source.values.success import is_status_type
from streamsan.cuda_source.values.types import CType
from streamsan.cuda_syntax.tree import Function, Parameter, Span, Type
from streamsan.model.values import Symbol

MOST_ACTIVATIONS = 16
"""Activations of one function inside each other."""
MOST_BLIND_ACTIVATIONS = 3
"""The same, when nothing known is passed on."""

MOST_BINDINGS = 2
"""The same, where each is called to make an argument of the one before it: by a conversion."""


class Pack(LibraryObject):
    """A function parameter pack."""

    class_name = "..."

    def __init__(self, operands: list[Operand]) -> None:
        super().__init__()
        self.operands = operands


class Functions:
    """Chooses and runs functions of one path."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._elsewhere: dict[int, Cell] = {}
        """objects that functions without bodies return references to"""
        self._binding: Counter[int] = Counter()
        """id of a function -> how many calls of it are being given their arguments"""

    def invoke(
        self,
        function: Function,
        operands: list[Operand],
        span: Span,
        *,
        this: Cell | None = None,
        cls: ClassInfo | None = None,
        template_arguments: tuple[Any, ...] = (),
        entry: bool = False,
    ) -> Operand:
        """Call a function (an entry has no caller): bind parameters, run the body, end the parameters' lifetime."""
        machine = self.machine
        function = machine.linked(function)
        home = machine.home_of(function)
        if home is not None:
            there = home.program.class_of(CType(cls.name, cls.arguments)) if cls is not None else None
            with machine.at(home):
                return self.invoke(
                    function,
                    operands,
                    span,
                    this=this,
                    cls=there or cls,
                    template_arguments=template_arguments,
                    entry=entry,
                )
        name = function.name
        if function.body is None or function.kernel:
            machine.unseen.hand_out(function, operands)
            result = machine.unseen.call(name, operands, span, this=this)
            if is_status_type(function.returns.name) and not function.returns.pointers:
                machine.succeeds(result.value)
            return self._object_from_elsewhere(function, bool(operands), result)
        if len(machine.frames) > machine.limits.depth or self._runs_away(function, operands, this):
            if machine.relevance.function_acts(name):
                machine.not_understood(span, f"calls of {name} nested too deeply to follow")
            return Operand(machine.fresh(name, "opaque"))
        machine.coverage.enter(function)
        outer = dict(cls.bindings) if cls is not None else {}
        bindings = machine.overloads.bindings_of(function, operands, template_arguments, outer)
        namespace = cls.namespace if cls is not None else name.rpartition("::")[0]
        call_site = 0 if entry else machine.device.site(span)
        frame = Frame(
            machine.program_name(function, cls),
            Scope(machine.globals),
            this=this,
            cls=cls,
            bindings=bindings,
            namespace=namespace,
            call_site=call_site,
            declaration=function,
        )
        left_out = False
        try:
            with machine.dispensable(function) as left_out, self._entered(frame, function.parameters, operands, span):
                if function.constructor and this is not None and cls is not None:
                    machine.constructors.initialise_members(function, this, cls, span)
                return machine.statements.body(function.body, frame, function.returns)
        except CallEnds:
            if not left_out or machine.leaves_headers:
                raise
            machine.not_understood(span, f"calls of {name} take too long to follow")
            return machine.unseen.call(name, operands, span, this=this)
        except Thrown:
            if not self._goes_past_exception(function, span):
                raise
            machine.not_understood(span, f"{name} ends by an exception, as far as is known")
            return machine.unseen.call(name, operands, span, this=this)

    def _goes_past_exception(self, function: Function, span: Span) -> bool:
        """Tell whether the path goes on behind a call from the file itself into a header, that ends by an exception."""
        machine = self.machine
        file = machine.home.program.unit.file
        # A lambda stands in the function around it.
        caller = next((frame.declaration for frame in reversed(machine.frames) if frame.declaration is not None), None)
        if function.span.file == file or caller is None or caller.span.file != file:
            return False
        return machine.decisions.goes_past_exception(span, Goal(machine.home.prospects, machine.code_behind()))

    def _object_from_elsewhere(self, function: Function, given: bool, result: Operand) -> Operand:
        """Return what a function that is only declared returns: of a class of the program, an object of that class.

        A reference that it returns without being given anything is to the same object each time.
        """
        machine = self.machine
        returns = function.returns
        if not isinstance(result.value, Symbol) or returns.pointers or returns.name in ("", "auto", "void"):
            return result
        known = self._elsewhere.get(id(function)) if returns.reference and not given else None
        if known is not None:
            return Operand(cell=known)
        type = machine.resolve(returns).plain()
        if not returns.reference or machine.program.class_of(type, machine.frame) is None:
            return result
        name = last_name(function.name)
        cell = Cell(machine.objects.unknown(type, name, "opaque"), type, name)
        machine.objects.adopt(cell)
        if not given:
            self._elsewhere[id(function)] = cell
        return Operand(cell=cell)

    def _runs_away(self, function: Function, operands: list[Operand], this: Cell | None) -> bool:
        """Tell whether a recursion has no known number or address that could end it, or converts without end."""
        if self._binding[id(function)] >= MOST_BINDINGS:
            return True
        active = sum(1 for frame in self.machine.frames if frame.declaration is function)
        if active < MOST_BLIND_ACTIVATIONS:
            return False
        if active >= MOST_ACTIVATIONS:
            return True
        values = [operand.held for operand in operands]
        return this is None and not any(isinstance(v, int | float | StructObject) or is_pointer(v) for v in values)

    @contextmanager
    def _entered(
        self, frame: Frame, parameters: list[Parameter], operands: list[Operand], span: Span
    ) -> Iterator[None]:
        """Run in an activation whose parameters are bound to operands, the rest to their default arguments."""
        self._binding[id(frame.declaration)] += 1
        try:
            left = self._bind(frame, parameters, operands, span)
        finally:
            self._binding[id(frame.declaration)] -= 1
        with self.machine.entered(frame):
            for parameter in left:
                operand = self.machine.expressions.operand(parameter.default) if parameter.default else Operand()
                self._bind_one(frame, parameter, operand, span)
            yield

    def _bind(self, frame: Frame, parameters: list[Parameter], operands: list[Operand], span: Span) -> list[Parameter]:
        """Bind parameters to operands, and return those that are left."""
        position = 0
        left: list[Parameter] = []
        for parameter in parameters:
            if parameter.pack:
                frame.scope.names[parameter.name] = Cell(Pack(operands[position:]), CType("..."), parameter.name)
                position = len(operands)
            elif position < len(operands):
                self._bind_one(frame, parameter, operands[position], span)
                position += 1
            else:
                left.append(parameter)
        return left

    def _bind_one(self, frame: Frame, parameter: Parameter, operand: Operand, span: Span) -> None:
        machine = self.machine
        if isinstance(operand.value, Reference) and operand.cell is None:
            operand = Operand(cell=operand.value.cell)
        type = machine.resolve_in(parameter.type, frame)
        if type.name in ("auto", "") and not type.pointers:
            have = machine.expressions.type_of(operand).bare()
            type = CType(have.name, have.arguments, have.pointers, type.reference, type.const)
        if type.array:
            type = type.element().pointer_to()
        if type.reference and operand.cell is not None:
            self._learn_class(operand.cell, type.plain())
            held = operand.cell.value
            same_kind = not machine.objects.is_class(type.plain()) or isinstance(held, StructObject | LibraryObject)
            if same_kind or (type.reference == "&" and not type.const):
                frame.scope.names[parameter.name] = operand.cell
                return
        cell = Cell(None, type.bare() if type.reference else type, parameter.name, span=span)
        machine.objects.initialise(cell, type.plain(), operand, span)
        frame.scope.own(parameter.name, cell)

    def _learn_class(self, cell: Cell, type: CType) -> None:
        """What nobody knows the type of (`*unseen()`), and a reference to a class is bound to, is of that class."""
        machine = self.machine
        held = cell.value
        if cell.type.name or cell.type.pointers or not isinstance(held, Symbol) or type.pointers:
            return
        if machine.program.class_of(type, machine.frame) is not None:
            cell.type = type
            cell.value = machine.objects.unknown(type, held.name, held.origin)
            machine.objects.adopt(cell)

    def call_closure(self, closure: Closure, operands: list[Operand], span: Span) -> Operand:
        """Call a lambda."""
        machine = self.machine
        if len(machine.frames) > machine.limits.depth:
            machine.not_understood(span, "lambdas nested too deeply to follow")
            return Operand(machine.fresh("lambda", "opaque"))
        with machine.at(closure.home):
            return self._run_closure(closure, operands, span)

    def _run_closure(self, closure: Closure, operands: list[Operand], span: Span) -> Operand:
        machine = self.machine
        scope = Scope(closure.scope)
        scope.names.update(closure.captured)
        frame = Frame(
            closure.function,
            Scope(scope),
            this=closure.this,
            cls=closure.cls,
            bindings=closure.bindings,
            namespace=closure.namespace,
            call_site=machine.device.site(span),
            closure=closure.node,
        )
        with self._entered(frame, closure.node.parameters, operands, span):
            return machine.statements.body(closure.node.body, frame, Type("auto"))

    def call_value(self, value: Value, operands: list[Operand], span: Span) -> Operand:
        """Call whatever a value is: a lambda, a function, an object with `operator()`, an unknown."""
        machine = self.machine
        if isinstance(value, CellPointer):
            value = value.cell.value
        if isinstance(value, Closure):
            return self.call_closure(value, operands, span)
        if isinstance(value, FunctionValue):
            this: Cell | None = None
            if value.cls is not None and operands and not value.functions[0].static:
                this = machine.expressions.cell_of(operands[0])
                if not isinstance(this.value, StructObject | LibraryObject):
                    this = machine.expressions.cell_of(machine.expressions.dereference(this.value, span))
                operands = operands[1:]
                if isinstance(this.value, StructObject) and this.value.cls is not None:
                    return machine.calls.method(this, value.functions, this.value.cls, operands, span)
            chosen = machine.overloads.choose(value.functions, operands)
            if chosen is None:
                return machine.unseen.call(value.name, operands, span)
            return self.invoke(
                chosen, operands, span, this=this, cls=value.cls, template_arguments=value.template_arguments
            )
        return machine.calls.call_object(value, operands, span)
