"""Objects and variables: how they come to be, and how they end."""

from __future__ import annotations

from streamsan.cuda_source.library.braced import BracedList, Evaluated, braced, plain
from streamsan.cuda_source.library.callables import Overloaded
from streamsan.cuda_source.library.tables import find_class, is_class, is_harmless
from streamsan.cuda_source.objects.class_layout import DEEPEST_CLASS
from streamsan.cuda_source.objects.object_copies import Copies
from streamsan.cuda_source.values.cells import (
    ArrayObject,
    Cell,
    Closure,
    LibraryObject,
    Operand,
    StructObject,
    Value,
)
from streamsan.cuda_source.values.classes import ClassInfo, last_name
from streamsan.cuda_source.values.types import SCALAR_SIZES, CType
from streamsan.cuda_syntax.tree import Expression, InitList, Literal_, Span, Unary, Variable
from streamsan.model.values import Symbol

LARGEST_EAGER_ARRAY = 256
"""Elements of class type that are constructed one by one; longer arrays construct theirs when touched."""
_VECTOR_FIELDS = {"dim3", "uint3", "cudaExtent", "cudaPos"}
_VECTOR_ELEMENTS = {"int", "uint", "float", "double", "char", "uchar", "short", "ushort", "longlong", "ulonglong"}


def _is_expansion(item: Expression) -> bool:
    return isinstance(item, Unary) and item.operator == "..."


