"""Calls: what a callee's name means, macros, methods, operators of classes, and code nobody can see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streamsan.cuda_source import known_apis
from streamsan.cuda_source.calls.functions import Pack
from streamsan.cuda_source.library.braced import plain
from streamsan.cuda_source.library.tables import find_function, header_value, is_class, is_harmless
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    NOT_MODELLED,
    BoundMethod,
    CallSite,
    Cell,
    FunctionModel,
    FunctionValue,
    LibraryObject,
    MacroArgument,
    Native,
    Operand,
    Reference,
    Scope,
    StructObject,
    SymbolPointer,
    Value,
    held_by,
    is_unknown,
)
from streamsan.cuda_source.values.classes import ClassInfo, last_name
from streamsan.cuda_source.values.types import SCALAR_SIZES, UNKNOWN, CType, TypePack, canonical_name
from streamsan.cuda_syntax import tree
from streamsan.model.values import Handle, Symbol
from streamsan.vocabulary import AccessMode


def _bound(operand: Operand) -> Operand:
    """Bind a temporary to a library's parameter, a reference: what is kept is moved out of it, and then it ends."""
    value = operand.held
    if operand.cell is not None or not isinstance(value, StructObject) or value.cls is None:
        return operand
    cell = value.cell or Cell(value, CType(value.cls.name, value.cls.arguments))
    return Operand(cell=cell, moved=True)


