"""Models of the standard library and of the C library: the seam between the interpreter and what it cannot see.

A model never knows what a CUDA function means; it says what C and C++ library code does with the interpreter's values.

**Functions.** ``@function("std::move", "move")`` registers a Python function under the names that programs write. It
is called as ``f(machine, operands, call)`` and returns an `Operand` or a plain value. `operands` are the evaluated
arguments (`Operand.cell` where the argument is an lvalue); ``machine.expressions.load(operand, span)`` gives the value.
`call` is the `CallSite`: its `span`, and the template arguments as `CType`s or constants.

**Classes.** ``@class_("std::vector", "thrust::host_vector")`` registers a subclass of `LibraryObject`. The class says
how it is made and used::

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

**Families.** ``@family`` registers a function from a name to a model or None, for libraries with many functions of one
kind.

**Harmless names.** ``harmless("printf", "std::cout", ...)`` registers functions and objects whose calls neither keep
nor change a pointer or handle: evaluating their arguments is all that happens. The result is an unknown.

Every module of this package registers itself when it is imported; `_MODULES` lists them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeVar

from streamsan.cuda_source.interpreter.library.face import NOT_MODELLED, FunctionModel, Machine
from streamsan.cuda_source.interpreter.types import CType
from streamsan.cuda_source.interpreter.values import Cell, LibraryObject, Operand, Value
from streamsan.cuda_syntax.tree import Span
from streamsan.model.values import Origin

Model = TypeVar("Model", bound=type)

_functions: dict[str, FunctionModel] = {}
_classes: dict[str, Any] = {}
_harmless: set[str] = set()
_harmless_prefixes: list[str] = []
_constants: dict[str, Any] = {}
_families: list[Callable[[str], FunctionModel | None]] = []
_loaded = False

_MODULES = (
    "harmless_names", "memory", "sequences", "containers", "arrays", "adapters", "pointers", "threads",
    "synchronisation", "process", "callables", "tuples", "optionals", "ranges", "maps", "strings", "algorithms",
    "removal", "text_streams", "cuda_values", "device_libraries", "host_libraries", "thrust_vectors", "clocks",
)  # fmt: skip


def _load() -> None:
    global _loaded
    if not _loaded:
        _loaded = True
        for module in _MODULES:
            importlib.import_module(f"{__name__}.{module}")


def function(*names: str) -> Callable[[FunctionModel], FunctionModel]:
    """Register the model of a function under the names that programs write."""

    def register(model: FunctionModel) -> FunctionModel:
        for name in names:
            _functions[name] = model
        return model

    return register


def family(find: Callable[[str], FunctionModel | None]) -> Callable[[str], FunctionModel | None]:
    """Register a rule that gives the models of many functions by their names; it is asked after `@function`."""
    _families.append(find)
    return find


def class_(*names: str) -> Callable[[Model], Model]:
    """Register the model of a class under the names that programs write."""

    def register(model: Model) -> Model:
        for name in names:
            _classes[name] = model
        return model

    return register


def harmless(*names: str, prefixes: tuple[str, ...] = ()) -> None:
    """Register functions, objects and types that keep and change no pointer or handle."""
    _harmless.update(names)
    _harmless_prefixes.extend(prefixes)


def _short(name: str) -> str:
    return name[5:] if name.startswith("std::") else name


def find_function(name: str) -> FunctionModel | None:
    """Return the model of a function."""
    _load()
    if name.startswith("::"):
        name = name[2:]
    found = _functions.get(name) or _functions.get(_short(name))
    if found is None:
        found = next((model for find in _families if (model := find(name)) is not None), None)
    return found


def is_harmless(name: str) -> bool:
    """Tell whether a call by this name keeps and changes no pointer or handle."""
    _load()
    name = name.removeprefix("::")
    return name in _harmless or _short(name) in _harmless or name.startswith(tuple(_harmless_prefixes))


def is_harmless_type(name: str) -> bool:
    """Tell whether constructing an object of this unseen type changes nothing of interest."""
    return is_harmless(name)


def _class(name: str) -> Any:
    _load()
    return _classes.get(name) or _classes.get(f"std::{name}")


def is_class(name: str) -> bool:
    """Tell whether a class has a model."""
    return _class(name) is not None


def create(machine: Machine, type: CType) -> LibraryObject:
    """Return an object of a modelled class before its constructor has run."""
    made: LibraryObject = _class(type.name).construct(machine, type, [], None, None, False)
    return made


def construct(
    machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell, braced: bool = False
) -> Value:
    """Run a modelled class's constructor."""
    model = _class(type.name)
    made: Value = model.construct(machine, type, operands, span, cell, braced)
    return made


def unknown(machine: Machine, type: CType, name: str, origin: Origin) -> LibraryObject:
    """Return an object of a modelled class that came from code nobody can see."""
    made: LibraryObject = _class(type.name).unknown(machine, type, name, origin)
    return made


def accepts(type_name: str, value: LibraryObject) -> bool:
    """Tell whether an object is of the named class."""
    return isinstance(value, _class(type_name))


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


def constant(name: str) -> Any:
    """Return the value of a constant of the standard headers; None if it is not known."""
    _load()
    return _constants.get(name)


def constants(values: dict[str, Any]) -> None:
    """Register constants of the standard headers."""
    _constants.update(values)


_OBJECT_SIZES = {
    "std::vector": 24, "std::string": 32, "std::unique_ptr": 8, "std::shared_ptr": 16, "std::function": 32,
    "std::mutex": 40, "std::thread": 8, "std::map": 48, "std::unordered_map": 56, "std::atomic": 8,
}  # fmt: skip


def object_size(type_name: str) -> int | None:
    """Return the bytes of an object of the library, as libstdc++ has them; None if they are not known."""
    return _OBJECT_SIZES.get(type_name) or _OBJECT_SIZES.get(f"std::{type_name}")
