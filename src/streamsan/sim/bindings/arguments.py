"""How a Python argument becomes what the model is given: a value, and the fields of what it points to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum
from functools import partial

from streamsan.effects import POINTER_ROLES, Parameter, Role
from streamsan.model.values import HandleType, Value
from streamsan.platforms.python_bindings import Item, ModuleName
from streamsan.sim.bindings.addresses import address_of, number_of, value_of
from streamsan.sim.bindings.class_index import find
from streamsan.sim.bindings.handle_classes import Opaque, handle_type, model_handle
from streamsan.sim.bindings.structure_classes import Structure, checked
from streamsan.sim.bindings.structure_fields import integer, is_integer_word

Fields = dict[str, Value]
Converted = tuple[Value, Fields | None]
Converter = Callable[[object], Converted]
"""Raises TypeError, OverflowError or ValueError for what cuda.bindings would not accept either."""

PRESENT, NULL = 1, 0
OPERATION = "operation"
_KERNELS_OWN = ("kernelParams", "extra")
"""Fields that go to the model by themselves, as `kernel_arguments`."""
_ADDRESSES = POINTER_ROLES | {Role.USE, Role.USER_DATA}


def converter(module: ModuleName, item: Item, parameter: Parameter | None) -> Converter:
    """Return how arguments for one parameter are converted. `parameter`: what the effects table says of it."""
    word = item.word.removesuffix("?")
    if parameter is not None and parameter.role is Role.KERNEL_ARGUMENTS:
        return _kernel_parameters
    if parameter is not None and parameter.role is Role.IN_OUT:
        return partial(_variable, converter(module, item, None))
    if word.startswith("list["):
        return partial(_list, item.name, _item_converter(module, item.name, word[5:-1]))
    if is_integer_word(word) or word in ("unsigned", "void_ptr"):
        return _integer(word, parameter)
    if word == "float":
        return _real
    if word in ("char *", "char*", "bytes"):
        return partial(_text, item.name)
    kind = find(module, word) if word != "Any" else None
    if kind is None:
        return _address
    if issubclass(kind, IntEnum):
        return partial(_enumerator, item.name)
    if issubclass(kind, Structure):
        return partial(_structure, item.name, kind, item.word.endswith("?"), _first_is_pointer(parameter))
    return _handle(kind, parameter)


# -- numbers ----------------------------------------------------------------------------------------
def _integer(word: str, parameter: Parameter | None) -> Converter:
    if word == "void_ptr":
        return _address
    c_word = "unsigned int" if word == "unsigned" else word
    if parameter is not None and parameter.role in _ADDRESSES:
        return _address
    return lambda value: (integer(c_word, value), None)


def _real(value: object) -> Converted:
    if not hasattr(type(value), "__float__"):
        raise TypeError(f"must be real number, not {type(value).__name__}")
    return float(value), None  # type: ignore[arg-type]


def _enumerator(name: str, value: object) -> Converted:
    if value is None:
        raise TypeError(f"Argument '{name}' must not be None")
    return int(value), None  # type: ignore[call-overload]


def _text(name: str, value: object) -> Converted:
    if value is None:
        return NULL, None
    if not isinstance(value, bytes | bytearray):
        raise TypeError(f"expected bytes, {type(value).__name__} found")
    return bytes(value).decode("utf-8", "replace"), None


def _kernel_parameters(value: object) -> Converted:
    """They go to the model by themselves, as `kernel_arguments`."""
    return (NULL if value is None or (isinstance(value, int) and value == 0) else PRESENT), None


def _variable(convert: Converter, value: object) -> Converted:
    """A variable that the call reads and writes: the address of one in C."""
    return PRESENT, {"value": convert(value)[0]}


def _address(value: object) -> Converted:
    return value_of(address_of(value)), None


# -- handles ----------------------------------------------------------------------------------------
def _handle(kind: type[Opaque], parameter: Parameter | None) -> Converter:
    if kind._signed:
        return lambda value: (kind._accepted(0 if value is None else value), None)
    word = handle_type(kind)
    if parameter is not None and parameter.role is Role.HANDLE:
        word = _named(parameter.handle, word)
    elif parameter is not None and parameter.role in _ADDRESSES:
        word = None
    if word is None:
        return _number
    return partial(_handle_value, word)


def _named(word: str, by_class: HandleType | None) -> HandleType:
    """The table says of every handle what it is; where it says "other" the class may know better."""
    return by_class if word == "other" and by_class is not None else word  # type: ignore[return-value]


def _handle_value(word: HandleType, value: object) -> Converted:
    return model_handle(0 if value is None else number_of(value), word), None


def _number(value: object) -> Converted:
    return value_of(0 if value is None else number_of(value)), None


# -- structures -------------------------------------------------------------------------------------
def _first_is_pointer(parameter: Parameter | None) -> bool:
    return parameter is not None and parameter.role is Role.PITCHED


def _structure(name: str, kind: type[Structure], optional: bool, pitched: bool, value: object) -> Converted:
    if value is None and optional:
        return NULL, None
    fields = flat(checked(name, value, kind))
    return (fields["ptr"] if pitched else PRESENT), fields


def flat(structure: Structure) -> Fields:
    """Return the fields of a structure by their path: `{"srcPtr.ptr": ..., "extent.width": ...}`.

    Members of a union that nobody touched are left out.
    """
    return dict(_walk(structure, ""))


def _walk(structure: Structure, prefix: str) -> Iterator[tuple[str, Value]]:
    if structure._union and OPERATION in structure._fields and not structure._touched(OPERATION):
        structure._values[OPERATION] = _operation(structure)
    for name in structure._fields:
        if name in _KERNELS_OWN:
            continue
        if structure._union and not structure._touched(name):
            continue
        yield from _leaves(structure._kept(name), prefix + name)


def _operation(structure: Structure) -> object:
    """Every member of a batched memory operation begins with the operation: one storage."""
    members = (value for value in structure._values.values() if isinstance(value, Structure))
    return next((member._kept(OPERATION) for member in members), 0)


def _leaves(value: object, path: str) -> Iterator[tuple[str, Value]]:
    if isinstance(value, Structure):
        yield from _walk(value, path + ".")
    elif isinstance(value, list | tuple):
        for index, entry in enumerate(value):
            yield from _leaves(entry, f"{path}.{index}")
    elif isinstance(value, Opaque):
        word = handle_type(type(value))
        yield path, value_of(value._number) if word is None else model_handle(value._number, word)
    elif isinstance(value, int):
        yield path, value_of(value)
    elif isinstance(value, float):
        yield path, value


# -- lists ------------------------------------------------------------------------------------------
def _list(name: str, convert: Callable[[object], Converted], value: object) -> Converted:
    fields: Fields = {}
    entries = list(value) if value is not None else []  # type: ignore[call-overload]
    for index, entry in enumerate(entries):
        converted, parts = convert(entry)
        if parts is None:
            fields[str(index)] = converted
        else:
            fields |= {f"{index}.{key}": part for key, part in parts.items()}
    return (PRESENT if entries else NULL), fields


def _item_converter(module: ModuleName, name: str, word: str) -> Callable[[object], Converted]:
    if word == "Any":
        return _any
    kind = find(module, word)
    if kind is None or issubclass(kind, IntEnum):
        return lambda value: (int(value), None)  # type: ignore[call-overload]
    return partial(_instance, name, kind)


def _any(value: object) -> Converted:
    """An entry that may be anything: an address, an option's value."""
    return (value, None) if isinstance(value, float) else _address(value)


def _instance(name: str, kind: type[Structure] | type[Opaque], value: object) -> Converted:
    related = isinstance(value, kind) or (isinstance(value, Structure | Opaque) and issubclass(kind, type(value)))
    if not related:
        expected = f"{kind.__module__}.{kind.__name__}"
        raise TypeError(f"Argument '{name}' is not instance of type (expected tuple[{expected}] or list[{expected}])")
    if isinstance(value, Structure):
        return PRESENT, flat(value)
    assert isinstance(value, Opaque)
    word = handle_type(type(value))
    return (value_of(value._number) if word is None else model_handle(value._number, word)), None
