"""What replayed operations are called."""

from __future__ import annotations

import pytest

from streamsan.replay.naming import called
from streamsan.replay.replayed_steps import Node, Step
from streamsan.trace import Site, TraceBuilder
from streamsan.vocabulary import NodeKind, OperationKind


def named(piece: OperationKind | NodeKind) -> str:
    builder = TraceBuilder("program")
    site = builder.site(Site("program.cu", 4, label="scale"))
    trace = builder.finish()
    if isinstance(piece, NodeKind):
        return called(trace, Node(1, 1, piece, site, (), 0, ()))
    return called(trace, Step(1, piece, 0, 0, 0, 0, 0, 0, site, 0))


@pytest.mark.parametrize("kind", NodeKind, ids=lambda kind: kind.name)
def test_an_operation_is_not_called_what_a_node_with_its_number_is(kind: NodeKind) -> None:
    operation = OperationKind(kind.value)
    assert named(operation) == "a call (line 4)"


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (OperationKind.LAUNCH, "kernel `scale` (line 4)"),
        (NodeKind.KERNEL, "kernel `scale` (line 4)"),
        (OperationKind.COPY, "the copy (line 4)"),
        (NodeKind.COPY, "the copy node (line 4)"),
        (OperationKind.QUEUE_MARKER, "the marker (line 4)"),
    ],
)
def test_work_has_the_names_that_findings_give_it(kind: OperationKind | NodeKind, name: str) -> None:
    assert named(kind) == name
