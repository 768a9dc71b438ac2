"""Conditions that are known: what they are about, and what the knowledge rests on."""

from __future__ import annotations

from collections.abc import Callable

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import Cell, MacroArgument, Status, Term
from streamsan.cuda_source.values.success import Success, is_status_type, means_success
from streamsan.cuda_source.values.types import CType
from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.walk import nodes
from streamsan.model.values import Symbol


def is_about_success(machine: Machine, condition: tree.Expression) -> bool:
    """Tell whether a condition is about a status: the branch of the failure is not explored."""
    return _any_part(machine, condition, _tells_success)


def _tells_success(machine: Machine, part: object) -> bool:
    if isinstance(part, tree.Call) and isinstance(part.callee, tree.Name):
        return machine.api.is_api(part.callee.name)
    if not isinstance(part, tree.Name):
        return False
    cell = machine.find(part.name)
    held = cell.value if isinstance(cell, Cell) else None
    if means_success(part.name) or isinstance(held, Status | Success):
        return True
    return isinstance(cell, Cell) and is_status_type(cell.type.name)


def is_supposed(machine: Machine, condition: tree.Expression) -> bool:
    """Tell whether a condition rests on what was only supposed: what pointers are, and how long a loop is."""
    if machine.decisions.supposes_pointers:
        return True
    if not machine.supposed_bounds:
        return False
    return _any_part(machine, condition, lambda _, part: _unknown(machine, part) in machine.supposed_bounds)


def rests_on_unknown(machine: Machine, condition: tree.Expression) -> bool:
    """Tell whether a condition names what was unknown in the beginning: then the path itself decided about it."""
    return _any_part(machine, condition, lambda _, part: _unknown(machine, part) is not None)


def may_be_wrong(machine: Machine, condition: tree.Expression) -> bool:
    """Tell whether what is known of a condition may be wrong: it is not, of constants, and of what the path decided.

    What the reader knows of a variable may miss an effect of a library that it does not model.
    """
    return not rests_on_unknown(machine, condition) and _any_part(machine, condition, _varies)


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


def _unknown(machine: Machine, part: object) -> Symbol | Term | None:
    """Return what is not known that a name stands for."""
    cell = machine.find(part.name) if isinstance(part, tree.Name) else None
    return cell.value if isinstance(cell, Cell) and isinstance(cell.value, Symbol | Term) else None


def _any_part(machine: Machine, root: object, holds: Callable[[Machine, object], bool]) -> bool:
    """Tell whether something holds of any part of a condition, or of what a macro's parameter in it stands for."""
    for part in nodes(root):
        if holds(machine, part):
            return True
        given = machine.find(part.name) if isinstance(part, tree.Name) else None
        if isinstance(given, MacroArgument) and machine.macros.in_scope_of(
            given, lambda expressions: _any_part(machine, expressions, holds)
        ):
            return True
    return False
