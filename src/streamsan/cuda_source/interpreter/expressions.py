"""Evaluation of expressions: every handler returns an `Operand`, an lvalue's cell or a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from streamsan.cuda_source.interpreter import library
from streamsan.cuda_source.interpreter.frame import MacroArgument, PathEnds, Thrown
from streamsan.cuda_source.interpreter.library.braced import BracedList, Evaluated, braced, plain
from streamsan.cuda_source.interpreter.operators import Operators
from streamsan.cuda_source.interpreter.program import last_name
from streamsan.cuda_source.interpreter.statuses import Success, means_success
from streamsan.cuda_source.interpreter.types import CHAR, INT, SCALAR_SIZES, UNKNOWN, CType
from streamsan.cuda_source.interpreter.values import (
    ArrayObject,
    Cell,
    CellPointer,
    Closure,
    DevicePointer,
    ElementPointer,
    FunctionValue,
    LibraryObject,
    Operand,
    StructObject,
    SymbolPointer,
    Term,
    Value,
    is_unknown,
)
from streamsan.cuda_syntax.tree import (
    Assign,
    Binary,
    Call,
    Cast,
    Conditional,
    Delete,
    Expression,
    Index,
    InitList,
    Lambda,
    Launch,
    Literal_,
    Member,
    Name,
    New,
    SizeOf,
    Span,
    StatementExpression,
    Type,
    Unary,
    Unparsed,
)
from streamsan.model.values import Handle, Symbol
from streamsan.platforms import CUDA
from streamsan.vocabulary import AccessMode, MemoryKind

if TYPE_CHECKING:
    from streamsan.cuda_source.interpreter.machine import Machine


class Expressions:
    """Evaluates the expressions of one path."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.operators = Operators(machine)
        self._handlers: dict[type[Expression], Callable[[Any], Operand]] = {
            Name: self._name,
            Literal_: self._literal,
            Unary: self._unary,
            Binary: self._binary,
            Assign: self._assign,
            Conditional: self._conditional,
            Call: machine_call(machine),
            Launch: self._launch,
            Member: self._member,
            Index: self._index,
            Cast: self._cast,
            SizeOf: self._sizeof,
            New: self._new,
            Delete: self._delete,
            InitList: self._init_list,
            Evaluated: lambda node: node.operand,
            Lambda: self._lambda,
            StatementExpression: self._statement_expression,
            Unparsed: self._unparsed,
        }

    # -- entry points ------------------------------------------------------------------------------

    def operand(self, expression: Expression) -> Operand:
        """Evaluate an expression to a cell or a value."""
        machine = self.machine
        machine.step(expression.span)
        machine.nesting += 1
        if machine.nesting > machine.limits.nesting:
            machine.nesting -= 1
            machine.not_understood(expression.span, "nested too deeply to follow")
            return Operand(machine.fresh("nested", "opaque"))
        try:
            return self._handlers[type(expression)](expression)
        finally:
            machine.nesting -= 1

    def value(self, expression: Expression) -> Value:
        """Evaluate an expression to a value."""
        return self.load(self.operand(expression), expression.span)

    def cell(self, expression: Expression) -> Cell:
        """Evaluate an expression to a cell; a value gets a temporary one."""
        return self.cell_of(self.operand(expression))

    def cell_of(self, operand: Operand) -> Cell:
        """Return an operand's cell; a value gets a temporary one."""
        if operand.cell is not None:
            return operand.cell
        cell = Cell(operand.value, self.type_of(operand))
        self.machine.objects.adopt(cell)
        return cell

    def load(self, operand: Operand, span: Span) -> Value:
        """Return an operand's value; an array becomes the address of its first element."""
        cell = operand.cell
        if cell is None and isinstance(operand.value, BracedList):
            operand = plain(operand)
            cell = operand.cell
        if cell is None:
            value = operand.value
            return ElementPointer(value, 0) if isinstance(value, ArrayObject) else value
        value = cell.value
        if isinstance(value, ArrayObject):
            return ElementPointer(value, 0)
        if not isinstance(value, StructObject | LibraryObject):
            self.machine.device.host_access(cell, AccessMode.READ, span)
        return value

    def store(self, cell: Cell, value: Value, span: Span) -> None:
        """Overwrite a cell."""
        machine = self.machine
        machine.device.host_access(cell, AccessMode.WRITE, span)
        old = cell.value
        cell.value = value
        if isinstance(old, DevicePointer):
            machine.reach.overwritten(old, span)

    def type_of(self, operand: Operand) -> CType:
        """Return the type that an operand has, as far as it is known."""
        if operand.cell is not None:
            if operand.cell.type.name not in ("", "auto"):
                return operand.cell.type
            value = operand.cell.value
        else:
            value = operand.value
        return self.type_of_value(value)

    def type_of_value(self, value: Value) -> CType:
        """Guess a type from a value."""
        if isinstance(value, float):
            return CType("double")
        if isinstance(value, int):
            return INT
        if isinstance(value, str):
            return CType("char", pointers=1, const=True)
        if isinstance(value, StructObject) and value.cls is not None:
            return CType(value.cls.name, value.cls.arguments)
        if isinstance(value, LibraryObject):
            return getattr(value, "type", None) or CType(value.class_name)
        if isinstance(value, DevicePointer | SymbolPointer):
            return value.element.pointer_to() if value.element else CType("void", pointers=1)
        if isinstance(value, ElementPointer):
            return value.array.element.pointer_to() if value.array.element else CType("void", pointers=1)
        if isinstance(value, CellPointer):
            return value.cell.type.pointer_to()
        if isinstance(value, Handle):
            return CType({"stream": "cudaStream_t", "event": "cudaEvent_t", "context": "CUcontext"}.get(value.type, ""))
        if isinstance(value, FunctionValue | Closure):
            return CType("function", function=True)
        return UNKNOWN

    # -- names -------------------------------------------------------------------------------------

    def _name(self, node: Name) -> Operand:
        name = node.name
        machine = self.machine
        if name == "this":
            this = machine.frame.this
            return Operand(CellPointer(this) if this is not None else machine.undeclared("this"))
        found = self.lookup(name, node)
        if found is None:
            return Operand(machine.undeclared(name))
        value = found.cell.value if found.cell is not None else found.value
        if type(value) is int and means_success(name) and not isinstance(machine.find(name), Cell):
            return Operand(Success(value))
        return found

    def lookup(self, name: str, node: Name) -> Operand | None:
        """Find what a name means; None if it is not declared anywhere."""
        machine = self.machine
        local = machine.find(name)
        if isinstance(local, Cell):
            return Operand(cell=local)
        if isinstance(local, MacroArgument):
            return machine.calls.macro_argument(local)
        frame = machine.frame
        if name in frame.bindings:
            bound = frame.bindings[name]
            return Operand(machine.undeclared(name) if isinstance(bound, CType) else bound)
        member = self._implicit_member(name)
        if member is not None:
            return member
        macro = machine.program.macros.get(name)
        if macro is not None and macro.parameters is None and name not in frame.expanding:
            return machine.calls.object_macro(macro, node.span)
        cell = machine.global_cell(name)
        if cell is not None:
            return Operand(cell=cell)
        enumerator = machine.enumerator(name)
        if enumerator is not None:
            return Operand(enumerator)
        functions = machine.program.find_functions(name, frame)
        if functions:
            arguments = tuple(machine.calls.template_arguments(node.template_arguments))
            return Operand(FunctionValue(name, functions, arguments))
        method = machine.calls.implicit_method(name) if "::" in name else None
        if method is not None:
            return Operand(FunctionValue(name, method[0], (), method[1]))
        constant = CUDA.constants.get(last_name(name))
        if constant is not None:
            return Operand(constant)
        if machine.device.is_api(name):
            return Operand(machine.device.function(last_name(name)))
        model = library.find_function(name)
        if model is not None:
            return Operand(machine.calls.native(name, model))
        if name == "__LINE__":
            return Operand(node.span.line)
        known = library.constant(last_name(name))
        return Operand(known) if known is not None else None

    def _implicit_member(self, name: str) -> Operand | None:
        machine = self.machine
        frame = machine.frame
        cls = frame.cls
        if cls is None:
            return None
        static = self.static_member(name)
        if static is not None:
            return Operand(cell=static)
        if frame.this is not None and isinstance(frame.this.value, StructObject) and "::" not in name:
            object = frame.this.value
            if name in object.fields or any(
                field.name == name for base in cls.lineage() for field in base.own_fields()
            ):
                cell = machine.objects.field(object, name)
                if cell is not None:
                    return Operand(cell=cell)
        return None

    def static_member(self, name: str) -> Cell | None:
        """Return a static data member's cell: `count` inside the class, `Pool::count` anywhere."""
        machine = self.machine
        scope, _, short = name.rpartition("::")
        cls = machine.frame.cls
        if scope:
            found = machine.program.find(machine.program.classes, scope, machine.frame)
            cls = machine.program.class_of(CType(found[0]), machine.frame) if found is not None else None
        if cls is None:
            return None
        for base in cls.lineage():
            for field in base.static_fields():
                if field.name == short:
                    return self._static_cell(base, field)
        return None

    def _static_cell(self, cls: Any, field: Any) -> Cell:
        machine = self.machine
        key = (cls.name, cls.arguments, field.name)
        cell = machine.statics.get(key)
        if cell is None:
            outside = machine.program.global_names.get(f"{cls.name}::{field.name}")
            variable = outside or field
            if outside is not None and outside.initializer is None and outside.arguments is None:
                variable = field
            type = machine.resolve_in(field.type, cls.context())
            cell = Cell(0, type, field.name, kind=MemoryKind.HOST_STATIC, span=field.span)
            machine.statics[key] = cell
            if machine.known_main or type.const or "constexpr" in field.type.name:
                machine.objects.declare(cell, type, variable, static=True)
            else:
                cell.value = machine.unknown_of(type, field.name, "parameter")
            machine.objects.adopt(cell)
        return cell

    def _literal(self, node: Literal_) -> Operand:
        value = node.value
        if value is None:
            return Operand(0)
        return Operand(int(value) if isinstance(value, bool) else value)

    # -- operators ---------------------------------------------------------------------------------

    def _unary(self, node: Unary) -> Operand:
        operator = node.operator
        machine = self.machine
        if operator == "throw":
            value = (
                None if isinstance(node.operand, Literal_) and node.operand.value is None else self.value(node.operand)
            )
            raise Thrown(value, node.span)
        if operator == "...":
            return self.operand(node.operand)
        operand = self.operand(node.operand)
        overloaded = machine.calls.operator(
            operator.removeprefix("post"), [operand], node.span, postfix="post" in operator
        )
        if overloaded is not None:
            return overloaded
        if operator == "&":
            return Operand(self.operators.address_of(operand))
        if operator == "*":
            return self.dereference(self.load(operand, node.span), node.span)
        if operator in ("++", "--", "post++", "post--"):
            return self._increment(operator, operand, node)
        return Operand(self.operators.unary(operator, self.load(operand, node.span)))

    def _increment(self, operator: str, operand: Operand, node: Unary) -> Operand:
        old = self.load(operand, node.span)
        new = self.operators.arithmetic("+" if "++" in operator else "-", old, 1)
        if operand.cell is not None:
            self.store(operand.cell, self.machine.objects.convert(new, operand.cell.type), node.span)
        return Operand(old) if operator.startswith("post") else Operand(new, cell=operand.cell)

    def _binary(self, node: Binary) -> Operand:
        machine = self.machine
        chain: list[Binary] = []
        current: Expression = node
        while isinstance(current, Binary) and current.operator not in ("&&", "||", ","):
            chain.append(current)
            current = current.left
        left = self._logical(current) if isinstance(current, Binary) else self.operand(current)
        for part in reversed(chain):
            right = self.operand(part.right)
            overloaded = machine.calls.operator(part.operator, [left, right], part.span)
            if overloaded is not None:
                left = overloaded
                continue
            left = Operand(
                self.operators.binary(part.operator, self.load(left, part.span), self.load(right, part.span))
            )
        return left

    def _logical(self, node: Binary) -> Operand:
        machine = self.machine
        left = self.operand(node.left)
        if node.operator == ",":
            overloaded = machine.calls.operator(",", [left], node.span)
            return overloaded or self.operand(node.right)
        wanted = node.operator == "||"
        first = self.condition(left, node.left.span)
        known = machine.truth(first)
        if known is not None:
            if known == wanted:
                return Operand(int(wanted))
            second = self.condition(self.operand(node.right), node.right.span)
            truth = machine.truth(second)
            return Operand(int(truth) if truth is not None else second)
        if machine.loops.relevance.expression_acts(node.right):
            answer, _ = machine.decide(first)
            if answer == wanted:
                return Operand(int(wanted))
            return Operand(self.condition(self.operand(node.right), node.right.span))
        second = self.condition(self.operand(node.right), node.right.span)
        truth = machine.truth(second)
        if truth is not None:
            return Operand(int(wanted)) if truth == wanted else Operand(first)
        return Operand(self.operators.binary(node.operator, first, second))

    def condition(self, operand: Operand, span: Span) -> Value:
        """Return an operand as a condition: objects by their conversion to bool."""
        value = self.load(operand, span)
        if isinstance(value, StructObject):
            return self.machine.calls.convert_object(value, CType("bool"), span)
        return value

    def _assign(self, node: Assign) -> Operand:
        machine = self.machine
        if node.operator == "=":
            target = self.operand(node.target)
            if isinstance(node.value, InitList) and target.cell is not None:
                return self._assign_list(target.cell, node.value)
            source = self.operand(node.value)
            return self.assign(target, source, node.span)
        operator = node.operator[:-1]
        target = self.operand(node.target)
        source = self.operand(node.value)
        overloaded = machine.calls.operator(node.operator, [target, source], node.span)
        if overloaded is not None:
            return overloaded
        value = self.operators.binary(operator, self.load(target, node.span), self.load(source, node.span))
        if target.cell is not None:
            self.store(target.cell, machine.objects.convert(value, target.cell.type), node.span)
        return target

    def _assign_list(self, cell: Cell, node: InitList) -> Operand:
        machine = self.machine
        type = machine.resolve(node.type) if node.type else cell.type
        temporary = Cell(None, type, cell.name, kind=cell.kind, span=cell.span)
        if type.name in ("", "auto") and isinstance(cell.value, StructObject | LibraryObject):
            type = self.type_of_value(cell.value)
        machine.objects.initialise_list(temporary, type, node)
        return self.assign(Operand(cell=cell), Operand(cell=temporary, moved=True), node.span)

    def assign(self, target: Operand, source: Operand, span: Span) -> Operand:
        """Assign an operand to another: operators of classes, member by member, or a plain value."""
        machine = self.machine
        cell = target.cell
        listed = braced(source)
        if listed is not None and cell is not None and self.type_of(target).name not in ("", "auto"):
            return self._assign_list(cell, listed.node())
        overloaded = machine.calls.operator("=", [target, source], span)
        if overloaded is not None:
            return overloaded
        if cell is None or machine.reach.is_unfollowed(cell):
            machine.reach.unfollowed([source.cell or source.value], span)
        if cell is None:
            return target
        origin = source.cell.value if source.cell is not None else source.value
        if isinstance(cell.value, StructObject) and isinstance(origin, StructObject):
            if cell.value is not origin:
                self._assign_members(cell.value, origin, source.cell is None or source.moved, span)
            return target
        if isinstance(cell.value, ArrayObject) and isinstance(origin, ArrayObject):
            cell.value = machine.objects.copy_array(origin, source.moved, span)
            machine.objects.adopt(cell)
            return target
        value = self.load(source, span)
        if isinstance(value, StructObject) and not isinstance(cell.value, StructObject):
            if cell.type.name in ("", "auto") or machine.objects.is_class(cell.type):
                machine.objects.initialise(cell, cell.type, source, span)
                return target
            value = machine.calls.convert_object(value, cell.type, span)
        elif isinstance(value, LibraryObject) and source.cell is not None:
            value = value.move(machine, span) if source.moved else value.copy(machine, span)
        if isinstance(value, LibraryObject):
            machine.statements.keep(value)
        if isinstance(cell.value, StructObject) and cell.value.cls is not None and not isinstance(value, StructObject):
            temporary = Cell(None, cell.type)
            machine.objects.initialise(temporary, cell.type, Operand(value), span)
            if isinstance(temporary.value, StructObject):
                return self.assign(target, Operand(cell=temporary, moved=True), span)
        self.store(cell, machine.objects.convert(value, cell.type), span)
        machine.objects.adopt(cell)
        return target

    def _assign_members(self, target: StructObject, source: StructObject, moved: bool, span: Span) -> None:
        objects = self.machine.objects
        if source.cls is not None:
            for field, _ in objects.all_fields(source.cls):
                objects.field(source, field.name)
        for name, cell in list(source.fields.items()):
            member = objects.field(target, name)
            if member is None:
                member = Cell(None, cell.type, cell.name, target)
                target.fields[name] = member
            self.assign(Operand(cell=member), Operand(cell=cell, moved=moved), span)
        if source.cls is None:
            target.symbol = source.symbol

    def _conditional(self, node: Conditional) -> Operand:
        machine = self.machine
        condition = self.condition(self.operand(node.condition), node.condition.span)
        known = machine.truth(condition)
        if known is None and not (
            machine.loops.relevance.expression_acts(node.then)
            or machine.loops.relevance.expression_acts(node.otherwise)
        ):
            then, otherwise = self.operand(node.then), self.operand(node.otherwise)
            first, second = self.load(then, node.span), self.load(otherwise, node.span)
            if isinstance(first, int | float | Symbol | Term) and isinstance(second, int | float | Symbol | Term):
                if first == second:
                    return Operand(first)
                # a number that the condition chooses: unknown, but the same each time
                return Operand(Term("?:", (condition if not isinstance(condition, Handle) else None, first, second)))
        answer, decided = machine.decide(condition)
        if not decided:
            machine.enter_conditional()
        try:
            return self.operand(node.then if answer else node.otherwise)
        finally:
            if not decided:
                machine.leave_conditional()

    # -- memory ------------------------------------------------------------------------------------

    def dereference(self, value: Value, span: Span) -> Operand:
        """Return what a pointer points to."""
        machine = self.machine
        if isinstance(value, CellPointer):
            return Operand(cell=value.cell)
        if isinstance(value, ElementPointer):
            return Operand(cell=machine.objects.element(value.array, value.index))
        if isinstance(value, DevicePointer):
            array, index = machine.device.contents(value)
            return Operand(cell=machine.objects.element(array, index))
        if isinstance(value, SymbolPointer):
            if isinstance(value.offset, int) and value.offset == 0:
                return Operand(cell=machine.pointee(value.symbol, value.element))
            array = machine.device.symbol_contents(value)
            return Operand(cell=machine.objects.element(array, value.offset))
        if isinstance(value, Symbol):
            return Operand(cell=machine.pointee(value, None))
        if isinstance(value, FunctionValue | Closure):
            return Operand(value)
        return Operand(machine.fresh("*", "opaque"))

    def _index(self, node: Index) -> Operand:
        machine = self.machine
        base = self.operand(node.base)
        index = self.operand(node.index)
        overloaded = machine.calls.operator("[]", [base, index], node.span)
        if overloaded is not None:
            return overloaded
        position = machine.known(self.load(index, node.span))
        value = base.cell.value if base.cell is not None else base.value
        if isinstance(value, ArrayObject):
            return Operand(cell=machine.objects.element(value, position))
        pointer = self.load(base, node.span)
        if isinstance(pointer, SymbolPointer):
            array = machine.device.symbol_contents(pointer)
            return Operand(
                cell=machine.objects.element(array, self.operators.arithmetic("+", pointer.offset, position))
            )
        moved = self.operators.arithmetic("+", pointer, position)
        if isinstance(pointer, str):
            return Operand(machine.fresh("char", "opaque"))
        if is_unknown(pointer):
            if isinstance(pointer, Symbol):
                array = machine.device.symbol_contents(SymbolPointer(pointer, 0, None))
                return Operand(cell=machine.objects.element(array, position))
            return Operand(Term("[]", (pointer, position)) if isinstance(position, int | Symbol | Term) else None)
        return self.dereference(moved, node.span)

    def _member(self, node: Member) -> Operand:
        owner = self.operand(node.object)
        return self.member(owner, node.member, node.arrow, node.span)

    def target_object(self, owner: Operand, arrow: bool, span: Span) -> Operand:
        """Return the object that `.` or `->` applies to."""
        machine = self.machine
        if not arrow:
            if owner.cell is not None or isinstance(owner.value, StructObject | LibraryObject):
                return owner
            value: Value = owner.value
            return Operand(cell=machine.pointee(value, None)) if isinstance(value, Symbol) else owner
        for _ in range(8):
            held = owner.cell.value if owner.cell is not None else owner.value
            if not isinstance(held, StructObject | LibraryObject):
                break
            overloaded = machine.calls.operator("->", [owner], span)
            if overloaded is None:
                return owner
            owner = overloaded
        return self.dereference(self.load(owner, span), span)

    def member(self, owner: Operand, name: str, arrow: bool, span: Span) -> Operand:
        """Return a member of an object."""
        machine = self.machine
        target = self.target_object(owner, arrow, span)
        held = target.cell.value if target.cell is not None else target.value
        if isinstance(held, StructObject):
            short = last_name(name)
            if held.cls is not None:
                for base in held.cls.lineage():
                    for field in base.static_fields():
                        if field.name == short:
                            return Operand(cell=self._static_cell(base, field))
            cell = machine.objects.field(held, short)
            if cell is not None:
                return Operand(cell=cell, moved=target.moved)
            return Operand(machine.fresh(short, "opaque"))
        if isinstance(held, LibraryObject):
            result = library.member(machine, held, name, span)
            return result if result is not None else Operand(machine.fresh(name, "opaque"))
        if isinstance(held, Symbol) and target.cell is not None:
            # An object of a type nobody knows: from here on its members have identity.
            object = StructObject(None, held)
            object.cell = target.cell
            target.cell.value = object
            cell = machine.objects.field(object, name)
            return Operand(cell=cell) if cell is not None else Operand(machine.fresh(name, "opaque"))
        if is_unknown(held) or isinstance(held, Handle):
            key = Term(".", (held if not isinstance(held, Handle) else held.value, name))
            return Operand(key)
        return Operand(machine.fresh(name, "opaque"))

    def _cast(self, node: Cast) -> Operand:
        machine = self.machine
        type = machine.resolve(node.type)
        if type.reference == "&&":
            operand = self.operand(node.operand)
            return Operand(operand.value, operand.cell, moved=True)
        operand = self.operand(node.operand)
        if type.reference:
            return operand
        if type.name == "void" and not type.pointers:
            self.load(operand, node.span)
            return Operand(None)
        value = operand.cell.value if operand.cell is not None else operand.value
        if isinstance(value, StructObject) and not machine.objects.is_class(type):
            return Operand(machine.objects.convert(machine.calls.convert_object(value, type, node.span), type))
        if machine.objects.is_class(type):
            cell = Cell(None, type)
            machine.objects.initialise(cell, type, operand, node.span)
            return Operand(machine.statements.temporary(cell.value))
        loaded = self.load(operand, node.span)
        if isinstance(loaded, FunctionValue | Closure) or type.function:
            return Operand(loaded)
        return Operand(self.operators.cast(loaded, type))

    def _sizeof(self, node: SizeOf) -> Operand:
        machine = self.machine
        if node.type is not None:
            type = machine.resolve(node.type)
            local = machine.find(node.type.name) if not node.type.arguments and not node.type.pointers else None
            if isinstance(local, Cell):
                type = self.type_of(Operand(cell=local))
        else:
            assert node.operand is not None
            type = self.static_type(node.operand)
        size = machine.objects.size_of(type.plain())
        if size is not None:
            return Operand(size)
        return Operand(machine.undeclared(f"sizeof({type.name}{'*' * type.pointers})"))

    def static_type(self, expression: Expression) -> CType:
        """Return the type of an expression that is not evaluated (`sizeof`, `decltype`)."""
        if isinstance(expression, Unary) and expression.operator == "*":
            return self.static_type(expression.operand).element()
        if isinstance(expression, Index):
            base = self.static_type(expression.base)
            if base.name in ("std::vector", "vector", "std::array") and base.arguments and not base.pointers:
                first = base.arguments[0]
                return first if isinstance(first, CType) else UNKNOWN
            return base.element()
        if isinstance(expression, Literal_):
            if isinstance(expression.value, str):
                return CType("char", array=(len(expression.value) + 1,))
            return CType("double") if isinstance(expression.value, float) else INT
        if isinstance(expression, Name | Member):
            operand = self.operand(expression)
            if operand.cell is not None and isinstance(operand.cell.value, ArrayObject) and not operand.cell.type.array:
                array = operand.cell.value
                return CType((array.element or CHAR).name, array=(array.length,))
            return self.type_of(operand)
        if isinstance(expression, Cast):
            return self.machine.resolve(expression.type)
        if isinstance(expression, Binary):
            left, right = self.static_type(expression.left), self.static_type(expression.right)
            return left if left.pointers or left.name in ("double", "float") else right
        return UNKNOWN

    def _new(self, node: New) -> Operand:
        machine = self.machine
        type = machine.resolve(node.type)
        if node.array_size is not None:
            length = machine.known(self.value(node.array_size))
            array = ArrayObject(type, length, MemoryKind.HOST_HEAP, span=node.span)
            cell = Cell(array, type, kind=MemoryKind.HOST_HEAP)
            if machine.objects.is_class(type) and isinstance(length, int):
                for index in range(min(length, 256)):
                    machine.objects.construct(machine.objects.element(array, index), type, [], node.span, default=True)
            array.cell = None
            del cell
            return Operand(ElementPointer(array, 0))
        cell = Cell(None, type, kind=MemoryKind.HOST_HEAP, span=node.span)
        if len(node.arguments) == 1 and isinstance(node.arguments[0], InitList):
            machine.objects.initialise_list(cell, type, node.arguments[0])
        else:
            machine.objects.construct(cell, type, machine.calls.operands(node.arguments), node.span)
        return Operand(CellPointer(cell))

    def _delete(self, node: Delete) -> Operand:
        machine = self.machine
        value = self.value(node.operand)
        if isinstance(value, CellPointer):
            machine.objects.destroy(value.cell, node.span)
        elif isinstance(value, ElementPointer):
            machine.objects.end_array(value.array, node.span)
        elif isinstance(value, SymbolPointer):
            cell = machine.pointee(value.symbol, value.element)
            machine.objects.destroy(cell, node.span)
        elif isinstance(value, DevicePointer) and self._deletes_from_heap(value.element):
            machine.device.heap_free(value, node.span)
        return Operand(None)

    def _deletes_from_heap(self, type: CType | None) -> bool:
        """Tell whether `delete` of such an object gives memory to the heap: no `operator delete` is in view."""
        program = self.machine.program
        if type is None or any(last_name(name).startswith("operator delete") for name in program.functions):
            return False
        cls = program.class_of(type, self.machine.frame)
        if cls is None:
            return not self.machine.objects.is_class(type) and type.name in SCALAR_SIZES
        return not any(
            known.unknown_bases or any(name.startswith("operator delete") for name in known.methods)
            for known in cls.lineage()
        )

    # -- the rest ----------------------------------------------------------------------------------

    def _init_list(self, node: InitList) -> Operand:
        machine = self.machine
        if node.type is None:
            return Operand(BracedList(machine.calls.operands(node.items), node.names, node.span))
        type = machine.resolve(node.type)
        cell = Cell(None, type)
        machine.objects.initialise_list(cell, type, node)
        return Operand(machine.statements.temporary(cell.value))

    def _lambda(self, node: Lambda) -> Operand:
        machine = self.machine
        frame = machine.frame
        captured: dict[str, Cell] = {}
        this = frame.this if node.default else None
        for name, by_reference, initializer in node.captures:
            if name == "this":
                this = frame.this
                continue
            source = self.operand(initializer if initializer is not None else Name(node.span, name))
            if by_reference:
                captured[name] = self.cell_of(source)
            else:
                captured[name] = self._capture(name, source, node.span)
        scope = frame.scope
        if node.default == "=":
            for name in machine.loops.relevance.free_names(node):
                if name not in captured:
                    local = machine.find(name)
                    if isinstance(local, Cell) and not isinstance(local.value, Closure):
                        captured[name] = self._capture(name, Operand(cell=local), node.span)
        return Operand(Closure(node, captured, this, scope, frame.cls, frame.bindings, frame.namespace, frame.function))

    def _capture(self, name: str, source: Operand, span: Span) -> Cell:
        type = self.type_of(source).bare()
        cell = Cell(None, type, name, span=span)
        self.machine.objects.initialise(cell, type, source, span)
        self.machine.objects.adopt(cell)
        return cell

    def _statement_expression(self, node: StatementExpression) -> Operand:
        return self.machine.statements.statement_expression(node)

    def _unparsed(self, node: Unparsed) -> Operand:
        result = Operand(None)
        for child in node.children:
            result = self.operand(child)
        if node.text.strip(" .;") and not node.children:
            self.machine.not_understood(node.span, node.text[:60])
        return Operand(self.machine.fresh(node.text[:20], "opaque")) if not node.children else result

    def _launch(self, node: Launch) -> Operand:
        return self.machine.device.launch(node)

    def types_in(self, arguments: list[Type | Expression]) -> list[Any]:
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
                found.append(machine.known(self.value(argument)))
        return found

    def _names_type(self, name: str) -> bool:
        program, frame = self.machine.program, self.machine.frame
        return (
            program.find(program.classes, name, frame) is not None
            or program.find(program.aliases, name, frame) is not None
            or program.find(program.enums, name, frame) is not None
        )


def machine_call(machine: Machine) -> Callable[[Any], Operand]:
    """Return the handler of calls, which is made after the expressions."""
    return lambda node: machine.calls.call(node)


__all__ = ["Expressions", "PathEnds"]
