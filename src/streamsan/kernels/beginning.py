"""What a kernel does with its parameters' memory before it may wait for the kernel before it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from streamsan.cuda_syntax.tree import Block, Function, Lambda, Statement, Unit, Variable
from streamsan.cuda_syntax.walk import nodes
from streamsan.kernels.access import kernel_atomics, kernel_touches, named_accesses
from streamsan.kernels.waiting import Texts
from streamsan.vocabulary import AccessMode, SlotFlag


@dataclass(frozen=True, slots=True)
class KernelBeginning:
    """The part of a kernel that surely runs before any wait for the kernel before it."""

    whole: bool
    """nothing in the kernel waits"""
    uses: dict[str, tuple[AccessMode, int]]
    """what that part does with the memory of pointer parameters: mode, and SlotFlag.TOUCHES and ATOMIC"""


def kernel_beginning(function: Function, unit: Unit, texts: Texts) -> KernelBeginning | None:
    """Return what a kernel does before it may wait.

    None: it waits before it does anything, or nobody knows: there is no body, or not all that it calls is known.
    """
    if function.body is None:
        return None
    found = texts.beginning(function)
    if found is None:
        return None
    if found.end is None:
        return KernelBeginning(True, {})
    file = function.body.span.file
    first: list[Statement] = []
    for statement in function.body.body:
        span = statement.span
        if span.file != file or texts.offset(file, span.end_line, span.end_column) > found.end or _defers(statement):
            break
        first.append(statement)
    part = replace(function, body=Block(function.body.span, first))
    uses = {}
    atomics, touched = kernel_atomics(part, unit), kernel_touches(part, unit)
    for name, mode in named_accesses(part, unit).items():
        flags = SlotFlag.TOUCHES if name in touched else 0
        uses[name] = (mode, flags | SlotFlag.ATOMIC if name in atomics else flags)
    return KernelBeginning(False, uses) if uses or found.triggers else None


def _defers(statement: Statement) -> bool:
    """Tell whether what a statement names may be accessed later only: in a lambda, by a reference."""
    return any(
        isinstance(node, Lambda) or (isinstance(node, Variable) and bool(node.type.reference))
        for node in nodes(statement)
    )
