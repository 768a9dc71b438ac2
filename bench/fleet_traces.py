"""Traces of a made-up job, as its ranks would be recorded in several runs: a folder for each run, a file for each rank.

All do the same steps: an upload on one stream, two kernels on another one, which an event orders behind it, and a free.
Some do a step wrong (`MISTAKES`). Sizes and addresses differ from rank to rank, call sites do not.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from streamsan.trace.builder import TraceBuilder
from streamsan.trace.references import Reference
from streamsan.trace.site import Site
from streamsan.trace.trace import RECORDING
from streamsan.trace.writer import write
from streamsan.vocabulary import AccessMode, FreeClass, MemoryKind, OperationKind, StreamKind

RUNS = ("a", "b", "c", "d")
RACE, TWICE, EARLY = "a free races a kernel", "a buffer is freed twice", "a kernel begins before its input is there"
MISTAKES = (RACE, TWICE, EARLY)
CODES = {RACE: "SS102", TWICE: "SS201", EARLY: "SS103"}
_UPLOAD, _COMPUTE = 0x1000, 0x2000
_FILE = "/job/train.py"
_LINES = {
    9: "upload, compute = Stream(), Stream()",
    12: "batch = allocate(size, upload)",
    13: "copy(batch, host, upload)",
    14: "ready.record(upload)",
    15: "compute.wait(ready)",
    16: "forward(batch, compute)",
    17: "backward(batch, compute)",
    18: "done.record(compute)",
    19: "upload.wait(done)",
    20: "free(batch, upload)",
    24: "scratch = allocate_plain(size)",
    25: "release(scratch)",
    27: "release(scratch)",
}


def mistakes_of(rank: int, ranks: int, run: str) -> frozenset[str]:
    """Return what a rank does wrong in a run: one mistake nearly all ranks do, one a rank in each run, one a single."""
    found = set()
    if (run, rank) not in (("a", 0), ("d", ranks - 1)):
        found.add(RACE)
    if rank == ranks // 2:
        found.add(TWICE)
    if (run, rank) == ("c", ranks - 1):
        found.add(EARLY)
    return frozenset(found)


def make(folder: Path, traces: int, steps: int) -> None:
    """Write so many traces, of `steps` steps each, in as many runs as there are names for."""
    ranks = max(1, traces // len(RUNS))
    for number in range(traces):
        run, rank = RUNS[min(number // ranks, len(RUNS) - 1)], number % ranks
        place = folder / run / f"rank-{rank:04}.sst"
        place.parent.mkdir(exist_ok=True, parents=True)
        write_trace(place, rank, ranks, steps, mistakes_of(rank, ranks, run))


def write_trace(path: Path, rank: int, ranks: int, steps: int, mistakes: Collection[str]) -> None:
    """Write the trace of one rank."""
    builder = TraceBuilder("train", origin=RECORDING, metadata={"rank": rank, "world_size": ranks})
    thread = builder.thread(0, "main")

    def site(line: int, label: str = "") -> int:
        return builder.site(Site(_FILE, line, 1, function="step", label=label))

    def event(kind: OperationKind, line: int, stream: int, name: int) -> None:
        api = {"EVENT_RECORD": "cudaEventRecord", "STREAM_WAIT_EVENT": "cudaStreamWaitEvent"}[kind.name]
        builder.append(kind, thread=thread, api=api, site=site(line), stream=stream, object=name)

    builder.append(OperationKind.CONTEXT_CURRENT, thread=thread, object=0x10)
    for stream, name in ((_UPLOAD, "upload"), (_COMPUTE, "compute")):
        builder.append(
            OperationKind.STREAM_CREATE, thread=thread, api="cudaStreamCreate", site=site(9, name), object=stream,
            detail=StreamKind.NON_BLOCKING,
        )  # fmt: skip
    for name in (0x31, 0x32):
        builder.append(OperationKind.EVENT_CREATE, thread=thread, api="cudaEventCreate", site=site(9), object=name)
    size = (1 + rank % 7) << 12
    for step in range(steps):
        address = 0x7000_0000_0000 + (rank << 32) + (step % 8) * (64 << 10)
        batch = Reference(address, size, step + 1, AccessMode.READ)
        written = Reference(address, size, step + 1, AccessMode.WRITE)
        host = Reference(0x1000_0000, size, 0, AccessMode.READ)
        last = step == steps - 1
        builder.append(
            OperationKind.ALLOC, thread=thread, api="cudaMallocAsync", site=site(12, "batch"), stream=_UPLOAD,
            references=[written], detail=MemoryKind.STREAM_ORDERED,
        )  # fmt: skip
        builder.append(
            OperationKind.COPY, thread=thread, api="cudaMemcpyAsync", site=site(13), stream=_UPLOAD,
            references=[written, host],
        )  # fmt: skip
        event(OperationKind.EVENT_RECORD, 14, _UPLOAD, 0x31)
        if not (last and EARLY in mistakes):
            event(OperationKind.STREAM_WAIT_EVENT, 15, _COMPUTE, 0x31)
        for line, name in ((16, "forward"), (17, "backward")):
            builder.append(
                OperationKind.LAUNCH, thread=thread, api="cudaLaunchKernel", site=site(line, name), stream=_COMPUTE,
                references=[batch],
            )  # fmt: skip
        event(OperationKind.EVENT_RECORD, 18, _COMPUTE, 0x32)
        if not (last and RACE in mistakes):
            event(OperationKind.STREAM_WAIT_EVENT, 19, _UPLOAD, 0x32)
        builder.append(
            OperationKind.FREE, thread=thread, api="cudaFreeAsync", site=site(20), stream=_UPLOAD,
            references=[batch], detail=FreeClass.ASYNC,
        )  # fmt: skip
    builder.append(OperationKind.CONTEXT_SYNCHRONIZE, thread=thread, api="cudaDeviceSynchronize", object=0x10)
    scratch = Reference(0x6000_0000_0000 + (rank << 20), size, steps + 1, AccessMode.WRITE)
    builder.append(
        OperationKind.ALLOC, thread=thread, api="cudaMalloc", site=site(24, "scratch"), references=[scratch],
        detail=MemoryKind.PLAIN,
    )  # fmt: skip
    for line, status in ((25, 0), (27, 1)) if TWICE in mistakes else ((25, 0),):
        builder.append(
            OperationKind.FREE, thread=thread, api="cudaFree", site=site(line), references=[scratch],
            detail=FreeClass.DEVICE, status=status,
        )  # fmt: skip
    trace = builder.finish()
    trace.source_lines = {_FILE: _LINES}
    write(trace, path)