class Calls:
    """Evaluates the calls of one path."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def operands(self, arguments: list[tree.Expression]) -> list[Operand]:
        """Evaluate arguments in order; packs are expanded."""
        machine = self.machine
        found: list[Operand] = []
        for argument in arguments:
            if isinstance(argument, tree.Unary) and argument.operator == "...":
                found.extend(self._expand(argument.operand))
                continue
            if isinstance(argument, tree.Name):
                local = machine.find(argument.name)
                if isinstance(local, MacroArgument) and len(local.expression) != 1:
                    found.extend(machine.macros.in_scope_of(local, self.operands))
                    continue
            found.append(machine.expressions.operand(argument))
        return found

    def _expand(self, pattern: tree.Expression) -> list[Operand]:
        machine = self.machine
        names = machine.relevance.names_in(pattern)
        packs = {name: pack for name in names if (pack := self._pack(name)) is not None}
        if not packs:
            return [machine.expressions.operand(pattern)]
        found: list[Operand] = []
        for position in range(max(len(pack.operands) for pack in packs.values())):
            scope = Scope(machine.frame.scope)
            for name, pack in packs.items():
                if position < len(pack.operands):
                    scope.names[name] = machine.expressions.cell_of(pack.operands[position])
            if isinstance(pattern, tree.Name):
                found.append(packs[pattern.name].operands[position])
                continue
            with machine.frame.within(scope):
                found.append(machine.expressions.operand(pattern))
        return found

    def _pack(self, name: str) -> Pack | None:
        local = self.machine.find(name)
        return local.value if isinstance(local, Cell) and isinstance(local.value, Pack) else None

    def pack_size(self, name: str) -> Value:
        """Return how many arguments a pack has that is named, or whose parameters' type is; None: that is not known."""
        frame = self.machine.frame
        bound = frame.bindings.get(name)
        if isinstance(bound, TypePack):
            return len(bound)
        parameters = frame.declaration.parameters if frame.declaration is not None else []
        names = [name, *(each.name for each in parameters if each.pack and each.type.name == name)]
        found = [pack for each in names if (pack := self._pack(each)) is not None]
        return len(found[0].operands) if found else None

    def call(self, node: tree.Call) -> Operand:
        """Evaluate a call of any kind."""
        machine = self.machine
        callee = node.callee
        if isinstance(callee, tree.Member):
            return self._method_call(callee, node)
        if isinstance(callee, tree.Name):
            return self._named_call(callee, node)
        target = machine.expressions.operand(callee)
        operands = self.operands(node.arguments)
        value = target.held
        if isinstance(value, StructObject | LibraryObject):
            found = machine.class_operators.call("()", [target, *operands], node.span)
            if found is not None:
                return found
        return machine.functions.call_value(machine.expressions.load(target, node.span), operands, node.span)

    def _named_call(self, callee: tree.Name, node: tree.Call) -> Operand:
        """What the name means: a local, a macro, something of the program's, or something from outside."""
        for meaning in (self._local_call, self._macro_call, self._program_call):
            found = meaning(callee, node)
            if found is not None:
                return found
        return self._outside_call(callee, node)

    def _local_call(self, callee: tree.Name, node: tree.Call) -> Operand | None:
        machine = self.machine
        local = machine.find(callee.name)
        if isinstance(local, Cell):
            return self._call_with(local, self.operands(node.arguments), node.span)
        if not isinstance(local, MacroArgument):
            return None
        if len(local.expression) == 1 and isinstance(local.expression[0], tree.Name):
            return self._named_call(local.expression[0], node)
        value = machine.expressions.load(machine.macros.argument(local), node.span)
        return machine.functions.call_value(value, self.operands(node.arguments), node.span)

    def _macro_call(self, callee: tree.Name, node: tree.Call) -> Operand | None:
        machine, name = self.machine, callee.name
        macro = machine.program.macros.get(name)
        expanding = machine.frame.expanding
        if macro is None or name in expanding:
            return None
        if macro.parameters is not None:
            return machine.macros.call(macro, node)
        if not isinstance(macro.expression, tree.Name):
            return None
        renamed = tree.Name(node.span, macro.expression.name, macro.expression.template_arguments)
        expanding.add(name)
        try:
            return self._named_call(renamed, node)
        finally:
            expanding.discard(name)

    def _program_call(self, callee: tree.Name, node: tree.Call) -> Operand | None:
        """A type parameter, a method or member of the class at hand, a function, or a class."""
        machine, name, span = self.machine, callee.name, node.span
        frame = machine.frame
        bound = frame.bindings.get(name)
        if isinstance(bound, CType):
            operands = self.operands(node.arguments)
            called = machine.names.function_bound(bound)
            if called is None:
                return self.construct_temporary(bound, operands, span)
            return machine.functions.call_value(called, operands, span)
        method = self.implicit_method(name, callee.scope_arguments)
        if method is not None:
            functions, cls = method
            operands = self.operands(node.arguments)
            arguments = tuple(machine.names.template_arguments(callee.template_arguments))
            return self.method(frame.this, functions, cls, operands, span, template_arguments=arguments)
        functions = machine.program.find_functions(name, frame)
        if functions and not (machine.api.is_api(name) and all(f.body is None for f in functions)):
            return self._call_functions(functions, callee, node)
        field = machine.names.lookup(name, callee) if frame.cls is not None and "::" not in name else None
        if field is not None and field.cell is not None:
            return self._call_with(field.cell, self.operands(node.arguments), span)
        type = self._type_named(callee)
        return None if type is None else self.construct_temporary(type, self.operands(node.arguments), span)

    def _outside_call(self, callee: tree.Name, node: tree.Call) -> Operand:
        """An API, something of a library, a global function pointer, or code nobody can see."""
        machine, name, span = self.machine, callee.name, node.span
        operands = self.operands(node.arguments)
        if machine.api.is_api(name) and name not in machine.program.global_names:
            return machine.api.call(last_name(name), node, [plain(operand) for operand in operands])
        model = find_function(name)
        if model is not None:
            arguments = tuple(machine.names.template_arguments(callee.template_arguments))
            return self.as_operand(model(machine, operands, CallSite(span, arguments)))
        cell = machine.names.global_cell(name)
        if cell is not None:
            return self._call_with(cell, operands, span)
        known = header_value(name)
        if isinstance(known, LibraryObject):
            return self.as_operand(known.call(machine, "operator()", operands, span))
        if is_harmless(name):
            return machine.unseen.harmless(name, operands, span)
        if is_class(name):
            return self.construct_temporary(CType(name), operands, span)
        if known_apis.is_function(last_name(name)):
            return machine.api.unknown_api(last_name(name), operands, span)
        return machine.unseen.call(name, operands, span)

    def as_operand(self, value: Any) -> Operand:
        """Return what a library model gave as an operand."""
        return value if isinstance(value, Operand) else Operand(value)

    def native(self, name: str, model: FunctionModel) -> Native:
        """Return a modelled function as a value."""

        def run(machine: Machine, operands: list[Operand], span: tree.Span) -> Any:
            return model(machine, operands, CallSite(span))

        return Native(name, run)

    def invoke_value(self, value: Value, operands: list[Operand], span: tree.Span) -> Operand:
        """Call a value of any kind, objects with `operator()` included."""
        if isinstance(value, Reference):
            value = value.cell.value
        if isinstance(value, StructObject | LibraryObject):
            cell = value.cell or Cell(value, UNKNOWN)
            found = self.machine.class_operators.call("()", [Operand(cell=cell), *operands], span)
            if found is not None:
                return found
        return self.machine.functions.call_value(value, operands, span)

    def _call_with(self, cell: Cell, operands: list[Operand], span: tree.Span) -> Operand:
        machine = self.machine
        if isinstance(cell.value, StructObject | LibraryObject):
            found = machine.class_operators.call("()", [Operand(cell=cell), *operands], span)
            if found is not None:
                return found
        value = machine.expressions.load(Operand(cell=cell), span)
        if is_unknown(value) or isinstance(value, SymbolPointer):
            return machine.unseen.call(cell.name or "a function pointer", operands, span)
        return machine.functions.call_value(value, operands, span)

    def _call_functions(self, functions: list[tree.Function], callee: tree.Name, node: tree.Call) -> Operand:
        machine = self.machine
        operands = self.operands(node.arguments)
        arguments = tuple(machine.names.template_arguments(callee.template_arguments))
        chosen = machine.overloads.choose(self._specialised(functions, arguments), operands)
        if chosen is None:
            return machine.unseen.call(callee.name, operands, node.span)
        if chosen.body is None and find_function(callee.name) is not None:
            model = find_function(callee.name)
            assert model is not None
            return self.as_operand(model(machine, operands, CallSite(node.span)))
        if chosen.body is None and is_harmless(callee.name):
            return machine.unseen.harmless(callee.name, operands, node.span)
        if chosen.device_only:
            return Operand(machine.fresh(callee.name, "opaque"))
        return machine.functions.invoke(chosen, operands, node.span, template_arguments=arguments)

    def _specialised(self, functions: list[tree.Function], arguments: tuple[Any, ...]) -> list[tree.Function]:
        """Return the functions that template arguments leave: the specialisation for them, else the templates."""
        if not arguments or not any(function.specialization for function in functions):
            return functions
        names, count = self.machine.names, len(arguments)
        special = [(f, tuple(names.template_arguments(f.specialization))) for f in functions if f.specialization]
        meant = [function for function, given in special if given[:count] == arguments]
        if meant and all(len(given) == count for function, given in special if function in meant):
            return meant
        # What is left to deduce, or to defaults, decides.
        return functions if meant else [f for f in functions if not f.specialization] or functions

    def implicit_method(
        self, name: str, scope_arguments: Sequence[tree.Type | tree.Expression] = ()
    ) -> tuple[list[tree.Function], ClassInfo] | None:
        """Find a method of the class that the frame is in, or `Base::method`, `Class::static_method`."""
        machine = self.machine
        frame = machine.frame
        scope, _, short = name.rpartition("::")
        if scope:
            found = machine.program.find(machine.program.classes, scope, frame)
            if found is None:
                meant = frame.bindings.get(scope)
                if machine.program.find(machine.program.aliases, scope, frame) is not None:
                    meant = machine.resolve(tree.Type(scope, list(scope_arguments)))
                cls = machine.program.class_of(meant, frame) if isinstance(meant, CType) else None
            else:
                same = [base for base in frame.cls.lineage() if base.name == found[0]] if frame.cls else []
                arguments = tuple(machine.names.template_arguments(list(scope_arguments)))
                program = machine.program
                cls = same[0] if same else program.class_of(CType(found[0], arguments), frame)
                cls = cls or program.class_of(CType(found[0]), frame)
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

    def _type_named(self, callee: tree.Name) -> CType | None:
        machine = self.machine
        program, frame = machine.program, machine.frame
        name = callee.name
        known = program.find(program.classes, name, frame) is not None
        if known or canonical_name(name) in SCALAR_SIZES or program.find(program.aliases, name, frame) is not None:
            return machine.resolve(tree.Type(name, list(callee.template_arguments)))
        if is_class(name) and find_function(name) is None:
            return machine.resolve(tree.Type(name, list(callee.template_arguments)))
        return None

    def construct_temporary(self, type: CType, operands: list[Operand], span: tree.Span) -> Operand:
        """Evaluate `T(arguments)`."""
        cell = Cell(None, type, last_name(type.name), span=span)
        self.machine.objects.construct(cell, type, operands, span)
        return Operand(self.machine.statements.temporary(cell.value))

    def _method_call(self, callee: tree.Member, node: tree.Call) -> Operand:
        machine = self.machine
        span = node.span
        owner = machine.expressions.operand(callee.object)
        target = machine.expressions.target_object(owner, callee.arrow, span)
        held = target.held
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
        if is_harmless(name) or is_harmless(getattr(held, "name", "")):
            return machine.unseen.harmless(name, operands, span, this=cell)
        from_library = isinstance(held, Symbol) and held.origin == "input"  # what a harmless call returned
        if (from_library or cell.type.name.startswith("std::")) and not machine.unseen.carries(operands):
            return machine.unseen.harmless(name, operands, span, this=cell)
        return machine.unseen.call(name, operands, span, this=cell)

    def _class_method(
        self, callee: tree.Member, target: Operand, held: StructObject, name: str, node: tree.Call
    ) -> Operand:
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
            arguments = tuple(self.machine.names.template_arguments(callee.template_arguments))
            return self.method(cell, found[0], found[1], operands, node.span, template_arguments=arguments)
        field = machine.objects.field(held, name)
        pointed = self._method_pointed_to(name, field)
        if pointed is not None:
            return self.method(cell, pointed.functions, pointed.cls or cls, operands, node.span)
        if field is not None and not is_unknown(field.value):
            return self._call_with(field, operands, node.span)
        if any(base.library_bases for base in cls.lineage()):
            return Operand(machine.fresh(name, "opaque"))
        return machine.unseen.call(name, operands, node.span, this=cell)

    def _method_pointed_to(self, name: str, field: Cell | None) -> FunctionValue | None:
        """Return what `(object.*name)()` calls: the pointer to a method is a member here, or a variable."""
        holder = field if field is not None else self.machine.find(name)
        value = holder.value if isinstance(holder, Cell) else None
        return value if isinstance(value, FunctionValue) and (field is None or value.cls is not None) else None

    def method(
        self,
        this: Cell | None,
        functions: list[tree.Function],
        cls: ClassInfo,
        operands: list[Operand],
        span: tree.Span,
        *,
        template_arguments: tuple[Any, ...] = (),
    ) -> Operand:
        """Call a method; the dynamic class of the object decides."""
        machine = self.machine
        chosen = machine.overloads.choose(functions, operands, cls.context())
        if chosen is None:
            return machine.unseen.call(functions[0].name, operands, span, this=this)
        if chosen.device_only:
            return Operand(machine.fresh(chosen.name, "opaque"))
        return machine.functions.invoke(
            chosen, operands, span, this=None if chosen.static else this, cls=cls, template_arguments=template_arguments
        )

    def call_method(self, target: Operand, name: str, operands: list[Operand], span: tree.Span) -> Operand | None:
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
        self, held: LibraryObject, target: Operand, name: str, operands: list[Operand], span: tree.Span
    ) -> Operand:
        """Call a method of a library model."""
        machine = self.machine
        if target.cell is not None:
            held.cell = target.cell
            if target.cell.host is not None and not held.synchronises:
                machine.memory.access(target.cell, AccessMode.READ, span)
        result = held.call(machine, name, [_bound(operand) for operand in operands], span)
        if result is NOT_MODELLED:
            if is_harmless(name):
                return Operand(machine.fresh(name, "opaque"))
            return machine.unseen.call(f"{held.class_name}::{name}", operands, span)
        return self.as_operand(result)

    def call_object(self, value: Value, operands: list[Operand], span: tree.Span) -> Operand:
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
            called = machine.class_operators.call("()", [Operand(value), *operands], span)
            if called is not None:
                return called
        name = value.name if isinstance(value, Symbol | Handle) and isinstance(value, Symbol) else "a function pointer"
        if isinstance(value, Symbol) and is_harmless(value.name):
            return Operand(machine.fresh(value.name, "input"))
        return machine.unseen.call(name, operands, span)
