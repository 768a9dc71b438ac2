"""The execution that a finding about order warns of: two operations in the wrong order, and what that does.

Such a finding says that one operation should be complete before another begins. In the wrong execution it is not: the
second goes ahead, the first comes behind.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from streamsan.order.facts import Operation
from streamsan.vocabulary import OperationKind

NODES = (OperationKind.GRAPH_NODE, OperationKind.GRAPH_NODE_UPDATE)
"""Kinds of operations that stand for a node of a graph."""


class Harm(Enum):
    """What the wrong order does."""

    FREED = "the memory is freed, and used then"
    GONE = "the addresses lead nowhere, and are used then"
    NOT_YET = "the memory is used, and allocated then"
    CONFLICT = "the later access comes first"
    CHANGED = "the host reads or overwrites its memory, and the device accesses it then"


class WrongExecution(Struct, frozen=True):
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
    unpromised: bool = False
    """the one ahead is a call that waits, though nothing promises it"""


def wrong_order(
    ahead: Operation | None,
    behind: Operation | None,
    harm: Harm,
    *,
    certain: bool = False,
    inside: bool = False,
    overtakes: bool = False,
    unpromised: bool = False,
) -> WrongExecution | str:
    """Return the wrong execution of two operations; a reason in a clause where one of them is not known."""
    if ahead is None or behind is None or not ahead.sequence or not behind.sequence:
        return "the trace does not say which operation it is"
    return WrongExecution(ahead, behind, harm, certain, inside, overtakes, unpromised)
