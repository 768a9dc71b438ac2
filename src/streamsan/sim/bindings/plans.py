"""How the C parameters of a function, its Python parameters and the results of a call belong together."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from streamsan.effects import Api, Parameter, Signature
from streamsan.platforms import CUDA
from streamsan.platforms.python_bindings import FunctionEntry, Item, ModuleName
from streamsan.sim.bindings.arguments import Converter, converter
from streamsan.sim.bindings.class_index import find
from streamsan.sim.bindings.exceptions import RETURNED, UNLIKE_C
from streamsan.sim.bindings.structure_fields import is_integer_word

_COUNTS = ("num", "count", "nb")


class Slot(Struct, frozen=True):
    """One parameter of the C function."""

    name: str
    """as the effects table has it"""
    argument: int | None = None
    """position of the Python argument that it takes; None: only a result comes through it"""
    convert: Converter | None = None
    capacity: bool = False
    """The argument says how many entries of the lists are wanted; all of them are counted."""


class Plan(Struct, frozen=True):
    """Everything that a call of a function needs to know."""

    module: ModuleName
    entry: FunctionEntry
    api: Api | None
    signature: Signature | None
    slots: tuple[Slot, ...]
    returned: tuple[tuple[Item, str], ...]
    """each result and the C parameter that it comes through"""
    counts: tuple[tuple[int, int], ...]
    """(position of a list argument, position of the argument that says how many of its entries count)"""

    @property
    def name(self) -> str:
        """The function's name."""
        return self.entry.name

    def position(self, name: str) -> int:
        """Return where a Python parameter stands. Raises KeyError."""
        for position, item in enumerate(self.entry.parameters):
            if item.name == name:
                return position
        raise KeyError(name)


def plan_of(module: ModuleName, entry: FunctionEntry) -> Plan:
    """Return the plan of a function."""
    api = CUDA.effects.find(entry.name)
    signature = _signature(api, entry)
    c_names = [item.name for item in entry.c_parameters]
    arguments = _matched([item.name for item in entry.parameters], c_names)
    returned = RETURNED.get(entry.name, entry.returned)
    results = _matched([item.name for item in returned], c_names, set(arguments) - set(_in_out(entry)))
    slots = []
    for position, c_item in enumerate(entry.c_parameters):
        parameter = signature.parameters[position] if signature is not None else None
        slots.append(_slot(module, entry, c_item, parameter, arguments.get(position)))
    through = {taken: slots[position].name for position, taken in results.items()}
    if any(item.word.startswith("list[") for item in returned):
        slots = [replace(slot, capacity=slot.argument is not None and at in results) for at, slot in enumerate(slots)]
    named = tuple((item, through.get(index, item.name)) for index, item in enumerate(returned))
    return Plan(module, entry, api, signature, tuple(slots), named, tuple(_counted(entry)))


def _slot(
    module: ModuleName, entry: FunctionEntry, c_item: Item, parameter: Parameter | None, argument: int | None
) -> Slot:
    name, c_word = parameter.name if parameter is not None else c_item.name, c_item.word
    if argument is None:
        return Slot(name)
    return Slot(name, argument, converter(module, _typed(module, entry.parameters[argument], c_word), parameter))


def _typed(module: ModuleName, item: Item, c_word: str) -> Item:
    """Some parameters have no type in their description; the C function's tells what they are."""
    c_word = c_word.removeprefix("const ")
    if item.word == "Any" and (is_integer_word(c_word) or find(module, c_word) is not None):
        return Item(item.name, c_word, item.default)
    return item


def _signature(api: Api | None, entry: FunctionEntry) -> Signature | None:
    """Return the published argument list that is the C function's: as many parameters, and the most names in common."""
    if api is None:
        return None
    names = [_plain(item.name) for item in entry.c_parameters]
    fitting = [version for version in api.versions if len(version.parameters) == len(names)]
    if not fitting:
        return None

    def agreement(version: Signature) -> int:
        return sum(_plain(one.name) == name for one, name in zip(version.parameters, names, strict=True))

    return max(fitting, key=agreement)


def _in_out(entry: FunctionEntry) -> list[int]:
    """Return positions of C parameters that are read and then overwritten."""
    returned = {item.name for item in RETURNED.get(entry.name, entry.returned)}
    taken = {item.name for item in entry.parameters}
    return [position for position, item in enumerate(entry.c_parameters) if item.name in returned & taken]


def _matched(names: list[str], c_names: list[str], barred: set[int] | None = None) -> dict[int, int]:
    """Return position in C -> position in `names`: the same name first, then what is left, in order."""
    barred = barred or set()
    found: dict[int, int] = {}
    left = []
    for index, name in enumerate(names):
        same = [at for at, c_name in enumerate(c_names) if _plain(c_name) == _plain(name) and at not in barred]
        if same and same[0] not in found:
            found[same[0]] = index
        else:
            left.append(index)
    for index in left:
        free = [at for at in range(len(c_names)) if at not in found and at not in barred]
        nearest = [at for at in free if _alike(c_names[at], names[index])] or free
        if nearest:
            found[nearest[0]] = index
    return found


def _plain(name: str) -> str:
    name = name.rstrip("_")
    return UNLIKE_C.get(name, name)


def _alike(first: str, second: str) -> bool:
    return first.lower().strip("_") == second.lower().strip("_") or second.lower() in first.lower()


def _counted(entry: FunctionEntry) -> list[tuple[int, int]]:
    result = []
    for position, item in enumerate(entry.parameters):
        if item.word.startswith("list["):
            counts = [at for at in range(position + 1, len(entry.parameters)) if _is_count(entry.parameters[at])]
            if counts:
                result.append((position, counts[0]))
    return result


def _is_count(item: Item) -> bool:
    return item.name.lower().startswith(_COUNTS) and not item.word.startswith("list[")
