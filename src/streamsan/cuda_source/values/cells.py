"""What an expression of the program can evaluate to, and where values live.

Numbers, text, `Symbol`, `Handle` and `None` (nobody could compute it) are the model's own values; a model `Pointer`
travels as `DevicePointer`, which also knows the size of what it points to. The rest exists only inside the interpreter:
cells, objects, arrays, pointers to them, functions and closures.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from streamsan.cuda_source.values.classes import ClassInfo
from streamsan.cuda_source.values.types import CType
from streamsan.cuda_syntax.tree import Expression, Function, Lambda, Span
from streamsan.model.values import Handle, Origin, Pointer, Symbol
from streamsan.vocabulary import MemoryKind


class Term(Struct, frozen=True, cache_hash=True):
    """An expression over symbols; two equal terms are the same unknown value.

    Its hash is kept: terms are looked up all the time, and may be deep.
    """

    operator: str
    operands: tuple[Any, ...]


class Status(int):
    """A number that an API call returned as its status."""


HOST_READABLE = frozenset(
    {
        MemoryKind.UNKNOWN,
        MemoryKind.MANAGED,
        MemoryKind.PINNED,
        MemoryKind.REGISTERED,
        MemoryKind.HOST_HEAP,
        MemoryKind.HOST_STACK,
        MemoryKind.HOST_STATIC,
        MemoryKind.SVM,
        MemoryKind.CL_MAPPED,
    }
)
"""Kinds of memory that host code can touch."""


class HostBlock:
    """Host memory that the model knows: a local, a heap block, or pinned and managed memory that host code touches."""

    __slots__ = ("from_api", "kind", "pointer")

    def __init__(self, pointer: Pointer, kind: MemoryKind, from_api: bool) -> None:
        self.pointer = pointer
        self.kind = kind
        self.from_api = from_api
        """The memory came from an API call: its end is an API call too, not the end of a scope."""


class Cell:
    """A variable, element or field: one place that holds a value. A reference is the same cell under another name."""

    __slots__ = ("host", "key", "kind", "name", "owner", "span", "type", "value")

    def __init__(
        self,
        value: Value,
        type: CType,
        name: str = "",
        owner: ArrayObject | StructObject | None = None,
        kind: MemoryKind = MemoryKind.HOST_STACK,
        span: Span | None = None,
    ) -> None:
        self.value = value
        self.type = type
        self.name = name
        self.owner = owner
        self.kind = kind
        self.span = span
        self.host: HostBlock | None = None
        self.key: Any = None
        """Index of an element in its array."""


class MacroArgument:
    """An argument of a function-like macro: a tree, and the scope in which it means something."""

    __slots__ = ("expression", "scope")

    def __init__(self, expression: list[Expression], scope: Scope) -> None:
        self.expression = expression
        """One tree; several for `__VA_ARGS__`."""
        self.scope = scope


class Scope:
    """The names of one block. `owned` are the cells whose lifetime ends with it, in order of declaration."""

    __slots__ = ("names", "owned", "parent")

    def __init__(self, parent: Scope | None = None) -> None:
        self.parent = parent
        self.names: dict[str, Cell | MacroArgument] = {}
        self.owned: list[Cell] = []

    def own(self, name: str, cell: Cell) -> None:
        """Add a variable whose life ends with the scope's."""
        self.names[name] = cell
        self.owned.append(cell)

    def find(self, name: str) -> Cell | MacroArgument | None:
        """Look a name up, from the innermost scope outwards."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.names.get(name)
            if found is not None:
                return found
            scope = scope.parent
        return None


class StructObject:
    """An object of a class; fields appear when first touched if the class is not known."""

    __slots__ = ("cell", "cls", "constructed", "fields", "symbol")

    def __init__(self, cls: ClassInfo | None, symbol: Symbol | None = None, cell: Cell | None = None) -> None:
        self.cls = cls
        self.fields: dict[str, Cell] = {}
        self.symbol = symbol
        """Set when the object came from code nobody can see: its fields are then unknown values with identity."""
        self.cell = cell
        if cell is not None:
            cell.value = self
        self.constructed = False
        """A constructor has run (or the class has none): the destructor must run."""

    def new_member(self, name: str, type: CType, span: Span) -> Cell:
        """Give the object a member that holds nothing yet."""
        member = self.fields[name] = Cell(None, type, name, self, span=span)
        return member


class ArrayObject:
    """Elements in a row: a local array, a heap block, a container's storage. Cells appear when first touched."""

    __slots__ = (
        "cell",
        "cells",
        "element",
        "host",
        "kind",
        "label",
        "length",
        "origin",
        "released",
        "span",
        "symbol",
        "written",
    )

    def __init__(
        self,
        element: CType | None,
        length: Value,
        kind: MemoryKind = MemoryKind.HOST_STACK,
        label: str = "",
        span: Span | None = None,
    ) -> None:
        self.element = element
        """None: raw memory whose first typed use decides."""
        self.length = length
        """Elements; for raw memory, bytes."""
        self.kind = kind
        self.label = label
        self.span = span
        self.cells: dict[Any, Cell] = {}
        self.cell: Cell | None = None
        self.host: HostBlock | None = None
        self.symbol: Symbol | None = None
        """Set when untouched elements are unknown values with identity."""
        self.origin: str = "uninitialised"
        """The origin of the unknown value that an untouched element holds."""
        self.released = False
        self.written: ConstantItems | None = None
        """What untouched elements hold of a long list of constants."""

    def forget_numbers(self) -> None:
        """Drop what is known of elements that are numbers: something nobody follows overwrote them."""
        self.cells = {key: cell for key, cell in self.cells.items() if not isinstance(cell.value, int | float)}
        self.written = None


