"""Models of the standard library and other libraries: the seam between the interpreter and what it cannot see.

A model never knows what a CUDA function means; it says what library code does with the interpreter's values. Which
names there are, and which model each has, stands in `tables/*.toml` (`tables.py` says how to read them): to add a
function, add its name to a row, or a row with a model.

**Functions.** A model is called as ``f(machine, operands, call, **row)`` and returns an `Operand` or a plain value.
`operands` are the evaluated arguments (`Operand.cell` where the argument is an lvalue);
``machine.expressions.load(operand, span)`` gives the value. `call` is the `CallSite`: its `span`, and the template
arguments as `CType`s or constants. `row` is what the table says besides the names; a family's model gets the `name`.

**Classes.** A model is a subclass of `LibraryObject`, which says how objects are made and used::

    class Vector(LibraryObject):
        @classmethod
        def construct(cls, machine, type, operands, span, cell, braced): ...   # -> LibraryObject
        @classmethod
        def unknown(cls, machine, type, name, origin): ...                     # from an unseen caller
        def call(self, machine, method, operands, span): ...                   # -> Operand | value | NOT_MODELLED
        def parts(self): ...        # what it owns or points to: destruction and reachability go through it
        def copy / move / destroy / truth / length

Operators arrive as methods named `operator[]`, `operator*`, `operator->`, `operator()`, `operator=`, `operator==`, ...
A method that returns NOT_MODELLED is treated as opaque: the arguments are as if given to unseen code.

A model imports `face.py`, the interpreter's values and terms, and other models: nothing of the interpreter above them.
"""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.interpreter.library.face import NOT_MODELLED, Machine
from streamsan.cuda_source.interpreter.library.tables import class_row, find_class
from streamsan.cuda_source.interpreter.types import CType
from streamsan.cuda_source.interpreter.values import Cell, LibraryObject, Operand, Value
from streamsan.cuda_syntax.tree import Span
from streamsan.model.values import Origin


def is_class(name: str) -> bool:
    """Tell whether a class has a model."""
    return class_row(name) is not None


def create(machine: Machine, type: CType) -> LibraryObject:
    """Return an object of a modelled class before its constructor has run."""
    made: LibraryObject = find_class(type.name).construct(machine, type, [], None, None, False)
    return made


def construct(
    machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell, braced: bool = False
) -> Value:
    """Run a modelled class's constructor."""
    model = find_class(type.name)
    made: Value = model.construct(machine, type, operands, span, cell, braced)
    return made


def unknown(machine: Machine, type: CType, name: str, origin: Origin) -> LibraryObject:
    """Return an object of a modelled class that came from code nobody can see."""
    made: LibraryObject = find_class(type.name).unknown(machine, type, name, origin)
    return made


def accepts(type_name: str, value: LibraryObject) -> bool:
    """Tell whether an object is of the named class."""
    return isinstance(value, find_class(type_name))


def call_method(machine: Machine, held: LibraryObject, method: str, operands: list[Operand], span: Span) -> Any:
    """Call a method or operator of a modelled object; NOT_MODELLED if the model does not know it."""
    call = getattr(held, "call", None)
    return NOT_MODELLED if call is None else call(machine, method, operands, span)


def member(machine: Machine, held: LibraryObject, name: str, span: Span) -> Operand | None:
    """Return a data member of a modelled object (`pair.first`); None if it has none of that name."""
    get = getattr(held, "member", None)
    found: Operand | None = None if get is None else get(machine, name, span)
    return found


def iterate(machine: Machine, held: LibraryObject, span: Span) -> list[Operand] | None:
    """Return the elements that a range-based loop visits; None if the object is no range."""
    elements = getattr(held, "elements", None)
    found: list[Operand] | None = None if elements is None else elements(machine, span)
    return found
