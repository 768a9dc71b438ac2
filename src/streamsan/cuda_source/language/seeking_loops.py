"""Short loops that seek something among the program's own data, or count it: a free slot, a power of two, a sum.

They issue nothing, but what they find is an index, or a count, that calls depend on: they are run turn by turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streamsan.cuda_source.library.host_data import memory_of
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.program.relevance import walk
from streamsan.cuda_source.values.cells import ElementPointer, LibraryObject, StructObject
from streamsan.cuda_syntax import tree

MOST_TURNS = 32


def counted_loop_seeks(machine: Machine, node: tree.For, turns_of: Callable[[tree.For], int | None]) -> bool:
    """Tell whether a `for` loop of few turns chooses, or sums up: it assigns what is used behind it."""
    relevance = machine.relevance
    if not relevance.keeps_what_it_finds(node.body):
        return False
    turns = turns_of(node)
    if turns is None or turns > MOST_TURNS or not _is_of_own_data(machine, node):
        return False
    return not relevance.leaves_early(node.body) or _is_decided(machine, node.body)


def while_loop_seeks(machine: Machine, node: tree.While) -> bool:
    """Tell whether a `while` loop goes on, or not, by numbers that are known."""
    relevance = machine.relevance
    if not relevance.keeps_what_it_finds(node.body) or relevance.assigned(node.condition):
        return False
    if not _is_of_own_data(machine, node):
        return False
    value = machine.expressions.condition(machine.expressions.operand(node.condition), node.condition.span)
    return machine.truth(value) is not None


def _is_decided(machine: Machine, body: tree.Statement) -> bool:
    """Tell whether the first branch of a body goes one way in the first turn: one that nobody decides would fork."""
    branch = next((part for part in walk(body) if isinstance(part, tree.If)), None)
    if branch is None or branch.init is not None or machine.relevance.expression_acts(branch.condition):
        return False
    names = machine.relevance.names_in(branch.condition)
    if machine.relevance.assigned(branch.condition) or not machine.relevance.declares(body).isdisjoint(names):
        return False
    value = machine.expressions.condition(machine.expressions.operand(branch.condition), branch.condition.span)
    return machine.truth(value) is not None


def _is_of_own_data(machine: Machine, node: tree.Statement) -> bool:
    """Tell whether all that a loop indexes is memory of which CUDA has seen nothing: no accesses of the host count."""
    relevance = machine.relevance
    varying = relevance.declares(node) | {each.name for each in relevance.assigned(node) if isinstance(each, tree.Name)}
    return all(_is_own(machine, base, varying) for base, _, _ in relevance.accessed(node))


def _is_own(machine: Machine, base: tree.Expression, varying: set[str]) -> bool:
    relevance = machine.relevance
    if not varying.isdisjoint(relevance.names_in(base)) or relevance.expression_acts(base):
        return False
    value: Any = memory_of(machine.expressions.value(base))
    if isinstance(value, ElementPointer):
        return value.array.host is None and value.array.symbol is None
    return isinstance(value, StructObject | LibraryObject)