class ConstantItems(Struct, frozen=True):
    """The items of a list of constants, and the frame in which they mean what they mean."""

    items: list[Expression]
    frame: Any


class CellPointer(Struct, frozen=True):
    """The address of one variable or field."""

    cell: Cell


class ElementPointer(Struct, frozen=True):
    """The address of an element of an array; the index may be a term, or None when nobody could compute it."""

    array: ArrayObject
    index: Any
    seen: CType | None = None
    """what the program takes the elements for, after a cast: in these it counts from here; None: for what they are"""

    def __eq__(self, other: object) -> bool:
        # An address is the same, whatever the program takes it for.
        return isinstance(other, ElementPointer) and self.array is other.array and self.index == other.index

    def __hash__(self) -> int:
        return hash((self.array, self.index))


class DevicePointer(Struct, frozen=True):
    """A pointer that the API gave out, with the type that the program sees behind it."""

    pointer: Pointer
    element: CType | None = None


class SymbolPointer(Struct, frozen=True):
    """An unknown pointer (a parameter, say) with a known or unknown number of bytes added."""

    symbol: Symbol
    offset: Any
    element: CType | None = None


class FunctionValue(Struct, eq=False):
    """A function by name: all overloads; template arguments if they were written."""

    name: str
    functions: list[Function]
    template_arguments: tuple[Any, ...] = ()
    cls: ClassInfo | None = None


class Closure(Struct, eq=False):
    """A lambda with what it captured."""

    node: Lambda
    captured: dict[str, Cell]
    this: Cell | None
    scope: Scope
    cls: ClassInfo | None
    bindings: dict[str, Any]
    namespace: str
    function: str
    home: Any = None
    """the unit in which it stands"""


class BoundMethod(Struct, eq=False):
    """`object.method` or a pointer to a member function bound to its object."""

    object: Cell
    name: str


class Native(Struct, eq=False):
    """A function of a library model as a value (`std::bind`'s result, `std::ref`, a deleter)."""

    name: str
    run: Callable[..., Any]


class CallSite(Struct, frozen=True):
    """What a library's model of a function may need of the call beyond its operands."""

    span: Span
    template_arguments: tuple[Any, ...] = ()


FunctionModel = Callable[..., Any]
"""A library's model of a function: called with the machine, the operands and the `CallSite`."""


class _NotModelled:
    """The model does not know this method."""


NOT_MODELLED: Final = _NotModelled()


