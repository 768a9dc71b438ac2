"""Which two operations a finding is about, and which of them goes ahead in the execution that goes wrong.

A finding about order says that one operation should be complete before another begins. The witness is an execution in
which it is not: the second goes ahead, the first comes behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from streamsan.order.facts import Operation
from streamsan.rules.case import Case
from streamsan.vocabulary import FactVariant, OperationKind, RelatedRole

USE, FREE = RelatedRole.USE, RelatedRole.FREE
NODES = (OperationKind.GRAPH_NODE, OperationKind.GRAPH_NODE_UPDATE)
"""Kinds of operations that stand for a node of a graph."""


class Harm(Enum):
    """What the wrong order does."""

    FREED = "the memory is freed, and used then"
    GONE = "the addresses lead nowhere, and are used then"
    NOT_YET = "the memory is used, and allocated then"
    CONFLICT = "the later access comes first"
    CHANGED = "the host reads or overwrites its memory, and the device accesses it then"


@dataclass(frozen=True, slots=True)
class Plan:
    """The wrong order of two operations."""

    ahead: Operation
    behind: Operation
    harm: Harm
    certain: bool = False
    """every execution has this order: the program itself asks for it"""
    inside: bool = False
    """both are nodes of one graph"""
    overtakes: bool = False
    """the one ahead is a kernel that need not wait for the end of the kernel before it"""


ORDERING = frozenset({101, 102, 103, 104, 107, 108, 109, 303, 304})
"""Rules (102 for SS102) whose findings are about the order of two operations."""


def plan_of(case: Case) -> Plan | str:
    """Return the wrong order of a case; where there is none, the reason in a clause."""
    operation, variant = case.operation, case.fact.variant
    use = case.first(USE, RelatedRole.OTHER)
    free = case.first(FREE, RelatedRole.RESET, RelatedRole.DESTROY)
    match case.fact.code:
        case 101:
            reset = free is not None and free.kind is not OperationKind.FREE
            return _or_unknown(free, operation, Harm.GONE if reset else Harm.FREED, certain=True)
        case 102 | 104 | 107 | 108:
            return _against_free_or_access(case, use)
        case 103:
            return _or_unknown(operation, case.first(RelatedRole.ALLOC), Harm.NOT_YET)
        case 109:
            inside = operation.kind in NODES
            overtakes = variant is FactVariant.CONFLICT_OVERTAKES
            return _or_unknown(operation, use, Harm.CONFLICT, inside=inside, overtakes=overtakes)
        case 303:
            reset = variant is FactVariant.STALE_RESET
            return _or_unknown(free, operation, Harm.GONE if reset else Harm.FREED, certain=True)
        case 304:
            return _graph_memory(case, use, free)
    return "the finding is not about the order of two operations"


def _against_free_or_access(case: Case, use: Operation | None) -> Plan | str:
    last = case.operation
    if last.kind is OperationKind.FREE:
        gone = case.fact.variant in (FactVariant.UNMAP, FactVariant.IPC_CLOSE, FactVariant.FREE_UNREGISTER)
        return _or_unknown(last, use, Harm.GONE if gone else Harm.FREED)
    if use is None:  # rests on an observed wait: a use that nothing promised puts behind the allocation
        return _or_unknown(last, case.first(RelatedRole.ALLOC), Harm.NOT_YET)
    if last.kind in (OperationKind.DEVICE_RESET, OperationKind.CONTEXT_DESTROY):
        return _or_unknown(last, use, Harm.GONE)
    return _or_unknown(last, use, Harm.CHANGED)


def _graph_memory(case: Case, use: Operation | None, free: Operation | None) -> Plan | str:
    operation = case.operation
    match case.fact.variant:
        case FactVariant.GRAPH_USE:
            return _or_unknown(operation, use, Harm.NOT_YET)
        case FactVariant.GRAPH_FREE:
            return _or_unknown(operation, use, Harm.FREED)
        case FactVariant.GRAPH_INSIDE if free is not None:
            return Plan(free, operation, Harm.FREED, inside=True)
        case FactVariant.GRAPH_INSIDE:
            return _or_unknown(operation, case.first(RelatedRole.ALLOC), Harm.NOT_YET, inside=True)
    if operation.status > 0:
        return "the call is refused in every execution"
    return _or_unknown(free, operation, Harm.GONE, certain=True) if free is not None else _never_alive(operation)


def _never_alive(operation: Operation) -> Plan:
    """The memory does not exist before a launch: there is nothing to go ahead."""
    return Plan(operation, operation, Harm.NOT_YET, certain=True)


def _or_unknown(
    ahead: Operation | None,
    behind: Operation | None,
    harm: Harm,
    *,
    certain: bool = False,
    inside: bool = False,
    overtakes: bool = False,
) -> Plan | str:
    if ahead is None or behind is None or not ahead.sequence or not behind.sequence:
        return "the trace does not say which operation it is"
    return Plan(ahead, behind, harm, certain, inside, overtakes)