class Objects(Copies):
    """The life of one path's objects, on what `Layout`, `Storage` and `Copies` know of them."""

    def declare(self, cell: Cell, type: CType, variable: Variable, *, static: bool = False) -> None:
        """Initialise the cell of a declared variable, from `= value`, `(arguments)`, `{list}`, or nothing."""
        if static:
            cell.value = self.zero(type, variable.name)
            self.adopt(cell)
        expressions, span = self.machine.expressions, variable.span
        initializer, arguments = variable.initializer, variable.arguments
        if arguments is not None and not (variable.maybe_function and not self.is_class(type)):
            if len(arguments) == 1 and not self.is_class(type):
                self.initialise(cell, type, expressions.operand(arguments[0]), span)
                return
            operands = self.machine.calls.operands(arguments)
            if self.is_class(type) or not arguments:
                self.construct(cell, type, operands, span)
            else:
                self._opaque_object(cell, type, operands, span)
        elif isinstance(initializer, InitList):
            listed = self.machine.resolve(initializer.type) if initializer.type else type
            self.initialise_list(cell, listed, initializer)
        elif type.array and isinstance(initializer, Literal_):
            cell.value = ArrayObject(type.element(), type.array[0], label=variable.name)
        elif initializer is not None:
            self.initialise(cell, type, expressions.operand(initializer), span)
        elif type.array:
            if not static:
                cell.value = self.default(type, variable.name, "uninitialised")
            self.adopt(cell)
            self._construct_elements(cell, span)
        elif self.is_class(type):
            self.construct(cell, type, [], span, default=True)
        elif not static:
            self._leave_uninitialised(cell, type, variable.name, span)

    def _leave_uninitialised(self, cell: Cell, type: CType, name: str, span: Span) -> None:
        cell.value = self.default(type, name, "uninitialised")
        if isinstance(cell.value, Symbol) and not self.is_plain(type):
            self._opaque_object(cell, type, [], span)

    def _opaque_object(self, cell: Cell, type: CType, operands: list[Operand], span: Span) -> None:
        """An object of a class nobody can see: it may do anything with what its constructor gets."""
        machine = self.machine
        object = StructObject(None, machine.fresh(cell.name, "opaque"), cell)
        if type.name in _VECTOR_FIELDS or type.name.rstrip("234") in _VECTOR_ELEMENTS:
            for name, operand in zip("xyzw", operands, strict=False):
                value = machine.expressions.load(operand, span)
                object.fields[name] = Cell(value, CType(""), name, object)
            return
        if type.name.startswith("std::") and not machine.unseen.carries(operands):
            return
        if operands or not is_harmless(type.name):
            machine.unseen.call(type.name or cell.name, operands, span, quiet=not operands)

    def _construct_elements(self, cell: Cell, span: Span) -> None:
        array = cell.value
        if not isinstance(array, ArrayObject) or array.element is None:
            return
        innermost = array.element
        while innermost.array:
            innermost = innermost.element()
        if not self.is_class(innermost) or not isinstance(array.length, int):
            return
        for index in range(min(array.length, LARGEST_EAGER_ARRAY)):
            element = self.element(array, index)
            if isinstance(element.value, ArrayObject):
                self._construct_elements(element, span)
            else:
                self.construct(element, innermost, [], span, default=True)

    def initialise(self, cell: Cell, type: CType, operand: Operand, span: Span) -> None:
        """Initialise a cell from one operand: copy, move, elide, or convert."""
        self._initialise(cell, type, operand, span)
        self.adopt(cell)

    def _initialise(self, cell: Cell, type: CType, operand: Operand, span: Span) -> None:
        listed = braced(operand)
        if listed is not None:
            if type.array or self.is_class(type):
                self.initialise_list(cell, type, listed.node())
                return
            if type.name not in ("", "auto") or type.pointers or listed.single is not None:
                self._initialise_by_list(cell, type, listed, plain(operand), span)
                return
        source = operand.held
        if isinstance(source, StructObject | LibraryObject) and not (self.is_plain(type) or type.array):
            self._initialise_object(cell, type, operand, source, span)
            return
        if self.is_class(type):
            self.construct(cell, type, [operand], span)
            return
        if type.array and isinstance(source, ArrayObject):
            cell.value = self.copy_array(source, operand.moved, span)
            return
        value = self.machine.expressions.load(operand, span)
        if isinstance(source, StructObject) and not isinstance(value, StructObject):
            cell.value = self.convert(value, type)
        elif isinstance(value, StructObject):
            converted = self.machine.class_operators.convert(value, type, span)
            cell.value = self.convert(converted, type)
        else:
            cell.value = self.convert(value, type)

    def _initialise_by_list(self, cell: Cell, type: CType, listed: BracedList, single: Operand, span: Span) -> None:
        """A list for a scalar, or for a type that nobody knows."""
        if braced(single) is None:
            self.initialise(cell, type, single, span)
        elif not type.pointers and not type.function and type.name not in SCALAR_SIZES:
            self._unknown_aggregate(cell, type, listed.node())
        else:
            self.machine.reach.unfollowed([listed], span)
            cell.value = self.machine.fresh(cell.name, "opaque")

    def _initialise_object(
        self, cell: Cell, type: CType, operand: Operand, source: StructObject | LibraryObject, span: Span
    ) -> None:
        machine = self.machine
        wanted = None if type.name in ("auto", "") else machine.program.class_of(type, machine.frame)
        if isinstance(source, LibraryObject):
            model = find_class(type.name)
            if wanted is not None or (model is not None and not isinstance(source, model)):
                self.construct(cell, type, [operand], span)
            elif operand.cell is None:
                cell.value = machine.statements.keep(source)
            else:
                cell.value = source.move(machine, span) if operand.moved else source.copy(machine, span)
            return
        if wanted is not None and source.cls is not None and not source.cls.is_a(wanted.name):
            self.construct(cell, type, [operand], span)
            return
        if wanted is None and is_class(type.name):
            self.construct(cell, type, [operand], span)
            return
        if operand.cell is None:
            cell.value = machine.statements.keep(source)
            return
        cls = wanted or source.cls
        copy = self.copy_constructor(cls, operand.moved) if cls is not None else None
        copy = None if copy is None else machine.linked(copy)
        target = StructObject(cls, None, cell)
        if cls is not None and copy is not None and copy.body is not None and not copy.defaulted:
            machine.constructors.run(cell, cls, copy, [operand], span)
        else:
            self.copy_members(target, source, operand.moved, span)
        target.constructed = True

    def construct(self, cell: Cell, type: CType, operands: list[Operand], span: Span, *, default: bool = False) -> None:
        """Run the constructor that the operands choose; `default`: `T x;`, which leaves scalars alone."""
        machine = self.machine
        cls = machine.program.class_of(type, machine.frame)
        if cls is not None:
            machine.constructors.construct(cell, cls, operands, span)
        elif is_class(type.name):
            self._construct_modelled(cell, type, operands, span)
        elif not operands:
            cell.value = self.default(type, cell.name, "uninitialised") if default else self.zero(type, cell.name)
        elif len(operands) == 1 and (self.is_plain(type) or type.name in ("auto", "")):
            self._initialise(cell, type, operands[0], span)
        else:
            self._opaque_object(cell, type, operands, span)
        self.adopt(cell)

    def initialise_list(self, cell: Cell, type: CType, node: InitList) -> None:
        """Initialise from a braced list: aggregate, array, constructor or scalar."""
        machine = self.machine
        node = self._without_packs(node)
        if type.array:
            self._initialise_array(cell, type, node)
            return
        cls = None if type.pointers else machine.program.class_of(type, machine.frame)
        if cls is not None and cls.has_pack_of_bases:
            functions = [machine.statements.keep(each.held) for each in machine.calls.operands(node.items)]
            cell.value = Overloaded(CType(cls.name), functions)
        elif cls is not None and self.is_aggregate(cls):
            self._initialise_aggregate(cell, cls, node)
        elif cls is not None:
            operands = machine.calls.operands(node.items)
            if operands and self._takes_list(cls):
                operands = [Operand(BracedList(operands, node.names, node.span))]
            machine.constructors.construct(cell, cls, operands, node.span)
        elif is_class(type.name) and not type.pointers:
            self._construct_from_list(cell, type, node)
        elif not node.items:
            cell.value = self.zero(type, cell.name)
        elif len(node.items) == 1 and not isinstance(node.items[0], InitList) and not any(node.names):
            self._initialise(cell, type, machine.expressions.operand(node.items[0]), node.span)
        elif type.name in ("auto", ""):
            self._construct_from_list(cell, CType("std::vector"), node)
        else:
            self._unknown_aggregate(cell, type, node)
        self.adopt(cell)

    def _without_packs(self, node: InitList) -> InitList:
        """Return a list with the arguments that a pack stands for, `{&args...}`, in the pack's place."""
        if not any(_is_expansion(item) for item in node.items):
            return node
        items: list[Expression] = []
        names: list[str | None] = []
        for index, item in enumerate(node.items):
            if _is_expansion(item):
                found = self.machine.calls.operands([item])
                items += [Evaluated(item.span, each) for each in found]
                names += [None] * len(found)
            else:
                items.append(item)
                names.append(node.names[index] if index < len(node.names) else None)
        return InitList(node.span, node.type, items, names)

    def _construct_from_list(self, cell: Cell, type: CType, node: InitList) -> None:
        self._construct_modelled(cell, type, self.constants.operands(node), node.span, braced=True)

    def _construct_modelled(
        self, cell: Cell, type: CType, operands: list[Operand], span: Span, *, braced: bool = False
    ) -> None:
        model = find_class(type.name)
        assert model is not None
        cell.value = model.construct(self.machine, type, operands, span, cell, braced)

    def _takes_list(self, cls: ClassInfo) -> bool:
        """Tell whether a constructor takes a `std::initializer_list`: braces choose it before all others."""
        return any(
            constructor.parameters
            and last_name(constructor.parameters[0].type.name) == "initializer_list"
            and all(parameter.default is not None for parameter in constructor.parameters[1:])
            for constructor in cls.methods.get("", [])
        )

    def _unknown_aggregate(self, cell: Cell, type: CType, node: InitList) -> None:
        """A structure of CUDA's headers, or an unseen one: named members are known."""
        object = StructObject(None, self.machine.fresh(cell.name or type.name, "opaque"), cell)
        for position, item in enumerate(node.items):
            name = node.names[position] if position < len(node.names) else None
            operand = self.machine.expressions.operand(item)
            key = name.lstrip(".") if name else f"#{position}"
            member = Cell(self.machine.expressions.load(operand, node.span), CType(""), key, object)
            object.fields[key] = member
            self.adopt(member)
        if not self.is_plain(type):
            self.machine.reach.unfollowed([object], node.span)

    def _initialise_aggregate(self, cell: Cell, cls: ClassInfo, node: InitList) -> None:
        if len(node.items) == 1 and not any(node.names) and not isinstance(node.items[0], InitList):
            operand = self.machine.expressions.operand(node.items[0])
            source = operand.held
            if isinstance(source, StructObject) and source.cls is not None and source.cls.is_a(cls.name):
                self.initialise(cell, CType(cls.name, cls.arguments), operand, node.span)
                return
            items: list[Operand | Expression] = [operand]
        else:
            items = list(node.items)
        object = StructObject(cls, None, cell)
        object.constructed = True
        fields = self.all_fields(cls)
        names = [field.name for field, _ in fields]
        given: dict[str, Operand | Expression] = {}
        position = 0
        for index, item in enumerate(items):
            name = node.names[index] if index < len(node.names) else None
            if name:
                name = name.lstrip(".")
                position = names.index(name) if name in names else position
            if position < len(names):
                given[names[position]] = item
                position += 1
        for field, type in fields:
            chosen = given.get(field.name)
            if isinstance(chosen, Operand):
                member = object.new_member(field.name, type.plain(), field.span)
                self.initialise(member, type.plain(), chosen, node.span)
            else:
                self.initialise_member(object, field, type, chosen, value_initialise=True)

    def initialise_member(
        self,
        object: StructObject,
        field: Variable,
        type: CType,
        given: Expression | None,
        *,
        value_initialise: bool = False,
    ) -> Cell:
        """Initialise a member from an expression, else from its own initialiser, else by default."""
        expression = given if given is not None else field.initializer
        if type.reference and expression is not None and not isinstance(expression, InitList):
            member = self.machine.expressions.cell(expression)
            object.fields[field.name] = member
            return member
        plain = type.plain()
        member = object.new_member(field.name, plain, field.span)
        if object.cell is not None:
            member.kind = object.cell.kind
        if isinstance(expression, InitList):
            self.initialise_list(member, plain, expression)
        elif expression is not None:
            self.initialise(member, plain, self.machine.expressions.operand(expression), field.span)
        elif plain.array:
            member.value = (
                self.zero(plain, field.name) if value_initialise else self.default(plain, field.name, "uninitialised")
            )
            self.adopt(member)
            self._construct_elements(member, field.span)
        elif value_initialise and self._zeroing < DEEPEST_CLASS and self._zeroed_by_braces(plain):
            self._zeroing += 1
            self.initialise_list(member, plain, InitList(field.span, None, [], []))
            self._zeroing -= 1
        elif self.is_class(plain):
            self.construct(member, plain, [], field.span, default=not value_initialise)
        elif value_initialise:
            member.value = self.zero(plain, field.name)
        else:
            self._leave_uninitialised(member, plain, field.name, field.span)
        self.adopt(member)
        return member

    def _zeroed_by_braces(self, type: CType) -> bool:
        cls = None if type.pointers or type.array else self.machine.program.class_of(type, self.machine.frame)
        return cls is not None and self.is_aggregate(cls)

    def _initialise_array(self, cell: Cell, type: CType, node: InitList) -> None:
        machine = self.machine
        length = machine.known(type.array[0])
        array = ArrayObject(type.element(), length if length is not None else len(node.items), label=cell.name)
        array.origin = "zero"
        cell.value = array
        self.adopt(cell)
        if self.constants.wait(array, node):
            return
        for index, item in enumerate(node.items):
            element_type = type.element()
            element = Cell(None, element_type, f"{cell.name}[{index}]", array, cell.kind, cell.span)
            element.key = index
            array.cells[index] = element
            if isinstance(item, InitList):
                self.initialise_list(element, (item.type and machine.resolve(item.type)) or element_type, item)
            else:
                self.initialise(element, element_type, machine.expressions.operand(item), item.span)
        if array.element is not None and isinstance(array.length, int) and self.is_class(array.element):
            for index in range(len(node.items), min(array.length, LARGEST_EAGER_ARRAY)):
                self.construct(self.element(array, index), array.element, [], node.span)

    def destroy(self, cell: Cell, span: Span) -> None:
        """End the lifetime of what a cell holds: destructors, then the memory's end for the model."""
        value = cell.value
        self.destroy_value(value, span)
        if cell.host is not None:
            self.machine.memory.end(cell, span)

    def destroy_value(self, value: Value, span: Span) -> None:
        """Run the destructor of a value."""
        if isinstance(value, StructObject):
            if value.cls is not None:
                self.machine.constructors.destruct(value, span)
            else:
                for member in value.fields.values():
                    if member.host is not None:
                        self.machine.memory.end(member, span)
        elif isinstance(value, LibraryObject):
            value.destroy(self.machine, span)
        elif isinstance(value, ArrayObject):
            self.end_array(value, span)
        elif isinstance(value, Closure):
            for captured in value.captured.values():
                if captured.owner is None and captured.name.startswith("="):
                    self.destroy(captured, span)

    def end_array(self, array: ArrayObject, span: Span) -> None:
        """End the lifetime of an array's elements, last first, and of its memory."""
        if array.released:
            return
        for cell in reversed(list(array.cells.values())):
            self.destroy(cell, span)
        array.released = True
        if array.host is not None:
            self.machine.memory.end(array, span)
