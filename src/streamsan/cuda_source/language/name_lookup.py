"""What a name of the program means, from the innermost scope to what nobody declares."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source import known_apis
from streamsan.cuda_source.library.tables import find_function, header_value
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.program.linkage import is_definition, is_internal_variable
from streamsan.cuda_source.values.cells import (
    Cell,
    FunctionValue,
    MacroArgument,
    Native,
    Operand,
    Scope,
    StructObject,
    Value,
)
from streamsan.cuda_source.values.classes import PlainContext, last_name
from streamsan.cuda_source.values.frame import Frame
from streamsan.cuda_source.values.success import Success, means_success
from streamsan.cuda_source.values.terms import combine
from streamsan.cuda_source.values.types import INT, SCALAR_SIZES, CType
from streamsan.cuda_syntax.tree import Expression, Name, Type, Variable
from streamsan.vocabulary import MemoryKind


class Names:
    """The names of one path that are more than a scope's: members, macros, globals, functions, APIs, unknowns."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._undeclared: dict[str, Value] = {}
        self._enumerators: dict[str, Value] = {}

    def undeclared(self, name: str) -> Value:
        """Return the unknown that an undeclared name stands for: the same one each time."""
        if name not in self._undeclared and means_success(name):
            self._undeclared[name] = Success()
        if name not in self._undeclared:
            symbol = self.machine.fresh(name, "undeclared")
            self.machine.live_handles.add(symbol.number)
            self._undeclared[name] = symbol
        return self._undeclared[name]

    def global_cell(self, name: str) -> Cell | None:
        """Return the cell of a global variable, made and initialised when first asked for."""
        found = self.machine.program.find(self.machine.program.global_names, name, self.machine.frame)
        if found is None:
            return None
        key, variable = found
        cell = self.machine.globals.names.get(key)
        if isinstance(cell, Cell):
            return cell
        return self._make_global(key, variable)

    def _make_global(self, key: str, variable: Variable) -> Cell:
        """Create a global; in an entry that is not main, what other code may have set is unknown."""
        shared = self._shared_global(key, variable)
        if shared is not None:
            self.machine.globals.names[key] = shared
            return shared
        context = PlainContext(namespace=key.rpartition("::")[0])
        type = self.machine.resolve_in(variable.type, context)
        cell = Cell(0, type, variable.name, kind=MemoryKind.HOST_STATIC, span=variable.span)
        self.machine.globals.names[key] = cell
        if not is_internal_variable(variable):
            self.machine.shared_globals[key] = cell
        if variable.device:
            self.machine.device.device_symbol(cell, variable)
        frame = Frame("", Scope(self.machine.globals), namespace=context.namespace)
        with self.machine.entered(frame):
            constant = type.const or "constexpr" in variable.type.name
            if self.machine.known_main or constant or variable.device:
                if not variable.extern or variable.initializer is not None:
                    self._initialise(cell, type, variable)
                    if not variable.thread_local:
                        self.machine.globals.owned.append(cell)
                else:
                    cell.value = self.machine.objects.unknown(type, variable.name, "undeclared")
            else:
                cell.value = self.machine.objects.unknown(type.plain(), variable.name, "parameter")
                self.machine.objects.own_streams.tell_apart(cell)
            self.machine.objects.adopt(cell)
            if variable.thread_local:
                self.machine.thread_storage.add(self.machine.globals.names, key)
            self.machine.statements.end_full_expression(variable.span)
        return cell

    def _shared_global(self, key: str, variable: Variable) -> Cell | None:
        """Return the cell of a global that another unit met before, or defines."""
        machine = self.machine
        if machine.linkage is None or is_internal_variable(variable):
            return None
        if key in machine.shared_globals:
            return machine.shared_globals[key]
        found = None if is_definition(variable) else machine.linkage.variable(key)
        if found is None:
            return None
        home, definition = found
        with machine.at(home):
            return self._make_global(key, definition)

    def _initialise(self, cell: Cell, type: CType, variable: Variable) -> None:
        """Initialise a global. A constant is no step of the program: the compiler puts it where it is."""
        machine, initializer = self.machine, variable.initializer
        steps = machine.steps
        machine.objects.declare(cell, type, variable, static=True)
        if initializer is not None and machine.program.constants.names_in(initializer) is not None:
            machine.steps = steps

    def enumerator(self, name: str) -> Value:
        """Return the value of a visible enumerator; None if there is none of that name."""
        found = self.machine.program.find(self.machine.program.enumerators, name, self.machine.frame)
        if found is None:
            return None
        key, (node, position) = found
        if key not in self._enumerators:
            self._enumerators[key] = position  # a guard against enumerators that name each other
            value: Value = -1
            scope = key.rpartition("::")[0]
            frame = Frame("", Scope(self.machine.globals), namespace=scope, cls=self.machine.frame.cls)
            with self.machine.entered(frame):
                for item, expression in node.items[: position + 1]:
                    value = self.machine.expressions.value(expression) if expression else combine("+", value, 1)
                    frame.scope.names[item] = Cell(value, INT)
            self._enumerators[key] = value
        return self._enumerators[key]

    def constant(self, name: str) -> int | None:
        """Return the number that a name stands for all over the program: an enumerator's, or a constant's."""
        number = self.enumerator(name)
        found = self.machine.program.find(self.machine.program.global_names, name, self.machine.frame)
        if found is not None and (found[1].type.const or "constexpr" in found[1].type.name):
            cell = self.global_cell(name)
            number = None if cell is None else cell.value
        return number if isinstance(number, int) else None

    def lookup(self, name: str, node: Name) -> Operand | None:
        """Find what a name means; None if it is not declared anywhere."""
        machine = self.machine
        if node.scope_arguments and (member := self._implicit_member(name, node)) is not None:
            return member  # each instance of a class template has its own
        local = machine.find(name)
        if isinstance(local, Cell):
            return Operand(cell=local)
        if isinstance(local, MacroArgument):
            return machine.macros.argument(local)
        frame = machine.frame
        if name in frame.bindings:
            bound = frame.bindings[name]
            if isinstance(bound, CType):
                bound = self.function_bound(bound) or self.undeclared(name)
            return Operand(bound)
        member = self._implicit_member(name, node)
        if member is not None:
            return member
        macro = machine.program.macros.get(name)
        if macro is not None and macro.parameters is None and name not in frame.expanding:
            return machine.macros.use(macro, node.span)
        cell = self.global_cell(name)
        if cell is not None:
            return Operand(cell=cell)
        enumerator = self.enumerator(name)
        if enumerator is not None:
            return Operand(enumerator)
        functions = machine.program.find_functions(name, frame)
        if functions:
            arguments = tuple(machine.names.template_arguments(node.template_arguments))
            return Operand(FunctionValue(name, functions, arguments))
        method = machine.calls.implicit_method(name) if "::" in name else None
        if method is not None:
            return Operand(FunctionValue(name, method[0], (), method[1]))
        constant = known_apis.CONSTANTS.get(last_name(name))
        if constant is not None:
            return Operand(constant)
        if machine.api.is_api(name):
            return Operand(machine.api.function(last_name(name)))
        model = find_function(name)
        if model is not None:
            return Operand(machine.calls.native(name, model))
        if name == "__LINE__":
            return Operand(node.span.line)
        known = header_value(name)
        return Operand(known) if known is not None else None

    def _implicit_member(self, name: str, node: Name) -> Operand | None:
        frame = self.machine.frame
        cls = frame.cls
        if cls is None and "::" not in name:
            return None
        static = self.static_member(name, node)
        if static is not None or cls is None:
            return None if static is None else Operand(cell=static)
        if frame.this is not None and isinstance(frame.this.value, StructObject) and "::" not in name:
            object = frame.this.value
            if name in object.fields or any(
                field.name == name for base in cls.lineage() for field in base.own_fields()
            ):
                cell = self.machine.objects.field(object, name)
                if cell is not None:
                    return Operand(cell=cell)
        return None

    def static_member(self, name: str, node: Name) -> Cell | None:
        """Return a static data member's cell: `count` inside the class, `Pool::count`, `Pool<int>::count` anywhere."""
        machine = self.machine
        scope, _, short = name.rpartition("::")
        cls = machine.frame.cls
        if scope:
            found = machine.program.find(machine.program.classes, scope, machine.frame)
            arguments = tuple(self.template_arguments(node.scope_arguments)) if found is not None else ()
            cls = machine.program.class_of(CType(found[0], arguments), machine.frame) if found is not None else None
        if cls is None:
            return None
        for base in cls.lineage():
            for field in base.static_fields():
                if field.name == short:
                    return self.static_cell(base, field)
        return None

    def static_cell(self, cls: Any, field: Any) -> Cell:
        """Return the one cell of a static data member, made and initialised when first asked for."""
        machine = self.machine
        key = (cls.name, cls.arguments, field.name)
        cell = machine.statics.get(key)
        if cell is None:
            name = f"{cls.name}::{field.name}"
            outside = machine.program.global_names.get(name)
            if outside is not None and not cls.arguments and (shared := self.global_cell(outside.name)) is not None:
                return shared
            elsewhere = machine.linkage.variable(name) if machine.linkage is not None and outside is None else None
            outside = elsewhere[1] if elsewhere is not None else outside
            variable = outside or field
            if outside is not None and outside.initializer is None and outside.arguments is None:
                variable = field
            type = machine.resolve_in(field.type, cls.context())
            cell = Cell(0, type, field.name, kind=MemoryKind.HOST_STATIC, span=field.span)
            machine.statics[key] = cell
            if machine.known_main or type.const or "constexpr" in field.type.name:
                machine.objects.declare(cell, type, variable, static=True)
            else:
                cell.value = machine.objects.unknown(type, field.name, "parameter")
            machine.objects.adopt(cell)
            if variable.thread_local or field.thread_local:
                machine.thread_storage.add(machine.statics, key)
        return cell

    def template_arguments(self, arguments: list[Type | Expression]) -> list[Any]:
        """Evaluate template arguments."""
        machine = self.machine
        found: list[Any] = []
        for argument in arguments:
            if isinstance(argument, Type):
                found.append(machine.resolve(argument))
            elif isinstance(argument, Name) and isinstance(machine.frame.bindings.get(argument.name), CType):
                found.append(machine.frame.bindings[argument.name])
            elif isinstance(argument, Name) and self._names_type(argument.name):
                found.append(machine.resolve(Type(argument.name, list(argument.template_arguments))))
            else:
                found.append(machine.known(machine.expressions.value(argument)))
        return found

    def function_bound(self, argument: CType) -> FunctionValue | Native | None:
        """Return the function that a template argument names, where the grammar took its name for a type's."""
        name = argument.name
        if argument.pointers or argument.array or name in SCALAR_SIZES or self._names_type(name):
            return None
        functions = self.machine.program.find_functions(name, self.machine.frame)
        if functions:
            return FunctionValue(name, functions)
        return self.machine.api.function(last_name(name)) if self.machine.api.is_api(name) else None

    def _names_type(self, name: str) -> bool:
        program, frame = self.machine.program, self.machine.frame
        return (
            program.find(program.classes, name, frame) is not None
            or program.find(program.aliases, name, frame) is not None
            or program.find(program.enums, name, frame) is not None
        )
