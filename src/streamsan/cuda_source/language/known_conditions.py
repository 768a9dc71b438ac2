"""Conditions that are known: what they are about, and what the knowledge rests on."""

from __future__ import annotations

from collections.abc import Iterator

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import Cell, Status, Term, Value
from streamsan.cuda_source.values.success import Success, is_status_type, means_success
from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.walk import nodes
from streamsan.model.values import Symbol


def is_about_success(machine: Machine, condition: tree.Expression) -> bool:
    """Tell whether a condition is about a status: the branch of the failure is not explored."""
    for part in nodes(condition):
        if isinstance(part, tree.Call) and isinstance(part.callee, tree.Name):
            if machine.api.is_api(part.callee.name):
                return True
        elif isinstance(part, tree.Name):
            cell = machine.find(part.name)
            held = cell.value if isinstance(cell, Cell) else None
            if means_success(part.name) or isinstance(held, Status | Success):
                return True
            if isinstance(cell, Cell) and is_status_type(cell.type.name):
                return True
    return False


def is_supposed(machine: Machine, condition: tree.Expression) -> bool:
    """Tell whether a condition rests on what was only supposed: what pointers are, and how long a loop is."""
    if machine.decisions.supposes_pointers:
        return True
    if not machine.supposed_bounds:
        return False
    return any(value in machine.supposed_bounds for value in _unknowns(machine, condition))


def rests_on_unknown(machine: Machine, condition: tree.Expression) -> bool:
    """Tell whether a condition names what was unknown in the beginning: then the path itself decided about it."""
    return any(True for _ in _unknowns(machine, condition))


def _unknowns(machine: Machine, condition: tree.Expression) -> Iterator[Value]:
    for name in machine.relevance.names_in(condition):
        cell = machine.find(name)
        if isinstance(cell, Cell) and isinstance(cell.value, Symbol | Term):
            yield cell.value
