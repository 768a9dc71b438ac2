"""What does it cost a check that kernels' machine code is read?

    python bench/launched_kernels.py
    python bench/launched_kernels.py --launches 200000 --shapes 60000

Synthetic recordings of so many launches; each once with so many launch shapes, and once without any:

- storm: one reference, whose extent is known; a stream-ordered pair every fourth launch (recorder/storm.cu);
- four: four references, two continuation slots;
- rows: a launch gets a continuation slot that says which rows it touches.

The kernels are the tests' (their code is read before: nvdisasm's own time, most of a second for each image that was
not seen before, is not in it). Prints nanoseconds per operation to read the slots, and to analyse them, that against
what it takes without shapes, and the seconds to bring the shapes into tables. Each is the least of `--rounds`.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import struct
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from streamsan.launched_code.resolution import resolve_kernels
from streamsan.order import engine
from streamsan.trace import Thread, Trace
from streamsan.trace.launch_shapes import LaunchShape, PointerPlace
from streamsan.trace.layout import REFERENCES, SLOT
from streamsan.trace.reader import read
from streamsan.trace.store import Slots
from streamsan.trace.writer import TraceWriter
from streamsan.vocabulary import AccessMode, FreeClass, MemoryKind, OperationKind, StreamKind

CUBINS = Path(__file__).parents[1] / "tests" / "machine_code"
BUFFERS = 1000
SIZE = 1 << 20
BASE = 0x7F0000000000
SCRATCH = BASE - SIZE
STREAM = 0x5000
PART = 1 << 14


@dataclass(frozen=True)
class Workload:
    """Launches of one kernel."""

    name: str
    cubin: str
    symbol: str
    arguments: bytes
    references: int = 1
    paired: bool = False
    """every fourth launch uses memory that is allocated before it and freed behind it"""


WORKLOADS = (
    Workload("storm", "extent_kernels", "no_guard", bytes(8), paired=True),
    Workload("four", "kernels", "switches", bytes(40), references=4),
    Workload("rows", "extent_kernels", "image", struct.pack("<QQiif", 0, 1024, 32, 1, 1.0)),
)


def setting() -> Slots:
    """Return the slots of a stream and of the buffers."""
    slots = np.zeros(BUFFERS + 1, SLOT)
    slots["sequence"] = np.arange(1, BUFFERS + 2)
    slots["kind"], slots["detail"], slots["size"] = OperationKind.ALLOC, MemoryKind.PLAIN, SIZE
    slots["address"] = BASE + np.arange(BUFFERS + 1, dtype=np.uint64) * SIZE
    first = slots[:1]
    first["kind"], first["detail"], first["object"] = OperationKind.STREAM_CREATE, StreamKind.NON_BLOCKING, STREAM
    first["address"] = first["size"] = 0
    return slots


def launches(count: int, shapes: int, references: int) -> Slots:
    """Return the slots of launches, one row for each: its own, and those of further references."""
    slots = np.zeros((count, 1 + references // 2), SLOT)
    number = np.arange(count, dtype=np.uint64)
    own = slots[:, 0]
    own["kind"], own["stream"], own["more"] = OperationKind.LAUNCH, STREAM, references // 2
    own["address"], own["flags"] = BASE + (1 + number % np.uint64(BUFFERS)) * np.uint64(SIZE), AccessMode.OPAQUE
    own["object"] = (1 + number % np.uint64(shapes)) << np.uint64(32) if shapes else 0
    further = slots.view(REFERENCES)[:, 1:]
    further["kind"] = OperationKind.REFERENCES
    for at in range(references - 1):
        column = further[:, at // 2]
        column["count"] = at % 2 + 1
        address = BASE + (1 + (number + np.uint64(7 * at)) % np.uint64(BUFFERS)) * np.uint64(SIZE)
        column["second_address" if at % 2 else "first_address"] = address
    return slots


def with_pairs(launched: Slots) -> Slots:
    """Return launches with an allocation before every fourth, and its release behind it."""
    slots = np.zeros((len(launched) // 4, 6), SLOT)
    slots[:, [1, 3, 4, 5]] = launched[: 4 * len(slots), 0].reshape(-1, 4)
    for at, kind, detail in (
        (0, OperationKind.ALLOC, MemoryKind.STREAM_ORDERED),
        (2, OperationKind.FREE, FreeClass.ASYNC),
    ):
        column = slots[:, at]
        column["kind"], column["detail"], column["stream"] = kind, detail, STREAM
    slots["address"][:, :3], slots["size"][:, 0] = SCRATCH, SIZE
    return slots


def write(folder: Path, workload: Workload, count: int, shapes: int) -> tuple[Path, int]:
    """Write a recording, and return its number of operations; without `shapes` its launches name none."""
    path = folder / f"{workload.name}{shapes}.sst"
    content = (CUBINS / f"{workload.cubin}.sm_90.cubin").read_bytes()
    name = hashlib.md5(content).hexdigest()
    (folder / "run.code").mkdir(exist_ok=True)
    shutil.copy(CUBINS / f"{workload.cubin}.sm_90.cubin", folder / "run.code" / f"{name}.cubin")
    places = tuple(PointerPlace(number, 8 * number) for number in range(workload.references))
    with TraceWriter(path, origin="recording", metadata={"code": "run.code"}) as writer:
        writer.add_threads([Thread(0, "main")])
        writer.add_launch_shapes(
            LaunchShape(workload.symbol, (name,), (1, 1 + number, 1), (32, 1, 1), 0, places, workload.arguments)
            for number in range(shapes)
        )
        begin = setting()
        writer.append_slots(begin)
        operations = len(begin)
        for done in range(0, count, PART):
            rows = launches(min(PART, count - done), shapes, workload.references)
            rows = with_pairs(rows) if workload.paired else rows
            slots = rows.reshape(-1)
            owners = np.flatnonzero(slots["kind"] != OperationKind.REFERENCES)
            slots["sequence"][owners] = operations + 1 + np.arange(len(owners))
            operations += len(owners)
            writer.append_slots(slots)
    return path, operations


def seconds(path: Path, resolved: bool) -> tuple[float, float, float]:
    """Return how long it takes to resolve the kernels, to read all slots, and to analyse them."""

    def opened() -> Trace:
        trace = read(path)
        if resolved:
            resolve_kernels(trace, str(path))
        return trace

    opened()  # what is read of the code once is remembered
    begin = time.perf_counter()
    trace = opened()
    made = time.perf_counter()
    for _ in trace.chunks():
        pass
    passed = time.perf_counter()
    engine.analyse(trace)
    return made - begin, passed - made, time.perf_counter() - passed


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launches", type=int, default=1_000_000)
    parser.add_argument("--shapes", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{'':20}{'open s':>8}{'slots ns':>10}{'analysis ns':>13}{'ratio':>7}   per operation")
    with tempfile.TemporaryDirectory() as folder:
        for workload in WORKLOADS:
            plain = 0.0
            for shapes in (0, options.shapes):
                path, operations = write(Path(folder), workload, options.launches, shapes)
                rounds = [seconds(path, shapes > 0) for _ in range(options.rounds)]
                resolve, slots, analysis = map(min, zip(*rounds, strict=True))
                path.unlink()
                plain = plain or analysis
                label, scale = f"{workload.name}, {shapes:,} shapes", 1e9 / operations
                print(
                    f"{label:20}{resolve:>8.2f}{slots * scale:>10.0f}{analysis * scale:>13.0f}{analysis / plain:>7.2f}"
                    f"   {operations:,} operations"
                )


if __name__ == "__main__":
    main()
