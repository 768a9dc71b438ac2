"""What replayed operations are called: the kernel by its name, everything with its line."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from streamsan.replay.replayed_steps import Node, Step
from streamsan.rules.launch_names import launched
from streamsan.rules.nouns import WORK
from streamsan.trace import Trace
from streamsan.vocabulary import NodeKind, OperationKind

_STEPS = {
    **WORK,
    OperationKind.EVENT_RECORD: "the record of an event",
    OperationKind.ALLOC: "the allocation",
    OperationKind.FREE: "the free",
    OperationKind.HOST_ACCESS: "the host",
    OperationKind.HOST_FUNCTION: "the host function",
}
"""steps and nodes apart: the same number is another kind there"""
_NODES = {
    NodeKind.COPY: "the copy node",
    NodeKind.MEMSET: "the fill node",
    NodeKind.HOST: "the host node",
    NodeKind.ALLOC: "the allocation node",
    NodeKind.FREE: "the free node",
    NodeKind.EVENT_RECORD: "the node that records an event",
    NodeKind.EVENT_WAIT: "the node that waits for an event",
}
_COMMANDS = {"Unmap": "the unmap", "Map": "the map", "Read": "the read", "Write": "the write"}
"""part of the name of an OpenCL function that enqueues a copy -> what its command is called"""


def called(trace: Trace, piece: Step | Node) -> str:
    """Return the name of an operation or a node: "kernel `scale` (line 39)"."""
    site = trace.site(piece.site)
    is_kernel = piece.kind == (NodeKind.KERNEL if isinstance(piece, Node) else OperationKind.LAUNCH)
    noun = launched(site.label, trace.origin) if is_kernel else _noun_of(piece)
    return f"{noun} (line {site.line})" if site.line else noun


def _noun_of(piece: Step | Node) -> str:
    if piece.api.startswith("clEnqueue"):
        noun = next((noun for part, noun in _COMMANDS.items() if part in piece.api), "")
        if noun:
            return noun
    return _NODES.get(piece.kind, "a call") if isinstance(piece, Node) else _STEPS.get(piece.kind, "a call")


def _told_apart(trace: Trace, piece: Step | Node, alike: Mapping[str, Collection[int]]) -> str:
    """Return an operation's name; with its caller's line where a helper has made several that are called alike."""
    name = called(trace, piece)
    caller = trace.site(piece.site).caller
    line = trace.site(caller).line if 0 < caller < piece.site else 0
    return f"{name[:-1]}, from line {line})" if line and len(alike[name]) > 1 else name


def names_of(trace: Trace, steps: Iterable[Step]) -> Callable[[int], str]:
    """Return what gives each operation, by its sequence number, its name."""
    pieces: dict[int, Step | Node] = {}
    for step in steps:
        pieces[step.sequence] = step
        pieces.update((node.sequence, node) for node in step.nodes)
    alike: dict[str, set[int]] = {}
    for piece in pieces.values():
        alike.setdefault(called(trace, piece), set()).add(piece.site)

    def name(sequence: int) -> str:
        piece = pieces.get(sequence)
        return "other work" if piece is None else _told_apart(trace, piece, alike)

    return name
