"""Traces that the tests of this folder share."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from streamsan.trace import Reference, Site, Thread, Trace, TraceBuilder
from streamsan.trace.layout import SLOT
from streamsan.trace.modules import UNKNOWN_MODULE, Module
from streamsan.trace.slot_fields import FIRST_CONTINUATION_KIND
from streamsan.trace.store import Slots, owners
from streamsan.trace.symbols import Frame
from streamsan.trace.view import OperationView, iterate
from streamsan.trace.writer import TraceWriter
from streamsan.vocabulary import AccessMode, OperationKind

KINDS = [OperationKind.ALLOC, OperationKind.LAUNCH, OperationKind.COPY, OperationKind.EVENT_RECORD, OperationKind.FREE]


def sample(operations: int, *, threads: int = 1, seed: int = 0, most_references: int = 7) -> Trace:
    """Return a trace of varied operations, many of them with continuation slots."""
    choose = random.Random(seed)
    builder = TraceBuilder("sample.cu")
    indices = [builder.thread(index % 2, f"thread {index}") for index in range(threads)]
    sites = [0]
    for line in range(1, 9):
        sites.append(
            builder.site(Site("sample.cu", line, 5, line, 40, "main", f"call({line});", "d_x", sites[-1] // 2))
        )
    for _ in range(operations):
        references = [
            Reference(choose.randrange(1, 1 << 64), choose.randrange(1 << 40), choose.randrange(1 << 32), mode)
            for mode in choose.choices(list(AccessMode), k=choose.randrange(most_references))
        ]
        builder.append(
            choose.choice(KINDS),
            thread=choose.choice(indices),
            api=choose.choice(["", "cudaMalloc", "cudaFree", "cudaLaunchKernel"]),
            site=choose.choice(sites),
            stream=choose.randrange(1 << 64),
            references=references,
            detail=choose.randrange(256),
            flags=choose.choice([0, 8, 16]),
            status=choose.choice([0, 1, 700, -32768]),
            time=choose.randrange(1 << 50),
            duration=choose.randrange(1 << 30),
        )
    return builder.finish()


def native_sample(operations: int, *, threads: int = 1) -> Trace:
    """Return a recording of varied operations, some of whose sites are native frames."""
    trace = sample(operations, threads=threads)
    native = [replace(site, module=1 + number % 2, offset=16 * number) for number, site in enumerate(trace.sites[1:5])]
    return Trace(
        trace.path,
        trace.slots,
        threads=trace.threads,
        apis=trace.apis,
        sites=[trace.sites[0], *native, *trace.sites[5:]],
        origin="recording",
        modules=[UNKNOWN_MODULE, Module("/app/main", "ab12"), Module("/app/libfoo.so")],
        symbols={
            (1, 0): (Frame("inner.hpp", 3, 1, "inner()"), Frame("main.cpp", 9, 2, "main")),
            (2, 16): (Frame("", 0, 0, "foo(int)"),),
        },
        source_lines={"main.cpp": {8: "", 9: "    inner();"}, "sample.cu": {5: "call(5);"}},
    )


def views(trace: Trace) -> list[OperationView]:
    return list(iterate(trace))


def sequences_from(trace: Trace, first: int) -> list[int]:
    """Return the numbers of the operations from `first` on, as reading from there on finds them."""
    slots = np.concatenate(list(trace.chunks(first=first)))
    return [number for number in slots["sequence"][owners(slots)].tolist() if number >= first]


def slots_of(trace: Trace) -> Slots:
    return np.concatenate([np.empty(0, SLOT), *trace.chunks()])


def lanes_of(slots: Slots) -> dict[int, Slots]:
    """Return the slots of each thread, continuations with their operation."""
    starts = slots["kind"] < FIRST_CONTINUATION_KIND
    thread = slots["thread"][np.flatnonzero(starts)][np.cumsum(starts) - 1]
    return {int(index): slots[thread == index] for index in np.unique(thread)}


def write_in_lanes(trace: Trace, path: Path, *, piece: int = 40, dense: bool = True) -> None:
    """Write a trace as a recorder would: a lane for each thread, segments of a few slots in turn."""
    metadata = {"dense_from": 1} if dense else {}
    with TraceWriter(path, apis=trace.apis, origin="recording", metadata=metadata) as writer:
        writer.add_threads(trace.threads)
        writer.add_modules(trace.modules[1:])
        writer.add_sites(trace.sites[1:])
        writer.add_symbols(trace.symbols)
        writer.add_source_lines(trace.source_lines)
        pieces: list[tuple[int, int, Slots]] = []
        for lane, slots in lanes_of(slots_of(trace)).items():
            starts = np.flatnonzero(slots["kind"] < FIRST_CONTINUATION_KIND)
            for at in range(0, len(starts), piece):
                end = starts[at + piece] if at + piece < len(starts) else len(slots)
                part = slots[starts[at] : end]
                pieces.append((int(part["sequence"][0]), lane, part))
        for _, lane, part in sorted(pieces, key=lambda entry: entry[:2]):
            writer.append_slots(part, lane)


def simple_slots(sequences: np.ndarray, *, kind: OperationKind = OperationKind.CALL, thread: int = 0) -> Slots:
    slots = np.zeros(len(sequences), SLOT)
    slots["sequence"] = sequences
    slots["kind"] = kind
    slots["thread"] = thread
    return slots


ONE_THREAD = [Thread(0, "main")]
