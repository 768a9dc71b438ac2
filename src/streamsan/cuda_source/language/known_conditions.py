"""Conditions that are known: what they are about, and what the knowledge rests on."""

from __future__ import annotations

from collections.abc import Iterator

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import Cell, Status, Term, Value
from streamsan.cuda_source.values.success import Success, is_status_type, means_success
from streamsan.cuda_source.values.types import CType
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


def may_be_wrong(machine: Machine, condition: tree.Expression) -> bool:
    """Tell whether what is known of a condition may be wrong: it is not, of constants, and of what the path decided.

    What the reader knows of a variable may miss an effect of a library that it does not model.
    """
    return not rests_on_unknown(machine, condition) and any(_varies(machine, part) for part in nodes(condition))


def _varies(machine: Machine, part: object) -> bool:
    if isinstance(part, tree.Member | tree.Index | tree.Call):
        return True
    if not isinstance(part, tree.Name) or part.name in machine.program.macros:
        return False
    cell = machine.find(part.name)
    if isinstance(cell, Cell):
        return _may_change(cell.type)
    variable = machine.program.global_names.get(part.name)
    return variable is not None and _may_change(variable.type)


def _may_change(type: CType | tree.Type) -> bool:
    """Tell whether a variable's value may change: of a pointer, `const` is said of what it points to."""
    return not type.const or bool(type.pointers)


def _unknowns(machine: Machine, condition: tree.Expression) -> Iterator[Value]:
    for name in machine.relevance.names_in(condition):
        cell = machine.find(name)
        if isinstance(cell, Cell) and isinstance(cell.value, Symbol | Term):
            yield cell.value
