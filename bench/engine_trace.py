"""A synthetic trace for `engine.py`: correct programs' traffic, written as it is made."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from streamsan.trace import Site, Thread
from streamsan.trace.layout import REFERENCES, SLOT
from streamsan.trace.writer import TraceWriter
from streamsan.vocabulary import AccessMode, FreeClass, MemoryKind, OperationKind, StreamKind

Slots = NDArray[np.void]

STREAMS = 16
ALLOCATIONS = 100_000
BYTES = 1 << 20
FIRST_ADDRESS = 1 << 40
FIRST_STREAM = 0x1000
FIRST_EVENT = 0x8000
APIS = ("", "cudaMallocAsync", "cudaFreeAsync", "kernel", "cudaEventRecord", "cudaStreamWaitEvent",
        "cudaStreamSynchronize", "cudaMalloc", "cudaFree", "cudaStreamCreate", "cudaEventCreate")  # fmt: skip
SITES = 64

# One group of operations on a stream `s` and a neighbour `n`; numbers are the references of a launch.
GROUP = (
    "launch1", "launch2", "launch3", "launch2", "record s", "wait n", "launch2 n", "record n", "wait s",
    "launch1", "free", "alloc", "launch3", "launch1", "launch2", "launch1",
)  # fmt: skip
GROUP_OPERATIONS = len(GROUP)
PLAIN_EVERY = 16
"""Every so many groups one plain allocation is made, used, waited for and freed."""


def _blank(count: int) -> Slots:
    return np.zeros(count, SLOT)


def _address(allocation: NDArray[np.int64]) -> NDArray[np.uint64]:
    return (FIRST_ADDRESS + allocation * BYTES).astype(np.uint64)


def beginning() -> Slots:
    """Return the creation of the streams, the events and the live allocations."""
    streams, events, memory = _blank(STREAMS), _blank(STREAMS), _blank(ALLOCATIONS)
    streams["kind"], streams["detail"], streams["api"] = OperationKind.STREAM_CREATE, StreamKind.NON_BLOCKING, 9
    streams["object"] = FIRST_STREAM + np.arange(STREAMS)
    events["kind"], events["api"] = OperationKind.EVENT_CREATE, 10
    events["object"] = FIRST_EVENT + np.arange(STREAMS)
    index = np.arange(ALLOCATIONS)
    memory["kind"], memory["detail"], memory["api"] = OperationKind.ALLOC, MemoryKind.STREAM_ORDERED, 1
    memory["address"], memory["size"], memory["stream"] = _address(index), BYTES, FIRST_STREAM + index % STREAMS
    slots = np.concatenate([streams, events, memory])
    slots["site"] = 1
    return slots


def groups(count: int, generator: np.random.Generator) -> Slots:
    """Return `count` groups. A stream uses its own allocations; a neighbour uses them only between two events."""
    s = generator.integers(0, STREAMS, count)
    n = (s + generator.integers(1, STREAMS, count)) % STREAMS
    per_stream = ALLOCATIONS // STREAMS

    def own(stream: NDArray[np.int64]) -> NDArray[np.uint64]:
        return _address(stream + STREAMS * generator.integers(0, per_stream, count))

    columns: list[Slots] = []
    shared, freed = own(s), own(s)
    for place, name in enumerate(GROUP):
        slot = _blank(count)
        slot["site"] = 2 + place
        on_neighbour = name.endswith(" n")
        slot["stream"] = FIRST_STREAM + (n if on_neighbour else s)
        word = name.split()[0]
        if word.startswith("launch"):
            references = int(word[-1])
            slot["kind"], slot["api"], slot["flags"] = OperationKind.LAUNCH, 3, AccessMode.READ_WRITE
            slot["address"] = shared if on_neighbour else own(s)
            columns.append(slot)
            if references > 1:
                slot["more"] = 1
                more = np.zeros(count, REFERENCES)
                more["kind"], more["count"] = OperationKind.REFERENCES, references - 1
                more["first_address"], more["first_mode"] = own(n if on_neighbour else s), AccessMode.READ
                if references == 3:
                    more["second_address"], more["second_mode"] = own(s), AccessMode.READ
                columns.append(more.view(SLOT))
            continue
        if word in ("record", "wait"):
            record = word == "record"
            slot["kind"] = OperationKind.EVENT_RECORD if record else OperationKind.STREAM_WAIT_EVENT
            slot["api"] = 4 if record else 5
            source = n if (record and on_neighbour) or (not record and not on_neighbour) else s
            slot["object"] = FIRST_EVENT + source
        elif word == "free":
            slot["kind"], slot["api"], slot["detail"], slot["address"] = OperationKind.FREE, 2, FreeClass.ASYNC, freed
        else:
            slot["kind"], slot["api"], slot["detail"] = OperationKind.ALLOC, 1, MemoryKind.STREAM_ORDERED
            slot["address"], slot["size"] = freed, BYTES
        columns.append(slot)
    return np.stack(columns, axis=1).reshape(-1)


def plain_round(generator: np.random.Generator) -> Slots:
    """Return a plain allocation's life: made, used, waited for, freed."""
    slots = _blank(4)
    stream = FIRST_STREAM + int(generator.integers(0, STREAMS))
    address = FIRST_ADDRESS + (ALLOCATIONS + int(generator.integers(0, 64))) * BYTES
    slots["kind"] = [OperationKind.ALLOC, OperationKind.LAUNCH, OperationKind.STREAM_SYNCHRONIZE, OperationKind.FREE]
    slots["detail"] = [MemoryKind.PLAIN, 0, 0, FreeClass.DEVICE]
    slots["api"] = [7, 3, 6, 8]
    slots["address"] = [address, address, 0, address]
    slots["size"][0] = BYTES
    slots["stream"] = [0, stream, stream, 0]
    slots["site"] = 40
    return slots


def chunks(operations: int, seed: int = 1) -> Iterator[Slots]:
    """Yield slots with about so many operations in all, sequences not yet given."""
    generator = np.random.default_rng(seed)
    yield beginning()
    left = operations - ALLOCATIONS - 2 * STREAMS
    while left > 0:
        count = min(PLAIN_EVERY * 16, max(1, left // GROUP_OPERATIONS))
        body = groups(count, generator)
        rounds = [plain_round(generator) for _ in range(max(1, count // PLAIN_EVERY))]
        yield np.concatenate([body, *rounds])
        left -= count * GROUP_OPERATIONS + 4 * len(rounds)


def write(path: str | os.PathLike[str], operations: int, threads: int = 1, origin: str = "synthetic") -> None:
    """Write the trace to a file; memory does not grow with it. The threads take turns at every operation."""
    with TraceWriter(path, apis=APIS, origin=origin) as writer:
        writer.add_threads([Thread(0, f"thread {index}") for index in range(threads)])
        writer.add_sites([Site("synthetic.cu", line) for line in range(1, SITES)])
        sequence = 1
        for slots in chunks(operations):
            whole = slots["kind"] < OperationKind.REFERENCES
            numbers = np.zeros(len(slots), np.uint64)
            count = int(np.count_nonzero(whole))
            numbers[whole] = np.arange(sequence, sequence + count, dtype=np.uint64)
            # A continuation slot has other fields where a slot has its sequence.
            slots["sequence"][whole] = numbers[whole]
            slots["thread"][whole] = numbers[whole] % threads
            sequence += count
            writer.append_slots(slots)
