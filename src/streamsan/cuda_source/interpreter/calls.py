"""Calls: what a callee's name means, macros, methods, operators of classes, and code nobody can see."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from streamsan.cuda_source.interpreter import library
from streamsan.cuda_source.interpreter.frame import MacroArgument, Scope
from streamsan.cuda_source.interpreter.functions import Pack
from streamsan.cuda_source.interpreter.library.braced import BracedList, plain
from streamsan.cuda_source.interpreter.library.face import NOT_MODELLED, CallSite, FunctionModel
from streamsan.cuda_source.interpreter.program import ClassInfo, last_name
from streamsan.cuda_source.interpreter.statuses import asks_for_success
from streamsan.cuda_source.interpreter.types import SCALAR_SIZES, UNKNOWN, CType
from streamsan.cuda_source.interpreter.values import (
    ArrayObject,
    BoundMethod,
    Cell,
    CellPointer,
    Closure,
    DevicePointer,
    ElementPointer,
    FunctionValue,
    LibraryObject,
    Native,
    Operand,
    Reference,
    Status,
    StructObject,
    SymbolPointer,
    Value,
    held_by,
    is_pointer,
    is_unknown,
)
from streamsan.cuda_syntax.tree import (
    Call,
    Expression,
    Function,
    InitList,
    Macro,
    Member,
    Name,
    Span,
    Type,
    Unary,
)
from streamsan.model.values import Handle, Symbol

if TYPE_CHECKING:
    from streamsan.cuda_source.interpreter.machine import Machine

_TIMER_NAME = re.compile(r"(?i)time|clock|tick|toc\b|elapsed|stopwatch|bench|profil|start|stop|second|lap\b")
_CHECK_NAME = re.compile(r"check|err|assert|safe|verify|expect|throw|try|succe|ensure|must|call", re.IGNORECASE)
_API_NAME = re.compile(r"cuda[A-Z]\w*$|cu[A-Z]\w*$")


class Calls:
    """Evaluates the calls of one path."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    # -- arguments ---------------------------------------------------------------------------------

    def operands(self, arguments: list[Expression]) -> list[Operand]:
        """Evaluate arguments in order; packs are expanded."""
        machine = self.machine
        found: list[Operand] = []
        for argument in arguments:
            if isinstance(argument, Unary) and argument.operator == "...":
                found.extend(self._expand(argument.operand))
                continue
            if isinstance(argument, Name):
                local = machine.find(argument.name)
                if isinstance(local, MacroArgument) and len(local.expression) != 1:
                    found.extend(self._in_macro_scope(local, self.operands))
                    continue
            found.append(machine.expressions.operand(argument))
        return found

    def _in_macro_scope(self, argument: MacroArgument, evaluate: Any) -> Any:
        frame = self.machine.frame
        scope, spans = frame.scope, self.machine.device.leave_macro()
        frame.scope = argument.scope
        try:
            return evaluate(argument.expression)
        finally:
            frame.scope = scope
            self.machine.device.enter_macros(spans)

    def macro_argument(self, argument: MacroArgument) -> Operand:
        """Evaluate an argument of a macro in the scope where it was written."""
        machine = self.machine

        def evaluate(expressions: list[Expression]) -> Operand:
            result = Operand(None)
            for expression in expressions:
                result = machine.expressions.operand(expression)
            return result

        found: Operand = self._in_macro_scope(argument, evaluate)
        return found

    def _expand(self, pattern: Expression) -> list[Operand]:
        machine = self.machine
        names = [name for name in machine.loops.relevance.names_in(pattern) if self._pack(name) is not None]
        if not names:
            return [machine.expressions.operand(pattern)]
        packs = {name: self._pack(name) for name in names}
        length = max(len(pack.operands) for pack in packs.values() if pack is not None)
        found: list[Operand] = []
        outer = machine.frame.scope
        for position in range(length):
            scope = Scope(outer)
            for name, pack in packs.items():
                if pack is not None and position < len(pack.operands):
                    operand = pack.operands[position]
                    cell = machine.expressions.cell_of(operand)
                    scope.names[name] = cell
            machine.frame.scope = scope
            try:
                if isinstance(pattern, Name) and pattern.name in packs:
                    pack = packs[pattern.name]
                    assert pack is not None
                    found.append(pack.operands[position])
                else:
                    found.append(machine.expressions.operand(pattern))
            finally:
                machine.frame.scope = outer
        return found

    def _pack(self, name: str) -> Pack | None:
        local = self.machine.find(name)
        return local.value if isinstance(local, Cell) and isinstance(local.value, Pack) else None

    def template_arguments(self, arguments: list[Type | Expression]) -> list[Any]:
        """Evaluate explicit template arguments."""
        return self.machine.expressions.types_in(arguments)

    # -- calls -------------------------------------------------------------------------------------

    def call(self, node: Call) -> Operand:
        """Evaluate a call of any kind."""
        machine = self.machine
        callee = node.callee
        if isinstance(callee, Member):
            return self._method_call(callee, node)
        if isinstance(callee, Name):
            return self._named_call(callee, node)
        target = machine.expressions.operand(callee)
        operands = self.operands(node.arguments)
        value = target.cell.value if target.cell is not None else target.value
        if isinstance(value, StructObject | LibraryObject):
            found = self.operator("()", [target, *operands], node.span)
            if found is not None:
                return found
        return machine.functions.call_value(machine.expressions.load(target, node.span), operands, node.span)

    def _named_call(self, callee: Name, node: Call) -> Operand:
        machine = self.machine
        name, span = callee.name, node.span
        frame = machine.frame
        local = machine.find(name)
        if isinstance(local, MacroArgument):
            if len(local.expression) == 1 and isinstance(local.expression[0], Name):
                renamed = local.expression[0]
                return self._named_call(Name(renamed.span, renamed.name, renamed.template_arguments), node)
            target = self.macro_argument(local)
            return machine.functions.call_value(
                machine.expressions.load(target, span), self.operands(node.arguments), span
            )
        if isinstance(local, Cell):
            return self._call_cell(local, node)
        macro = machine.program.macros.get(name)
        if macro is not None and name not in frame.expanding:
            if macro.parameters is not None:
                return self.function_macro(macro, node)
            if isinstance(macro.expression, Name):
                renamed = Name(span, macro.expression.name, macro.expression.template_arguments)
                frame.expanding.add(name)
                try:
                    return self._named_call(renamed, node)
                finally:
                    frame.expanding.discard(name)
        bound = frame.bindings.get(name)
        if isinstance(bound, CType):
            return self.construct_temporary(bound, self.operands(node.arguments), span)
        method = self.implicit_method(name)
        if method is not None:
            functions, cls = method
            operands = self.operands(node.arguments)
            arguments = tuple(self.template_arguments(callee.template_arguments))
            return self.method(frame.this, functions, cls, operands, span, template_arguments=arguments)
        functions = machine.program.find_functions(name, frame)
        if functions and not (machine.device.is_api(name) and all(f.body is None for f in functions)):
            return self._call_functions(functions, callee, node)
        field = machine.expressions.lookup(name, callee) if frame.cls is not None and "::" not in name else None
        if field is not None and field.cell is not None:
            return self._call_cell(field.cell, node)
        type = self._type_named(callee)
        if type is not None:
            return self.construct_temporary(type, self.operands(node.arguments), span)
        if machine.device.is_api(name) and name not in machine.program.global_names:
            operands = [plain(operand) for operand in self.operands(node.arguments)]
            return machine.device.call(last_name(name), node, operands)
        model = library.find_function(name)
        operands = self.operands(node.arguments)
        if model is not None:
            arguments = tuple(self.template_arguments(callee.template_arguments))
            return self.as_operand(model(machine, operands, CallSite(span, arguments)))
        cell = machine.global_cell(name)
        if cell is not None:
            return self._call_with(cell, operands, span)
        if library.is_harmless(name):
            return self.harmless(name, operands, span)
        if library.is_class(name):
            return self.construct_temporary(CType(name), operands, span)
        if _API_NAME.match(last_name(name)):
            return machine.device.unknown_api(last_name(name), operands, span)
        return self.opaque(name, operands, span)

    def carries(self, operands: list[Operand]) -> bool:
        """Tell whether a pointer or handle of interest is among the arguments."""
        reached: list[Value] = []
        for operand in operands:
            self.machine.reach.collect(operand.cell.value if operand.cell is not None else operand.value, reached)
        return any(isinstance(value, DevicePointer | SymbolPointer | Handle) for value in reached)

    def harmless(self, name: str, operands: list[Operand], span: Span) -> Operand:
        """A call that only reads its arguments."""
        for operand in operands:
            self.machine.expressions.load(operand, span)
        return Operand(self.machine.fresh(name, "input"))

    def as_operand(self, value: Any) -> Operand:
        """Return what a library model gave as an operand."""
        return value if isinstance(value, Operand) else Operand(value)

    def native(self, name: str, model: FunctionModel) -> Native:
        """Return a modelled function as a value."""

        def run(machine: Machine, operands: list[Operand], span: Span) -> Any:
            return model(machine, operands, CallSite(span))

        return Native(name, run)

    def invoke_value(self, value: Value, operands: list[Operand], span: Span) -> Operand:
        """Call a value of any kind, objects with `operator()` included."""
        if isinstance(value, Reference):
            value = value.cell.value
        if isinstance(value, StructObject | LibraryObject):
            cell = value.cell or Cell(value, UNKNOWN)
            found = self.operator("()", [Operand(cell=cell), *operands], span)
            if found is not None:
                return found
        return self.machine.functions.call_value(value, operands, span)

    def _call_cell(self, cell: Cell, node: Call) -> Operand:
        return self._call_with(cell, self.operands(node.arguments), node.span)

    def _call_with(self, cell: Cell, operands: list[Operand], span: Span) -> Operand:
        machine = self.machine
        if isinstance(cell.value, StructObject | LibraryObject):
            found = self.operator("()", [Operand(cell=cell), *operands], span)
            if found is not None:
                return found
        value = machine.expressions.load(Operand(cell=cell), span)
        if is_unknown(value) or isinstance(value, SymbolPointer):
            return self.opaque(cell.name or "a function pointer", operands, span)
        return machine.functions.call_value(value, operands, span)

    def _call_functions(self, functions: list[Function], callee: Name, node: Call) -> Operand:
        machine = self.machine
        operands = self.operands(node.arguments)
        chosen = machine.functions.choose(functions, operands)
        if chosen is None:
            return self.opaque(callee.name, operands, node.span)
        if chosen.body is None and library.find_function(callee.name) is not None:
            model = library.find_function(callee.name)
            assert model is not None
            return self.as_operand(model(machine, operands, CallSite(node.span)))
        if chosen.body is None and library.is_harmless(callee.name):
            return self.harmless(callee.name, operands, node.span)
        if chosen.device_only:
            return Operand(machine.fresh(callee.name, "opaque"))
        arguments = tuple(self.template_arguments(callee.template_arguments))
        return machine.functions.invoke(chosen, operands, node.span, template_arguments=arguments)

    def implicit_method(self, name: str) -> tuple[list[Function], ClassInfo] | None:
        """Find a method of the class that the frame is in, or `Base::method`, `Class::static_method`."""
        machine = self.machine
        frame = machine.frame
        scope, _, short = name.rpartition("::")
        if scope:
            found = machine.program.find(machine.program.classes, scope, frame)
            if found is None:
                bound = frame.bindings.get(scope)
                cls = machine.program.class_of(bound, frame) if isinstance(bound, CType) else None
            else:
                same = [base for base in frame.cls.lineage() if base.name == found[0]] if frame.cls else []
                cls = same[0] if same else machine.program.class_of(CType(found[0]), frame)
            return cls.find_method(short) if cls is not None and short != last_name(cls.name) else None
        if frame.cls is None or not short:
            return None
        dynamic = frame.this.value if frame.this is not None else None
        if isinstance(dynamic, StructObject) and dynamic.cls is not None and dynamic.cls.is_a(frame.cls.name):
            found_method = dynamic.cls.find_method(short)
            own = frame.cls.find_method(short)
            if found_method and own and not any(method.virtual for method in own[0]):
                return own
            return found_method or own
        return frame.cls.find_method(short)

    def _type_named(self, callee: Name) -> CType | None:
        machine = self.machine
        program, frame = machine.program, machine.frame
        name = callee.name
        known = program.find(program.classes, name, frame) is not None
        if known or name in SCALAR_SIZES or program.find(program.aliases, name, frame) is not None:
            return machine.resolve(Type(name, list(callee.template_arguments)))
        if library.is_class(name) and library.find_function(name) is None:
            return machine.resolve(Type(name, list(callee.template_arguments)))
        return None

    def construct_temporary(self, type: CType, operands: list[Operand], span: Span) -> Operand:
        """Evaluate `T(arguments)`."""
        machine = self.machine
        cell = Cell(None, type, last_name(type.name), span=span)
        machine.objects.construct(cell, type, operands, span)
        return Operand(machine.statements.temporary(cell.value))

    # -- methods -----------------------------------------------------------------------------------

    def _method_call(self, callee: Member, node: Call) -> Operand:
        machine = self.machine
        span = node.span
        owner = machine.expressions.operand(callee.object)
        target = machine.expressions.target_object(owner, callee.arrow, span)
        held = target.cell.value if target.cell is not None else target.value
        name = last_name(callee.member)
        if isinstance(held, StructObject) and held.cls is not None:
            return self._class_method(callee, target, held, name, node)
        operands = self.operands(node.arguments)
        if isinstance(held, LibraryObject):
            return self.library_method(held, target, name, operands, span)
        if isinstance(held, Pack):
            return Operand(machine.fresh(name, "opaque"))
        cell = machine.expressions.cell_of(target)
        if isinstance(held, StructObject) and name in held.fields:
            return self._call_with(held.fields[name], operands, span)
        if library.is_harmless(name) or library.is_harmless(getattr(held, "name", "")):
            return self.harmless(name, operands, span)
        from_library = isinstance(held, Symbol) and held.origin == "input"  # what a harmless call returned
        if (from_library or cell.type.name.startswith("std::")) and not self.carries(operands):
            return self.harmless(name, operands, span)
        return self.opaque(name, operands, span, this=cell)

    def _class_method(self, callee: Member, target: Operand, held: StructObject, name: str, node: Call) -> Operand:
        machine = self.machine
        cls = held.cls
        assert cls is not None
        cell = machine.expressions.cell_of(target)
        if held.cell is None:
            held.cell = cell
        scope = callee.member.rpartition("::")[0]
        if scope:
            cls = next((base for base in cls.lineage() if last_name(base.name) == last_name(scope)), cls)
        if name.startswith("~"):
            machine.objects.destroy_value(held, node.span)
            return Operand(None)
        found = cls.find_method(name)
        operands = self.operands(node.arguments)
        if found is not None:
            arguments = tuple(self.template_arguments(callee.template_arguments))
            return self.method(cell, found[0], found[1], operands, node.span, template_arguments=arguments)
        field = machine.objects.field(held, name)
        if field is not None and not is_unknown(field.value):
            return self._call_with(field, operands, node.span)
        for base in cls.lineage():
            for library_base in base.library_bases:
                del library_base
                return Operand(machine.fresh(name, "opaque"))
        return self.opaque(name, operands, node.span, this=cell)

    def method(
        self,
        this: Cell | None,
        functions: list[Function],
        cls: ClassInfo,
        operands: list[Operand],
        span: Span,
        *,
        template_arguments: tuple[Any, ...] = (),
    ) -> Operand:
        """Call a method; the dynamic class of the object decides."""
        machine = self.machine
        chosen = machine.functions.choose(functions, operands, cls.context())
        if chosen is None:
            return self.opaque(functions[0].name, operands, span, this=this)
        if chosen.device_only:
            return Operand(machine.fresh(chosen.name, "opaque"))
        return machine.functions.invoke(
            chosen, operands, span, this=None if chosen.static else this, cls=cls, template_arguments=template_arguments
        )

    def call_method(self, target: Operand, name: str, operands: list[Operand], span: Span) -> Operand | None:
        """Call a method of an object of any class; None if the operand is no object or has no such method."""
        held = held_by(target)
        if isinstance(held, LibraryObject):
            return self.library_method(held, target, name, operands, span)
        if isinstance(held, StructObject) and held.cls is not None:
            found = held.cls.find_method(name)
            if found is not None:
                return self.method(self.machine.expressions.cell_of(target), found[0], found[1], operands, span)
        return None

    def library_method(
        self, held: LibraryObject, target: Operand, name: str, operands: list[Operand], span: Span
    ) -> Operand:
        """Call a method of a library model."""
        machine = self.machine
        if target.cell is not None:
            held.cell = target.cell
        result = library.call_method(machine, held, name, operands, span)
        if result is NOT_MODELLED:
            if library.is_harmless(name):
                return Operand(machine.fresh(name, "opaque"))
            return self.opaque(f"{held.class_name}::{name}", operands, span)
        return self.as_operand(result)

    # -- operators ---------------------------------------------------------------------------------

    def operator(self, operator: str, operands: list[Operand], span: Span, *, postfix: bool = False) -> Operand | None:
        """Call an overloaded operator; None if the built-in one is meant."""
        machine = self.machine
        held = [operand.cell.value if operand.cell is not None else operand.value for operand in operands]
        if not any(isinstance(value, StructObject | LibraryObject) for value in held):
            return None
        name = f"operator{operator}"
        first = held[0]
        if isinstance(first, StructObject) and first.cls is not None:
            found = first.cls.find_method(name)
            if found is not None:
                rest = operands[1:] if not postfix else [Operand(0)]
                usable = [f for f in found[0] if not f.deleted and not f.defaulted]
                chosen = machine.functions.choose(usable, rest, found[1].context())
                if chosen is not None:
                    cell = machine.expressions.cell_of(operands[0])
                    first.cell = first.cell or cell
                    if operator == "=" and chosen.body is not None and not self._takes_same(chosen, found[1], held[1]):
                        return None
                    return machine.functions.invoke(chosen, rest, span, this=cell, cls=found[1])
        elif isinstance(first, LibraryObject):
            if operands[0].cell is not None:
                first.cell = operands[0].cell
            result = library.call_method(machine, first, name, operands[1:], span)
            if result is not NOT_MODELLED:
                return self.as_operand(result)
        free = machine.program.find_functions(name, machine.frame)
        if free:
            chosen = machine.functions.choose([f for f in free if f.body is not None], operands)
            if chosen is not None and self._meant(chosen, held):
                return machine.functions.invoke(chosen, operands, span)
        if operator in ("<<", ">>") and isinstance(first, LibraryObject | Symbol):
            return Operand(first)
        return None

    def _takes_same(self, function: Function, cls: ClassInfo, value: Value) -> bool:
        """An assignment from another class goes through a conversion, not through the copy assignment."""
        if not function.parameters:
            return True
        name = last_name(function.parameters[0].type.name)
        if name != last_name(cls.name):
            return True
        return isinstance(value, StructObject) and value.cls is not None and value.cls.is_a(cls.name)

    def _meant(self, function: Function, held: list[Value]) -> bool:
        """Tell whether a free operator's class parameters take the classes at hand."""
        for parameter, value in zip(function.parameters, held, strict=False):
            if isinstance(value, StructObject) and value.cls is not None:
                name = last_name(parameter.type.name)
                templates = {template.name for template in function.templates}
                if name not in templates and not any(last_name(c.name) == name for c in value.cls.lineage()):
                    return False
        return True

    def converts(self, value: Value, cls: ClassInfo) -> bool:
        """Tell whether an object has a conversion operator to a class."""
        if not isinstance(value, StructObject) or value.cls is None:
            return False
        return any(
            name.startswith("operator ") and last_name(name[9:].strip()) == last_name(cls.name)
            for base in value.cls.lineage()
            for name in base.methods
        )

    def convert_object(self, value: Value, type: CType, span: Span) -> Value:
        """Convert a class object by its conversion operator; the best fit by the kind of target."""
        machine = self.machine
        if not isinstance(value, StructObject) or value.cls is None:
            return value
        best: tuple[int, Function, ClassInfo] | None = None
        for cls in value.cls.lineage():
            for name, methods in cls.methods.items():
                if not name.startswith("operator ") or name in ("operator new", "operator delete"):
                    continue
                for method in methods:
                    if method.parameters or method.body is None:
                        continue
                    score = self._conversion_score(method, name, cls, type)
                    if score and (best is None or score > best[0]):
                        best = (score, method, cls)
        if best is None:
            return value
        cell = value.cell or Cell(value, CType(value.cls.name, value.cls.arguments))
        result = machine.functions.invoke(best[1], [], span, this=cell, cls=best[2])
        return machine.expressions.load(result, span)

    def _conversion_score(self, method: Function, name: str, cls: ClassInfo, type: CType) -> int:
        written = name[9:].strip()
        bare = written.rstrip("*& ").removeprefix("const ").removesuffix(" const").strip()
        pointers = max(written.count("*"), method.returns.pointers)
        kind = Type(bare, pointers=pointers) if not method.returns.arguments else method.returns
        returns = self.machine.resolve_in(kind, cls.context())
        if returns.name == type.name and returns.pointers == type.pointers:
            return 4
        if type.name in ("", "auto"):
            return 2
        if type.pointers and returns.pointers:
            return 3
        if type.name == "bool":
            return 2 if returns.pointers or returns.name == "bool" else 1
        if not type.pointers and not returns.pointers and (type.name in SCALAR_SIZES) == (returns.name in SCALAR_SIZES):
            return 1
        return 0

    # -- macros ------------------------------------------------------------------------------------

    def object_macro(self, macro: Macro, span: Span) -> Operand:
        """Evaluate a use of an object-like macro."""
        machine = self.machine
        frame = machine.frame
        if macro.expression is None and macro.statements is None:
            if macro.text.strip():
                machine.not_understood(span, f"macro {macro.name}")
                return Operand(machine.undeclared(macro.name))
            return Operand(None)
        frame.expanding.add(macro.name)
        machine.device.enter_macro(span)
        try:
            if macro.expression is not None:
                return machine.expressions.operand(macro.expression)
            assert macro.statements is not None
            machine.statements.inline(macro.statements, Scope(frame.scope), span)
            return Operand(None)
        finally:
            machine.device.leave_macro_once()
            frame.expanding.discard(macro.name)

    def function_macro(self, macro: Macro, node: Call) -> Operand:
        """Evaluate a use of a function-like macro: its parameters name the argument trees."""
        machine = self.machine
        frame = machine.frame
        if macro.expression is None and macro.statements is None:
            if not macro.text.strip():
                return Operand(None)
            return self.opaque(macro.name, self.operands(node.arguments), node.span)
        if macro.redefined:
            machine.not_understood(node.span, f"macro {macro.name} has several definitions; the last is taken")
        scope = Scope(frame.scope)
        parameters = macro.parameters or []
        for position, name in enumerate(parameters):
            arguments = node.arguments[position : position + 1]
            if macro.variadic and position == len(parameters) - 1:
                arguments = node.arguments[position:]
            scope.names[name] = MacroArgument(list(arguments), frame.scope)
        if macro.variadic:
            named = [name for name in parameters if name not in ("...", "__VA_ARGS__")]
            rest = node.arguments[len(named) if len(named) < len(parameters) else len(parameters) :]
            if "__VA_ARGS__" not in scope.names:
                scope.names["__VA_ARGS__"] = MacroArgument(list(rest), frame.scope)
        frame.expanding.add(macro.name)
        outer = frame.scope
        machine.device.enter_macro(node.span)
        frame.scope = scope
        try:
            if macro.expression is not None:
                return machine.expressions.operand(macro.expression)
            assert macro.statements is not None
            machine.statements.inline(macro.statements, scope, node.span)
            return Operand(None)
        finally:
            frame.scope = outer
            machine.device.leave_macro_once()
            frame.expanding.discard(macro.name)

    # -- code nobody can see -----------------------------------------------------------------------

    def call_object(self, value: Value, operands: list[Operand], span: Span) -> Operand:
        """Call a value that is no function of the program."""
        machine = self.machine
        if isinstance(value, Native):
            return self.as_operand(value.run(machine, operands, span))
        if isinstance(value, BoundMethod):
            held = value.object.value
            if isinstance(held, StructObject) and held.cls is not None:
                found = held.cls.find_method(value.name)
                if found is not None:
                    return self.method(value.object, found[0], found[1], operands, span)
        if isinstance(value, LibraryObject | StructObject):
            called = self.operator("()", [Operand(value), *operands], span)
            if called is not None:
                return called
        name = value.name if isinstance(value, Symbol | Handle) and isinstance(value, Symbol) else "a function pointer"
        if isinstance(value, Symbol) and library.is_harmless(value.name):
            return Operand(machine.fresh(value.name, "input"))
        return self.opaque(name, operands, span)

    def _is_check(self, name: str, operands: list[Operand]) -> bool:
        """An unseen macro or function that gets a status to check: it neither keeps nor changes anything."""
        values = [operand.cell.value if operand.cell is not None else operand.value for operand in operands]
        if not values or not all(isinstance(value, int | float | str) for value in values):
            return False
        return any(isinstance(value, Status) for value in values) or _CHECK_NAME.search(last_name(name)) is not None

    def opaque(
        self, name: str, operands: list[Operand], span: Span, *, this: Cell | None = None, quiet: bool = False
    ) -> Operand:
        """A call into code nobody can see: it may use, order, free or replace whatever reaches it."""
        machine = self.machine
        machine.device.failures.asked()
        if this is None and self._is_check(name, operands):
            machine.not_understood(span, f"`{name}` is not visible here")
            return Operand(operands[0].value)
        reached: list[Value] = []
        for operand in operands:
            value = operand.cell.value if operand.cell is not None else operand.value
            machine.reach.collect(value, reached)
            self._invalidate(operand, span)
        if this is not None:
            machine.reach.collect(this.value, reached)
            self._forget(this.value, last_name(name))
        machine.reach.escape(reached)
        machine.device.opaque_call(name, reached, span)
        if _TIMER_NAME.search(name):
            # It is likely to read a clock: what was awaited before it is what it times.
            machine.device.model.host_clock(machine.device.thread, machine.device.site(span))
        if not quiet and name:
            machine.not_understood(span, f"`{name}` is not visible here")
        if asks_for_success(last_name(name)):
            return Operand(1)
        return Operand(machine.fresh(last_name(name), "opaque"))

    def _invalidate(self, operand: Operand, span: Span) -> None:
        """What unseen code gets the address of may hold anything afterwards."""
        machine = self.machine
        value = operand.cell.value if operand.cell is not None else operand.value
        if isinstance(value, BracedList):
            for item in value.operands:
                self._invalidate(item, span)
        elif isinstance(value, CellPointer):
            self._replace(value.cell)
        elif isinstance(value, ElementPointer):
            if isinstance(value.index, int) and value.index in value.array.cells:
                element = value.array.element
                if element is not None and (element.pointers or not machine.objects.is_class(element)):
                    self._replace(value.array.cells[value.index])
        elif isinstance(value, StructObject) and operand.cell is not None:
            return
        elif operand.cell is not None and isinstance(value, Closure):
            for cell in value.captured.values():
                self._invalidate(Operand(cell=cell), span)

    def _replace(self, cell: Cell) -> None:
        machine = self.machine
        held = cell.value
        if isinstance(held, StructObject):
            self._forget(held, cell.name)
        elif isinstance(held, ArrayObject):
            held.cells.clear()
            held.symbol = machine.fresh(cell.name, "opaque")
        elif not isinstance(held, LibraryObject | FunctionValue | Closure):
            cell.value = machine.unknown_of(cell.type, cell.name, "opaque")
            machine.objects.adopt(cell)

    def _forget(self, held: Value, name: str) -> None:
        """An object that unseen code may have changed: members that hold no live resource become unknown."""
        machine = self.machine
        if not isinstance(held, StructObject):
            return
        for member in held.fields.values():
            if is_pointer(member.value) and not isinstance(member.value, SymbolPointer):
                continue
            if isinstance(member.value, Symbol) and member.value.origin == "uninitialised":
                member.value = machine.unknown_of(member.type, member.name, "opaque")


__all__ = ["UNKNOWN", "Calls", "InitList"]
