"""How a kernel uses the variables of the device that its text names: no argument leads to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.walk import nodes
from streamsan.kernels.first_thread import surely_touched
from streamsan.kernels.pointer_uses import AccessWalk, Functions, use_of
from streamsan.kernels.polled_words import polled_words
from streamsan.kernels.uses import Use
from streamsan.kernels.waiting import UnitTexts

_ON_THE_DEVICE: Final = ("device", "constant", "managed")
_MOST_FUNCTIONS: Final = 64


def device_variables(unit: tree.Unit) -> dict[str, tree.Variable]:
    """Return a unit's `__device__`, `__constant__` and `__managed__` variables by name, with namespaces and without.

    Left out are pointers (what they lead to is other memory), and names that several variables have.
    """
    found: dict[str, tree.Variable] = {}
    twice: set[str] = set()
    for node in unit.declarations:
        if isinstance(node, tree.Variable) and node.device in _ON_THE_DEVICE and not node.type.pointers:
            for name in {node.name, node.name.rpartition("::")[2]}:
                if name in found:
                    twice.add(name)
                found[name] = node
    return {name: node for name, node in found.items() if name not in twice}


def variable_uses(
    function: tree.Function,
    functions: Functions,
    macros: dict[str, tree.Macro],
    variables: Mapping[str, tree.Variable],
) -> dict[str, Use]:
    """Return how a kernel, and what it calls, uses variables of the device; those that it never uses are left out."""
    used: dict[str, int] = {}
    for each in reached(function, functions):
        own = _named(each, variables)
        if own:
            for name, found in AccessWalk(_given(each, own, whole=True), functions, macros, 1).run().items():
                if name in own:
                    used[name] = used.get(name, 0) | found
    arrays = {name: node for name, node in _named(function, variables).items() if node.type.array}
    touched = surely_touched(_given(function, arrays, whole=False), functions, macros)
    return {name: use_of(found, name, touched) for name, found in used.items() if found}


def polled_variables(
    function: tree.Function,
    functions: Functions,
    macros: dict[str, tree.Macro],
    variables: Mapping[str, tree.Variable],
    texts: UnitTexts,
) -> dict[str, bool]:
    """Return the variables of the device that a kernel, or what it calls, polls; as `polled_words`."""
    found: dict[str, bool] = {}
    for each in reached(function, functions) if variables else ():
        own = _named(each, variables)
        if own:
            polled = polled_words(_given(each, own, whole=True), functions, macros, texts, 1)
            found.update({name: same for name, same in polled.items() if name in own})
    return found


def reached(function: tree.Function, functions: Functions) -> Iterable[tree.Function]:
    """Yield a function, and those that it calls, each once."""
    pending, seen = [function], {id(function)}
    while pending and len(seen) <= _MOST_FUNCTIONS:
        each = pending.pop()
        yield each
        called = (node.callee.name for node in nodes(each.body) if _calls(node))  # type: ignore[attr-defined]
        for callee in (callee for name in called for callee in functions.get(name, ())):
            if id(callee) not in seen:
                seen.add(id(callee))
                pending.append(callee)


def _calls(node: object) -> bool:
    return isinstance(node, tree.Call) and isinstance(node.callee, tree.Name)


def _named(function: tree.Function, variables: Mapping[str, tree.Variable]) -> dict[str, tree.Variable]:
    """Return the variables that a function's body names, and that none of its own names hides."""
    if function.body is None:
        return {}
    names: set[str] = set()
    hidden = {parameter.name for parameter in function.parameters}
    for node in nodes(function.body):
        if isinstance(node, tree.Name):
            names.add(node.name)
        elif isinstance(node, tree.Variable):
            hidden.update((node.name, *node.bindings))
    return {name: variables[name] for name in sorted(names & variables.keys() - hidden)}


def _given(function: tree.Function, variables: Mapping[str, tree.Variable], *, whole: bool) -> tree.Function:
    """Return a function that takes variables as parameters: arrays as pointers, others (`whole`) by reference."""
    extra = [
        tree.Parameter(
            name,
            replace(node.type, pointers=1, array=[], const=node.type.const or node.device == "constant")
            if node.type.array
            else replace(node.type, reference="&", const=node.type.const or node.device == "constant"),
        )
        for name, node in variables.items()
        if whole or node.type.array
    ]
    return replace(function, parameters=[*function.parameters, *extra])
