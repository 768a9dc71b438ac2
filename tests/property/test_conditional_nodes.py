"""Random programs with a node that a launch may leave out: the engine is sure only of what is so either way."""

from __future__ import annotations

from dataclasses import replace

import pytest
from execution_oracle.campaign import numbered
from execution_oracle.choices import program_of
from execution_oracle.comparison import compare
from execution_oracle.program import Program, listing

from streamsan.vocabulary import NodeKind
from streamsan.vocabulary import OperationKind as Kind

IN_BODIES = (NodeKind.KERNEL, NodeKind.COPY, NodeKind.MEMSET)
"""what the bodies of conditional nodes may hold"""


def with_conditional_node(program: Program, choice: int) -> Program | None:
    """Return the program with one node of one body made conditional; None where none can be."""
    changed = {(op.object, op.address) for op in program.ops if op.kind is Kind.GRAPH_NODE_UPDATE}
    places = [
        (at, number)
        for at, op in enumerate(program.ops)
        if op.body is not None
        for number, node in enumerate(op.body.nodes)
        if node.kind in IN_BODIES and node.references and (op.object, number + 1) not in changed
    ]
    if not places:
        return None
    at, number = places[choice % len(places)]
    ops = list(program.ops)
    body = ops[at].body
    assert body is not None
    nodes = list(body.nodes)
    nodes[number] = replace(nodes[number], conditional=True)
    ops[at] = replace(ops[at], body=replace(body, nodes=tuple(nodes)))
    return replace(program, ops=tuple(ops))


@pytest.mark.deep
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(1, 9))])
def test_engine_is_sure_only_of_what_is_so_whether_the_node_runs_or_not(seed: int) -> None:
    looked_at = 0
    for number in range(1200):
        program = with_conditional_node(program_of(*numbered(seed, number)), number)
        if program is None:
            continue
        looked_at += 1
        differences = compare(program).differences
        if program.origin == "recording":
            # What may not have happened does not speak for the next one there: the same doubt is said again.
            differences = [each for each in differences if not each.startswith("doubted by the engine only")]
        assert not differences, "\n".join([f"program {number}", *differences, *listing(program)])
    assert looked_at > 100
