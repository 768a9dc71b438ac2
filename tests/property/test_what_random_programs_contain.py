"""What the generator produces of the vocabulary, and what it does not, so that nobody loses a kind unnoticed."""

from __future__ import annotations

from collections import Counter
from functools import cache

from execution_oracle.campaign import numbered
from execution_oracle.choices import program_of
from execution_oracle.features import count, every_feature

PROGRAMS = 3000
OF_UNKNOWN_CALLERS = ("MemoryKind.UNKNOWN", "OperationKind.OPAQUE_CALL", "StreamKind.UNKNOWN")
NEVER = frozenset({
    # Not of an order that the oracle decides: other rules, other parts of a trace, other platforms.
    "CaptureMode.GLOBAL", "CaptureMode.THREAD_LOCAL", "EdgeClass.OBSERVED", "HandleKind.CONTEXT", "HandleKind.EVENT",
    "HandleKind.GRAPH", "HandleKind.STREAM", "HandleKind.SURFACE", "HandleKind.TEXTURE", "MemoryKind.CL_BUFFER",
    "MemoryKind.SVM", "OperationKind.FORK",
    "OperationKind.LAUNCH_ACCESSES", "OperationKind.NODE_ACCESSES", "OperationKind.DEVICE_TIME",
    "OperationKind.MAIN_END", "OperationKind.MALFORMED_CALL", "OperationKind.NOT_UNDERSTOOD",
    "OperationKind.POINTER_LOST", "OperationKind.PROCESS_EXIT", "OperationKind.REFERENCES", "OperationKind.ROWS",
    "OperationKind.TEXT", "OperationKind.THREAD_START", "OperationKind.GRAPH_CLONE", "OperationKind.GRAPH_TRIM",
    "FreeClass.POOL_BLOCK", "MemoryKind.POOL_BLOCK", "OperationKind.BLOCK_STREAM",
    # OpenCL's: test_out_of_order_queues.py has random programs of its queues.
    "ContextKind.CL", "FreeClass.CL_RELEASE", "FreeClass.CL_SVM", "FreeClass.CL_SVM_BLOCKING", "FreeClass.CL_UNMAP",
    "HandleKind.COMMAND_BUFFER", "HandleKind.KERNEL", "HandleKind.PROGRAM", "HandleKind.SAMPLER",
    "HandleKind.SUB_BUFFER", "MemoryKind.CL_MAPPED", "OperationKind.EVENT_CALLBACK", "OperationKind.QUEUE_MARKER",
    "StreamKind.OUT_OF_ORDER",
    # Not yet.
    "HandleKind.POOL", "MemoryKind.DEVICE_SYMBOL", "MemoryKind.HOST_STATIC", "NodeKind.HOST", "NodeKind.OPAQUE",
    "NodeKind.STREAM_MEMORY_OP", "OperationKind.HANDLE_CREATE", "OperationKind.HANDLE_USE", "OperationKind.PEER_ENABLE",
    "WaitClass.BETWEEN_CONTEXTS",
    # In the programs with objects of unknown callers.
    *OF_UNKNOWN_CALLERS,
    # Parts of a body, which are counted as its nodes.
    "OperationKind.GRAPH_EDGE", "OperationKind.GRAPH_NODE",
    # The default streams are not made.
    "StreamKind.LEGACY", "StreamKind.PER_THREAD",
})  # fmt: skip
TOGETHER = (
    "origin source", "origin recording", "reset", "reset that two threads use", "destroyed context",
    "destroyed context that two threads use", "work after a context's end", "legacy stream of several contexts",
    "legacy stream of several threads", "per-thread streams of several threads",
    "AutoFreeOnLaunch",
    "AutoFreeOnLaunch with a consumer on another stream", "use by another graph's node",
    "memory that two graphs use", "value write", "strided", "atomic", "bounded",
    "failed call",
)  # fmt: skip
"""what is told of several operations together"""


@cache
def _counted() -> Counter[str]:
    return count(program_of(*numbered(1, number)) for number in range(PROGRAMS))


def test_every_kind_of_the_vocabulary_is_produced_or_is_said_not_to_be() -> None:
    assert every_feature() - set(_counted()) == NEVER


def test_what_several_operations_make_together_is_produced() -> None:
    assert [name for name in TOGETHER if _counted()[name] < 3] == []


def test_what_is_unknown_is_produced() -> None:
    names = ("stream of an unknown caller", "stream first seen in use", "event first seen in use",
             "memory of an unknown caller", *OF_UNKNOWN_CALLERS)  # fmt: skip
    counted = count(program_of(*numbered(1, number, unknown=True)) for number in range(1000))
    assert [name for name in names if counted[name] < 3] == []
