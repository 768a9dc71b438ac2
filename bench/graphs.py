"""Launches of a large graph against plain launches: analysis time of each, in one run, and their ratio.

    python bench/graphs.py --launches 1000000 --nodes 100 --orders stream events shared

A launch of an executable graph is one operation, whatever the size of its body: the ratio is about 1. It is measured
for several orders of what lies between the launches, all in one line:

    stream   every launch on one stream; now and then another allocation is made, used and freed
    events   launches on two streams in turn, each behind an event of the other
    shared   as `stream`, and the other allocation's place is taken by memory that the graph uses

The plain launches that it is compared with have the same in between.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from streamsan.order.engine import Analysis, run
from streamsan.trace import Thread
from streamsan.trace.layout import REFERENCES, SLOT
from streamsan.trace.store import packed_of
from streamsan.vocabulary import AccessMode, FreeClass, MemoryKind, NodeKind, OperationKind, StreamKind

Slots = NDArray[np.void]

STREAM, OTHER_STREAM, EXEC, EVENT = 0x1000, 0x1001, 0x2000, 0x3000
ORDERS = ("stream", "events", "shared")
FIRST_ADDRESS = 1 << 40
BYTES = 1 << 20
PER_CHUNK = 4096
SIDE_EVERY = 64
"""Launches between two lives of another allocation, which the graph does not use."""


def _address(number: int) -> int:
    return FIRST_ADDRESS + number * BYTES


def beginning(nodes: int) -> Slots:
    """Return two streams, an event and one allocation for each node."""
    slots = np.zeros(3 + nodes, SLOT)
    slots["kind"] = OperationKind.ALLOC
    slots["kind"][:2], slots["detail"][:2] = OperationKind.STREAM_CREATE, StreamKind.NON_BLOCKING
    slots["kind"][2] = OperationKind.EVENT_CREATE
    slots["object"][:3] = STREAM, OTHER_STREAM, EVENT
    slots["detail"][3:], slots["size"][3:] = MemoryKind.PLAIN, BYTES
    slots["address"][3:] = [_address(number) for number in range(nodes)]
    slots["site"] = 1
    return slots


def body(nodes: int) -> Slots:
    """Return the instantiation of a chain of kernels: each reads what the one before it wrote."""
    parts = np.zeros(1 + nodes * 2 + nodes - 1, SLOT)
    parts["site"] = 2
    parts["kind"][0], parts["object"][0], parts["size"][0] = OperationKind.GRAPH_INSTANTIATE, EXEC, 2 * nodes - 1
    whole = parts[1 : 1 + 2 * nodes : 2]
    whole["kind"], whole["stream"], whole["detail"], whole["more"] = (
        OperationKind.GRAPH_NODE,
        EXEC,
        NodeKind.KERNEL,
        1,
    )
    whole["object"] = np.arange(1, nodes + 1)
    more = np.zeros(nodes, REFERENCES)
    more["kind"], more["count"] = OperationKind.REFERENCES, 2
    more["first_address"] = [_address(number) for number in range(nodes)]
    more["second_address"] = [_address(max(0, number - 1)) for number in range(nodes)]
    more["first_mode"], more["second_mode"] = AccessMode.WRITE, AccessMode.READ
    parts[2 : 2 + 2 * nodes : 2] = more.view(SLOT)
    edges = parts[1 + 2 * nodes :]
    edges["kind"], edges["stream"] = OperationKind.GRAPH_EDGE, EXEC
    edges["object"], edges["address"] = np.arange(1, nodes), np.arange(2, nodes + 1)
    return parts


def _launches(count: int, graphs: bool, nodes: int) -> Slots:
    slots = np.zeros(count, SLOT)
    slots["stream"], slots["site"] = STREAM, 3
    if graphs:
        slots["kind"], slots["object"] = OperationKind.GRAPH_LAUNCH, EXEC
    else:
        slots["kind"], slots["flags"] = OperationKind.LAUNCH, AccessMode.WRITE
        slots["address"] = FIRST_ADDRESS + np.arange(count) % nodes * BYTES
    return slots


def _events(launches: Slots) -> Slots:
    """Put every second launch on the other stream, and each behind the one before it."""
    slots = np.zeros((len(launches), 3), SLOT)
    here = np.where(np.arange(len(launches)) % 2 == 0, STREAM, OTHER_STREAM)
    slots[:, 0], slots["stream"] = launches, here[:, None]
    slots["stream"][:, 2] = STREAM + OTHER_STREAM - here
    slots["kind"][:, 1:] = OperationKind.EVENT_RECORD, OperationKind.STREAM_WAIT_EVENT
    slots["object"][:, 1:], slots["site"][:, 1:] = EVENT, (5, 6)
    return slots.reshape(-1)


def _side(nodes: int, order: str) -> Slots:
    """Return the life of an allocation of its own: made in the stream, used, freed; or a use of the graph's memory."""
    if order == "shared":
        use = np.zeros(1, SLOT)
        use["kind"], use["address"], use["stream"], use["site"] = OperationKind.LAUNCH, _address(0), STREAM, 4
        return use
    slots = np.zeros(3, SLOT)
    slots["kind"] = [OperationKind.ALLOC, OperationKind.LAUNCH, OperationKind.FREE]
    slots["detail"] = [MemoryKind.STREAM_ORDERED, 0, FreeClass.ASYNC]
    slots["address"], slots["stream"], slots["site"] = _address(nodes), STREAM, 4
    slots["size"][0] = BYTES
    return slots


