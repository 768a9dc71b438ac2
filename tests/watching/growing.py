"""Traces that grow under a test's hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from streamsan.trace.builder import TraceBuilder
from streamsan.trace.layout import SLOT
from streamsan.trace.references import Reference
from streamsan.trace.site import Site
from streamsan.trace.slot_fields import encode_duration
from streamsan.trace.store import Slots
from streamsan.trace.trace import Thread
from streamsan.trace.writer import TraceWriter
from streamsan.vocabulary import MemoryKind, OperationKind, SlotFlag

STREAM = 0x5000
APIS = ("", "cudaMallocAsync", "kernel", "cudaFreeAsync", "cudaStreamSynchronize")
SITES = tuple(Site("pipeline.cu", line) for line in (10, 20, 30, 40))


def steps(count: int, first: int = 1, kept: int = 0) -> Slots:
    """Return a loop's operations: allocate, use, free (but the last `kept` times), wait. Sequences from `first`."""
    builder = TraceBuilder("")
    thread = builder.thread(0, "main")
    alloc, use, free, wait = (
        {"thread": thread, "stream": STREAM, "api": api, "site": builder.site(site)}
        for api, site in zip(APIS[1:], SITES, strict=True)
    )
    for number in range(count):
        address = 0x100000 + 0x1000 * (first + number)
        kind = int(MemoryKind.STREAM_ORDERED)
        builder.append(OperationKind.ALLOC, address=address, size=256, detail=kind, **alloc)
        builder.append(OperationKind.LAUNCH, references=[Reference(address, 256)] * 3, **use)
        if number < count - kept:
            builder.append(OperationKind.FREE, address=address, **free)
        builder.append(OperationKind.STREAM_SYNCHRONIZE, duration=1000, **wait)
    slots = np.concatenate(list(builder.finish().chunks())) if count else np.empty(0, SLOT)
    owners = slots["kind"] < 240
    slots["sequence"][owners] += first - 1
    return slots


def writer(path: Path, process: int | None = None) -> TraceWriter:
    """Begin a trace with the names of `steps`."""
    begun = TraceWriter(path, apis=APIS, metadata={} if process is None else {"process": process})
    begun.add_threads([Thread(0, "main")])
    begun.add_sites(SITES)
    return begun


def entered(sequence: int) -> Slots:
    """Return a wait that has not returned."""
    slots = np.zeros(1, SLOT)
    slots["sequence"], slots["kind"], slots["stream"] = sequence, OperationKind.STREAM_SYNCHRONIZE, STREAM
    slots["site"] = slots["api"] = 4
    slots["flags"] = int(SlotFlag.ENTER)
    return slots


def let_return(path: Path, slots: Slots, sequence: int) -> None:
    """Have the last call of a file return, as a recorder writes that in its place."""
    after = slots.copy()
    after["sequence"], after["flags"], after["duration"] = sequence, 0, encode_duration(5000)
    data = path.read_bytes()
    at = data.rindex(slots.tobytes())
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(after.tobytes())
