"""The classes of both modules by name, made when they are first asked for."""

from __future__ import annotations

from enum import IntEnum
from functools import cache, partial
from threading import RLock
from typing import Any

from msgspec.structs import replace

from streamsan.platforms.python_bindings import Catalogue, ModuleName, catalogue
from streamsan.sim.bindings import structure_fields
from streamsan.sim.bindings.addresses import address_of
from streamsan.sim.bindings.enums import enumeration, member
from streamsan.sim.bindings.handle_classes import Opaque, handle_class
from streamsan.sim.bindings.structure_classes import Structure, alignment_of, nested, structure_class
from streamsan.sim.bindings.structure_fields import Field, is_integer_word

Kind = type[IntEnum] | type[Opaque] | type[Structure]

UNIONS = ("anon_union", "cudaGraphNodeParams", "CUgraphNodeParams", "AttributeValue", "AttrValue", "BatchMemOpParams")
_ALIASES = {"char": "unsigned char", "unsigned": "unsigned int", "uint64_t": "size_t"}
KERNEL_PARAMETERS = "kernelParams"
_LOCK = RLock()


class KeptParameters(int):
    """The `kernelParams` of a structure that GetParams returned: an address inside the driver."""


@cache
def find(module: ModuleName, name: str) -> Kind | None:
    """Return the class of a name, in this module or in the other one; None if there is none."""
    other: ModuleName = "driver" if module == "runtime" else "runtime"
    for place in (module,) if name.startswith("anon_") else (module, other):
        kind = own(place, name)
        if kind is not None:
            return kind
    return None


def own(module: ModuleName, name: str) -> Kind | None:
    """Return the class of a name in this module; None if it has none."""
    # Two threads that ask at once must get the same class.
    with _LOCK:
        return _own(module, name)


@cache
def _own(module: ModuleName, name: str) -> Kind | None:
    entries = catalogue(module)
    if name in entries.enums:
        return enumeration(module, name, entries.enums[name], entries.major)
    if name in entries.handles:
        base, style = entries.handles[name]
        return handle_class(module, name, _opaque(module, base), style == "x")
    if name in entries.structures:
        return _structure(entries, name)
    return None


def _opaque(module: ModuleName, base: str) -> type[Opaque] | None:
    kind = find(module, base) if base else None
    return kind if isinstance(kind, type) and issubclass(kind, Opaque) else None


def _structure(entries: Catalogue, name: str) -> type[Structure]:
    base_name, attributes = entries.structures[name]
    base = find(entries.module, base_name) if base_name else None
    fields = {entry[0]: _field(entries, *entry) for entry in attributes}
    above = base if isinstance(base, type) and issubclass(base, Structure) else None
    union = any(word in name for word in UNIONS)
    size = entries.sizes.get(name, 0)
    return structure_class(entries.module, name, above, above._fields if above else fields, union, size)


def _field(entries: Catalogue, name: str, word: str, shape: str = "") -> Field:
    if name == KERNEL_PARAMETERS:
        kept = structure_fields.converted(lambda value: value, 8, show=_shown_parameters, to_int=_no_number)
        return replace(kept, is_address=True)
    if shape == "@":
        return _address()
    if shape.startswith("="):
        return structure_fields.number(word, int(shape[1:]))
    if shape.startswith("b["):
        return structure_fields.text(int(shape[2:-1]))
    inner = word.removeprefix("list[").removesuffix("]")
    if shape == "*":
        return structure_fields.list_elsewhere(_single(entries, inner))
    if shape:
        item = _single(entries, inner)
        return structure_fields.array(item, int(shape[1:-1]), alignment_of(item))
    return _single(entries, "unsigned char" if word == "bytes" else word)


def _single(entries: Catalogue, word: str) -> Field:
    word = _ALIASES.get(word, word)
    if is_integer_word(word):
        return structure_fields.number(word)
    if word == "float":
        return structure_fields.real()
    if word in entries.structures or word.startswith(("anon_", "CUstreamMemOp")):
        return nested(partial(_nested, entries.module, word))
    kind = find(entries.module, word) if word != "Any" else None
    if isinstance(kind, type) and issubclass(kind, IntEnum):
        return structure_fields.converted(int, 4, show=partial(member, kind))
    if isinstance(kind, type) and issubclass(kind, Opaque):
        accept: Any = partial(_as_handle, kind)
        return structure_fields.converted(accept, entries.sizes.get(word, 8))
    if isinstance(kind, type) and issubclass(kind, Structure):
        return nested(partial(_nested, entries.module, word))
    return _address()


def _address() -> Field:
    return replace(structure_fields.converted(address_of, 8), is_address=True)


def _nested(module: ModuleName, word: str) -> type[Structure]:
    kind = find(module, word)
    assert isinstance(kind, type)
    assert issubclass(kind, Structure)
    return kind


def _as_handle(kind: type[Opaque], value: object) -> Opaque:
    return kind(0 if value is None else value)


def _shown_parameters(value: object) -> object:
    return value if isinstance(value, int) else 0 if value is None else id(value)


def _no_number(value: object) -> int:
    return value if isinstance(value, int) else 0