def chunks(launches: int, nodes: int, graphs: bool, order: str = ORDERS[0]) -> Iterator[Slots]:
    """Yield the trace, sequences given; memory does not grow with the number of launches."""
    sequence = 1
    parts = [beginning(nodes), body(nodes)]
    left = launches
    while parts:
        slots = np.concatenate(parts)
        whole = slots["kind"] < OperationKind.REFERENCES
        count = int(np.count_nonzero(whole))
        slots["sequence"][whole] = np.arange(sequence, sequence + count, dtype=np.uint64)
        sequence += count
        yield slots
        parts = []
        now = min(PER_CHUNK, left)
        for first in range(0, now, SIDE_EVERY):
            some = _launches(min(SIDE_EVERY, now - first), graphs, nodes)
            if order == "events":
                parts.append(_events(some))
            else:
                parts += [some, _side(nodes, order)]
        left -= now


def measure(launches: int, nodes: int, graphs: bool, order: str = ORDERS[0]) -> tuple[Analysis, float]:
    """Analyse one trace and return the CPU seconds of the engine alone."""
    seconds = 0.0

    def timed() -> Iterator[Slots]:
        # The time to make a chunk is not the engine's.
        nonlocal seconds
        source = chunks(launches, nodes, graphs, order)
        while True:
            start = time.process_time()
            chunk = next(source, None)
            seconds -= time.process_time() - start
            if chunk is None:
                return
            yield chunk

    start = time.process_time()
    analysis = run([Thread(0, "main")], map(packed_of, timed()))
    return analysis, seconds + time.process_time() - start


def compare(launches: int, nodes: int, repeats: int = 3, order: str = ORDERS[0]) -> tuple[Analysis, Analysis, float]:
    """Return both analyses (graph, plain), and the ratio of their best times; the two take turns."""
    graph_times, plain_times = [], []
    for _ in range(repeats):
        graph, seconds = measure(launches, nodes, True, order)
        graph_times.append(seconds)
        plain, seconds = measure(launches, nodes, False, order)
        plain_times.append(seconds)
    return graph, plain, min(graph_times) / max(1e-9, min(plain_times))


def main() -> None:
    """Print the ratio for each order."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--launches", type=int, default=1_000_000)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--orders", nargs="+", choices=ORDERS, default=ORDERS)
    arguments = parser.parse_args()
    if arguments.launches < 1 or arguments.nodes < 1:
        parser.error("at least one launch, and one node")
    results = {order: compare(arguments.launches, arguments.nodes, order=order) for order in arguments.orders}
    ratios = ", ".join(f"{order} {ratio:.2f}" for order, (_, _, ratio) in results.items())
    facts = sum(len(each.facts) for result in results.values() for each in result[:2])
    problems = sum(each.problems for result in results.values() for each in result[:2])
    print(
        f"{arguments.launches:,} launches of a graph of {arguments.nodes:,} nodes, x the analysis of as many plain"
        f" launches: {ratios}  (facts {facts}, problems {problems})"
    )


if __name__ == "__main__":
    main()