class LibraryObject:
    """Base of objects of the standard library that a model in `library/` implements.

    A model keeps its parts where `parts()` shows them, so that destruction and reachability find them.
    """

    class_name = ""
    synchronises = False
    """Threads may use it at once: that is what it is for."""

    def __init__(self) -> None:
        self.cell: Cell | None = None
        self.constructed = True

    @classmethod
    def construct(
        cls, machine: Any, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        """Return a new object; `cell` is where it will be, if that is known."""
        raise NotImplementedError

    @classmethod
    def unknown(cls, machine: Any, type: CType, name: str, origin: Origin) -> LibraryObject:
        """Return an object that came from unseen code."""
        raise NotImplementedError

    @classmethod
    def bare(cls, machine: Any, type: CType) -> LibraryObject:
        """Return an object whose constructor has not run yet."""
        return cls.construct(machine, type, [], None, None, False)  # type: ignore[arg-type]

    def parts(self) -> list[Cell | ArrayObject | Value]:
        """Everything the object owns or points to."""
        return []

    def copy(self, machine: Any, span: Span) -> LibraryObject:
        """Return a copy, as the copy constructor would make it."""
        return self

    def move(self, machine: Any, span: Span) -> LibraryObject:
        """Return a new object with this one's contents, and leave this one empty."""
        return self.copy(machine, span)

    def destroy(self, machine: Any, span: Span) -> None:
        """Run the destructor."""

    def handed_out(self) -> None:
        """Unseen code got it, as an argument."""

    def call(self, machine: Any, method: str, operands: list[Operand], span: Span) -> Any:
        """Call a method or operator; NOT_MODELLED if the model does not know it."""
        return NOT_MODELLED

    def member(self, machine: Any, name: str, span: Span) -> Operand | None:
        """Return a data member (`pair.first`); None if there is none of that name."""
        return None

    def elements(self, machine: Any, span: Span) -> list[Operand] | None:
        """Return the elements that a range-based loop visits; None if the object is no range."""
        return None

    def truth(self) -> bool | None:
        """Return the object as a condition; None if it is not known."""
        return None

    def worth(self, machine: Any, span: Span) -> Value:
        """Return what stands for the object where a number is needed: the value of an atomic variable."""
        return self

    def length(self) -> Value:
        """Return the number of elements for loops over the object; None if it is not known."""
        return None


class Reference(LibraryObject):
    """What `std::ref` gives."""

    class_name = "std::reference_wrapper"

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.cell: Cell = cell

    def parts(self) -> list[Cell | ArrayObject | Value]:
        """The cell referred to."""
        return [self.cell]


Value = (
    int
    | float
    | str
    | None
    | Symbol
    | Handle
    | Term
    | StructObject
    | ArrayObject
    | CellPointer
    | ElementPointer
    | DevicePointer
    | SymbolPointer
    | FunctionValue
    | Closure
    | BoundMethod
    | Native
    | LibraryObject
)


class Operand:
    """The outcome of an expression: a cell (an lvalue, or an xvalue once moved), or a value."""

    __slots__ = ("cell", "moved", "value")

    def __init__(self, value: Value = None, cell: Cell | None = None, moved: bool = False) -> None:
        self.value = value
        self.cell = cell
        self.moved = moved

    @property
    def held(self) -> Value:
        """The object or value itself, without reading host memory."""
        return self.value if self.cell is None else self.cell.value

    @property
    def temporary(self) -> bool:
        """The contents may be taken over: a temporary, or moved from."""
        return self.cell is None or self.moved


def held_by(operand: Operand) -> Value:
    """Return the object or value behind an operand, without reading host memory."""
    value = operand.held
    return value.cell.value if isinstance(value, Reference) else value


def cell_name(cell: Cell) -> str:
    """Return a cell's name as the program would write it: `buf.ptr`, `d_x[1]`."""
    owner = cell.owner
    if isinstance(owner, StructObject) and owner.cell is not None and owner.cell.name and cell.name:
        outer = cell_name(owner.cell)
        return f"{outer}.{cell.name}"
    if isinstance(owner, ArrayObject) and owner.cell is not None and isinstance(cell.key, int):
        outer = cell_name(owner.cell)
        return f"{outer}[{cell.key}]" if outer else cell.name
    return cell.name


def is_unknown(value: Value) -> bool:
    """Tell whether a value is a scalar that nobody could compute."""
    return value is None or isinstance(value, Symbol | Term)


def is_pointer(value: Value) -> bool:
    """Tell whether a value is an address."""
    return isinstance(value, CellPointer | ElementPointer | DevicePointer | SymbolPointer)
