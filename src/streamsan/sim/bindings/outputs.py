"""How what a call gave back becomes what a function of cuda.bindings returns."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from enum import IntEnum

from streamsan.model.values import Handle, Pointer, Value
from streamsan.platforms.python_bindings import Item, ModuleName
from streamsan.sim.bindings import ipc
from streamsan.sim.bindings.addresses import DevicePointer
from streamsan.sim.bindings.class_index import Kind, find
from streamsan.sim.bindings.enums import member
from streamsan.sim.bindings.handle_classes import names_something
from streamsan.sim.bindings.structure_classes import Structure

Outputs = Mapping[str, Value]

_HANDLES = ("Ipc", "ipc", "PtrExportData")
"""in the names of structures that hold what another process is to open"""
_fresh = itertools.count(0x7E00_0000_0000, 0x40)


def result(module: ModuleName, item: Item, name: str, outputs: Outputs) -> object:
    """Return one result. `name` is the C parameter it came through; what the model does not know is 0."""
    word = item.word
    if word.startswith("list["):
        return _list(module, word[5:-1], name, outputs)
    value = outputs.get(name)
    if word == "float":
        return float(value) if isinstance(value, int | float) else 0.0
    if word == "bytes":
        return _bytes(value)
    kind = find(module, word) if word != "Any" else None
    if kind is not None and issubclass(kind, Structure):
        return structure_of(kind, name, outputs)
    return convert(kind, value)


def convert(kind: Kind | None, value: Value) -> object:
    """Return a value with a class (None: a plain number)."""
    number = plain(value)
    if kind is None or issubclass(kind, Structure):
        return number
    if issubclass(kind, IntEnum):
        return member(kind, number)
    if not isinstance(value, int | Pointer | Handle) and names_something(kind):
        # A handle that the model keeps no account of must still differ from NULL and from the others.
        number = next(_fresh)
    return kind(number)


def plain(value: Value) -> int:
    """Return a number for any value: 0 for what is not known."""
    if isinstance(value, Pointer):
        return DevicePointer(value)
    if isinstance(value, Handle):
        return value.value
    return int(value) if isinstance(value, int | float) else 0


def _bytes(value: Value) -> bytes:
    return value.encode() if isinstance(value, str) else b""


def _list(module: ModuleName, word: str, name: str, outputs: Outputs) -> list[object]:
    kind = find(module, word) if word not in ("Any", "int") else None
    found: list[object] = []
    for index in itertools.count():
        key = f"{name}.{index}"
        if kind is not None and issubclass(kind, Structure):
            if not any(part.startswith(key + ".") for part in outputs):
                return found
            found.append(structure_of(kind, key, outputs))
        elif key in outputs:
            found.append(convert(kind, outputs[key]))
        else:
            return found
    return found


def structure_of(kind: type[Structure], name: str, outputs: Outputs) -> Structure:
    """Return a structure filled with the outputs whose names begin with `name.`."""
    made = kind()
    whole = outputs.get(name)
    if isinstance(whole, Pointer) and "ptr" in kind._fields:
        made._values["ptr"] = DevicePointer(whole)
    elif any(word in kind.__name__ for word in _HANDLES):
        prefix = name + "."
        ipc.write(made, {key[len(prefix) :]: value for key, value in outputs.items() if key.startswith(prefix)})
    fill(made, name, outputs)
    return made


def fill(structure: Structure, name: str, outputs: Outputs) -> None:
    """Set the attributes that outputs name: `name.location.id`, `name.phGraph_out.0`."""
    prefix = name + "."
    for key, value in outputs.items():
        if key.startswith(prefix):
            _set(structure, key[len(prefix) :].split("."), value)


def _set(target: object, path: list[str], value: Value) -> None:
    for step, word in enumerate(path[:-1]):
        if word.isdecimal():
            return
        following = getattr(target, word, None)
        if isinstance(following, list) and path[step + 1].isdecimal() and isinstance(target, Structure):
            _set_entry(target, word, int(path[step + 1]), value)
            return
        target = following
    if isinstance(target, Structure) and path[-1] in target._fields:
        field = target._fields[path[-1]]
        target._put(path[-1], field.accept(_raw(value)))


def _raw(value: Value) -> object:
    return value.encode() if isinstance(value, str) else value if isinstance(value, float) else plain(value)


def _set_entry(target: Structure, word: str, index: int, value: Value) -> None:
    """Set one entry of a list, which grows as far as needed."""
    field = target._fields[word]
    item = getattr(field, "item", None)
    kept = target._kept(word)
    if item is None or not isinstance(kept, list) or index > len(kept) + 64:
        return
    while len(kept) <= index:
        kept.append(item.default())
    kept[index] = item.accept(_raw(value))
