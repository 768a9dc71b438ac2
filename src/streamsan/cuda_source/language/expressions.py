"""Evaluation of expressions: every handler returns an `Operand`, an lvalue's cell or a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from streamsan.cuda_source.language.builtin_operators import Operators
from streamsan.cuda_source.language.creations import Creations
from streamsan.cuda_source.language.operand_values import Access
from streamsan.cuda_source.library.braced import BracedList, Evaluated
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    ArrayObject,
    Cell,
    CellPointer,
    Closure,
    FunctionValue,
    Operand,
    StructObject,
    SymbolPointer,
    Term,
    Value,
    is_unknown,
)
from streamsan.cuda_source.values.frame import Thrown
from streamsan.cuda_source.values.success import Success, means_success
from streamsan.cuda_source.values.types import CHAR, INT, UNKNOWN, CType
from streamsan.cuda_syntax import tree
from streamsan.model.values import Handle, Symbol

_NAMES_OF_ITS_OWN = frozenset({"half", "uint", "uchar", "ushort", "ulong", "string", "vector"})
"""Types of CUDA and of the C library, whose names a program without them may give to its functions."""


class Expressions(Access):
    """Evaluates the expressions of one path."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.operators = Operators(machine)
        creations = Creations(machine)
        self._handlers: dict[type[tree.Expression], Callable[[Any], Operand]] = {
            tree.Name: self._name,
            tree.Literal_: self._literal,
            tree.Unary: self._unary,
            tree.Binary: self._binary,
            tree.Fold: self._fold,
            tree.PackSize: lambda node: Operand(machine.calls.pack_size(node.name)),
            tree.Assign: self._assign,
            tree.Conditional: self._conditional,
            tree.Call: self._call,
            tree.Launch: self._launch,
            tree.Member: self._member,
            tree.Index: self._index,
            tree.Cast: self._cast,
            tree.SizeOf: self._sizeof,
            tree.New: creations.new,
            tree.Delete: creations.delete,
            tree.InitList: self._init_list,
            Evaluated: lambda node: node.operand,
            tree.Lambda: creations.closure,
            tree.StatementExpression: lambda node: machine.statements.statement_expression(node),
            tree.Unparsed: self._unparsed,
        }

    def operand(self, expression: tree.Expression) -> Operand:
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

    def value(self, expression: tree.Expression) -> Value:
        """Evaluate an expression to a value."""
        return self.load(self.operand(expression), expression.span)

    def cell(self, expression: tree.Expression) -> Cell:
        """Evaluate an expression to a cell; a value gets a temporary one."""
        return self.cell_of(self.operand(expression))

    def _call(self, node: tree.Call) -> Operand:
        self.machine.coverage.reach(node)
        return self.machine.calls.call(node)

    def _launch(self, node: tree.Launch) -> Operand:
        self.machine.coverage.reach(node)
        return self.machine.api.launch(node)

    def _name(self, node: tree.Name) -> Operand:
        name = node.name
        machine = self.machine
        if name == "this":
            this = machine.frame.this
            return Operand(CellPointer(this) if this is not None else machine.names.undeclared("this"))
        found = machine.names.lookup(name, node)
        if found is None:
            return Operand(machine.names.undeclared(name))
        value = found.held
        if type(value) is int and means_success(name) and not isinstance(machine.find(name), Cell):
            return Operand(Success(value))
        return found

    def _literal(self, node: tree.Literal_) -> Operand:
        value = node.value
        if value is None:
            return Operand(0)
        return Operand(int(value) if isinstance(value, bool) else value)

    def _unary(self, node: tree.Unary) -> Operand:
        operator = node.operator
        if operator == "throw":
            value = (
                None
                if isinstance(node.operand, tree.Literal_) and node.operand.value is None
                else self.value(node.operand)
            )
            raise Thrown(value, node.span, self.machine.conditional)
        if operator == "...":
            return self.operand(node.operand)
        operand = self.operand(node.operand)
        overloaded = self.machine.class_operators.call(
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
        return Operand(self.operators.unary(operator, self.number(operand, node.span)))

    def _increment(self, operator: str, operand: Operand, node: tree.Unary) -> Operand:
        old = self.load(operand, node.span)
        new = self.operators.arithmetic("+" if "++" in operator else "-", old, 1)
        if operand.cell is not None:
            self.store(operand.cell, self.machine.objects.convert(new, operand.cell.type), node.span)
        return Operand(old) if operator.startswith("post") else Operand(new, cell=operand.cell)

    def _binary(self, node: tree.Binary) -> Operand:
        approaches = self.machine.approaches
        chain: list[tree.Binary] = []
        current: tree.Expression = node
        while isinstance(current, tree.Binary) and current.operator not in ("&&", "||", ","):
            chain.append(current)
            current = current.left
        left = self._logical(current) if isinstance(current, tree.Binary) else self.operand(current)
        for part in reversed(chain):
            right = self.operand(part.right)
            overloaded = self.machine.class_operators.call(part.operator, [left, right], part.span)
            if overloaded is not None:
                left = overloaded
                continue
            values = self.number(left, part.span), self.number(right, part.span)
            if approaches.watched:
                approaches.met(id(part), part.operator, *values)
            left = Operand(self.operators.binary(part.operator, *values))
        return left

    def _fold(self, node: tree.Fold) -> Operand:
        """What a pack's members make one after the other; all of them are evaluated, also behind a false one."""
        machine, operator = self.machine, node.operator
        operands = [] if node.initial is None else [self.operand(node.initial)]
        operands += machine.calls.operands([tree.Unary(node.span, "...", node.pattern)])
        if operator in ("&&", "||"):
            truths = [machine.truth(self.condition(operand, node.span)) for operand in operands]
            if None in truths:
                return Operand(machine.fresh("condition", "opaque"))
            return Operand(int(all(truths) if operator == "&&" else any(truths)))
        if not operands:
            return Operand(None)
        result = operands[0]
        for operand in operands[1:]:
            if operator == ",":
                result = operand
                continue
            overloaded = machine.class_operators.call(operator, [result, operand], node.span)
            values = (self.load(result, node.span), self.load(operand, node.span)) if overloaded is None else None
            result = overloaded or Operand(self.operators.binary(operator, *values) if values else None)
        return result

    def _logical(self, node: tree.Binary) -> Operand:
        machine = self.machine
        left = self.operand(node.left)
        if node.operator == ",":
            overloaded = machine.class_operators.call(",", [left], node.span)
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
        if machine.relevance.expression_acts(node.right):
            answer, _ = machine.decide(first)
            if answer == wanted:
                return Operand(int(wanted))
            return Operand(self.condition(self.operand(node.right), node.right.span))
        second = self.condition(self.operand(node.right), node.right.span)
        truth = machine.truth(second)
        if truth is not None:
            return Operand(int(wanted)) if truth == wanted else Operand(first)
        return Operand(self.operators.binary(node.operator, first, second))

    def condition(self, operand: Operand, span: tree.Span) -> Value:
        """Return an operand as a condition: objects by their conversion to bool."""
        value = self.number(operand, span)
        if isinstance(value, StructObject):
            return self.machine.class_operators.convert(value, CType("bool"), span)
        return value

    def _assign(self, node: tree.Assign) -> Operand:
        if node.operator == "=":
            target = self.operand(node.target)
            if isinstance(node.value, tree.InitList) and target.cell is not None:
                return self.assign_list(target.cell, node.value)
            source = self.operand(node.value)
            return self.assign(target, source, node.span)
        operator = node.operator[:-1]
        target = self.operand(node.target)
        source = self.operand(node.value)
        overloaded = self.machine.class_operators.call(node.operator, [target, source], node.span)
        if overloaded is not None:
            return overloaded
        value = self.operators.binary(operator, self.load(target, node.span), self.load(source, node.span))
        if target.cell is not None:
            self.store(target.cell, self.machine.objects.convert(value, target.cell.type), node.span)
        return target

    def _conditional(self, node: tree.Conditional) -> Operand:
        machine = self.machine
        condition = self.condition(self.operand(node.condition), node.condition.span)
        known = machine.truth(condition)
        if known is None and not (
            machine.relevance.expression_acts(node.then) or machine.relevance.expression_acts(node.otherwise)
        ):
            then, otherwise = self.operand(node.then), self.operand(node.otherwise)
            first, second = self.load(then, node.span), self.load(otherwise, node.span)
            if isinstance(first, int | float | Symbol | Term) and isinstance(second, int | float | Symbol | Term):
                if first == second:
                    return Operand(first)
                # a number that the condition chooses: unknown, but the same each time
                return Operand(Term("?:", (condition if not isinstance(condition, Handle) else None, first, second)))
            if isinstance(first, str) and isinstance(second, str):  # `ok ? "PASS" : "FAIL"` is no choice of paths
                return Operand(machine.fresh("text", "opaque"))
        answer, decided = machine.decide(condition)
        with machine.under_branch(decided):
            return self.operand(node.then if answer else node.otherwise)

    def _index(self, node: tree.Index) -> Operand:
        machine = self.machine
        base = self.operand(node.base)
        index = self.operand(node.index)
        overloaded = machine.class_operators.call("[]", [base, index], node.span)
        if overloaded is not None:
            return overloaded
        position = machine.known(self.load(index, node.span))
        value = base.held
        if isinstance(value, ArrayObject):
            return Operand(cell=machine.objects.element(value, position))
        pointer = self.load(base, node.span)
        if isinstance(pointer, SymbolPointer):
            array = machine.memory.symbol_contents(pointer)
            return Operand(
                cell=machine.objects.element(array, self.operators.arithmetic("+", pointer.offset, position))
            )
        moved = self.operators.arithmetic("+", pointer, position)
        if isinstance(pointer, str):
            return Operand(machine.fresh("char", "opaque"))
        if is_unknown(pointer):
            if isinstance(pointer, Symbol):
                array = machine.memory.symbol_contents(SymbolPointer(pointer, 0, None))
                return Operand(cell=machine.objects.element(array, position))
            return Operand(Term("[]", (pointer, position)) if isinstance(position, int | Symbol | Term) else None)
        return self.dereference(moved, node.span)

    def _member(self, node: tree.Member) -> Operand:
        owner = self.operand(node.object)
        return self.member(owner, node.member, node.arrow, node.span)

    def _is_call(self, node: tree.Cast) -> bool:
        """Tell whether `half(i)`, which reads as a cast, calls a function that the program has by that name."""
        type = node.type
        if type.name not in _NAMES_OF_ITS_OWN or type.pointers or type.reference or type.const:
            return False
        machine = self.machine
        return bool(
            machine.calls.implicit_method(type.name) or machine.program.find_functions(type.name, machine.frame)
        )

    def _cast(self, node: tree.Cast) -> Operand:
        machine = self.machine
        if self._is_call(node):
            return machine.calls.call(tree.Call(node.span, tree.Name(node.span, node.type.name), [node.operand]))
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
        value = operand.held
        if isinstance(value, StructObject) and not machine.objects.is_class(type):
            return Operand(machine.objects.convert(machine.class_operators.convert(value, type, node.span), type))
        if machine.objects.is_class(type):
            cell = Cell(None, type)
            machine.objects.initialise(cell, type, operand, node.span)
            return Operand(machine.statements.temporary(cell.value))
        loaded = self.load(operand, node.span)
        if isinstance(loaded, FunctionValue | Closure) or type.function:
            return Operand(loaded)
        return Operand(self.operators.cast(loaded, type))

    def _sizeof(self, node: tree.SizeOf) -> Operand:
        machine = self.machine
        if node.type is not None:
            type = machine.resolve(node.type)
            local = machine.find(node.type.name) if not node.type.arguments and not node.type.pointers else None
            if isinstance(local, Cell):
                type = self._counted(local, self.type_of(Operand(cell=local)))
        else:
            assert node.operand is not None
            type = self.static_type(node.operand)
        size = machine.objects.size_of(type.plain())
        if size is not None:
            return Operand(size)
        return Operand(machine.names.undeclared(f"sizeof({type.name}{'*' * type.pointers})"))

    def _counted(self, cell: Cell, type: CType) -> CType:
        """Return the type of a variable; of `T x[] = {a, b}` with the number of elements that its list gave it."""
        array = cell.value
        if not type.array or type.array[0] is not None or not isinstance(array, ArrayObject):
            return type
        return replace(type, array=(array.length, *type.array[1:]))

    def static_type(self, expression: tree.Expression) -> CType:
        """Return the type of an expression that is not evaluated (`sizeof`, `decltype`)."""
        if isinstance(expression, tree.Unary) and expression.operator == "*":
            return self.static_type(expression.operand).element()
        if isinstance(expression, tree.Index):
            base = self.static_type(expression.base)
            if base.name in ("std::vector", "vector", "std::array") and base.arguments and not base.pointers:
                first = base.arguments[0]
                return first if isinstance(first, CType) else UNKNOWN
            return base.element()
        if isinstance(expression, tree.Literal_):
            if isinstance(expression.value, str):
                return CType("char", array=(len(expression.value) + 1,))
            return CType("double") if isinstance(expression.value, float) else INT
        if isinstance(expression, tree.Name | tree.Member):
            operand = self.operand(expression)
            if operand.cell is not None and isinstance(operand.cell.value, ArrayObject) and not operand.cell.type.array:
                array = operand.cell.value
                return CType((array.element or CHAR).name, array=(array.length,))
            type = self.type_of(operand)
            return type if operand.cell is None else self._counted(operand.cell, type)
        if isinstance(expression, tree.Cast):
            return self.machine.resolve(expression.type)
        if isinstance(expression, tree.Binary):
            left, right = self.static_type(expression.left), self.static_type(expression.right)
            return left if left.pointers or left.name in ("double", "float") else right
        return UNKNOWN

    def _init_list(self, node: tree.InitList) -> Operand:
        machine = self.machine
        if node.type is None:
            return Operand(BracedList(machine.objects.constants.operands(node), node.names, node.span))
        type = machine.resolve(node.type)
        cell = Cell(None, type)
        machine.objects.initialise_list(cell, type, node)
        return Operand(machine.statements.temporary(cell.value))

    def _unparsed(self, node: tree.Unparsed) -> Operand:
        result = Operand(None)
        for child in node.children:
            result = self.operand(child)
        if node.text.strip(" .;") and not node.children:
            self.machine.not_understood(node.span, node.text[:60])
        return Operand(self.machine.fresh(node.text[:20], "opaque")) if not node.children else result
