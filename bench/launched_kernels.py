"""What does it cost a check that kernels' machine code is read?

    python bench/launched_kernels.py
    python bench/launched_kernels.py --launches 200000 --shapes 60000

A synthetic recording of so many launches, of so many shapes, with four references each; beside it the same without
shapes. The kernel is one of the tests' (its code is read before, so that the time for nvdisasm is not in it). Prints
nanoseconds per operation to read the slots, and to analyse them, and the seconds to bring the shapes into tables.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import tempfile
import time
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
from streamsan.vocabulary import MemoryKind, OperationKind, StreamKind

CUBIN = Path(__file__).parents[1] / "tests" / "machine_code" / "kernels.sm_90.cubin"
OFFSETS = (0, 8, 16, 24)
BUFFERS = 1000
SIZE = 1 << 20
BASE = 0x7F0000000000
PART = 1 << 14


def setting() -> Slots:
    """Return the slots of a stream and of the buffers."""
    slots = np.zeros(BUFFERS + 1, SLOT)
    slots["sequence"] = np.arange(1, BUFFERS + 2)
    slots["kind"], slots["detail"], slots["size"] = OperationKind.ALLOC, MemoryKind.PLAIN, SIZE
    slots["address"] = BASE + np.arange(BUFFERS + 1, dtype=np.uint64) * SIZE
    first = slots[:1]
    first["kind"], first["detail"], first["object"] = OperationKind.STREAM_CREATE, StreamKind.NON_BLOCKING, 0x5000
    first["address"] = first["size"] = 0
    return slots


def launches(first: int, count: int, shapes: int) -> Slots:
    """Return the slots of launches, numbered from `first`; each has two continuation slots."""
    slots = np.zeros((count, 3), SLOT)
    number = np.arange(first, first + count, dtype=np.uint64)
    own = slots[:, 0]
    own["sequence"], own["kind"], own["stream"], own["more"] = number, OperationKind.LAUNCH, 0x5000, 2
    own["address"] = BASE + (1 + number % np.uint64(BUFFERS)) * np.uint64(SIZE)
    own["object"] = (1 + number % np.uint64(shapes)) << np.uint64(32) if shapes else 0
    further = slots.view(REFERENCES)[:, 1:]
    further["kind"] = OperationKind.REFERENCES
    for at, name in enumerate(("first_address", "second_address", "first_address")):
        further[name][:, at // 2] = BASE + (1 + (number + np.uint64(7 * at)) % np.uint64(BUFFERS)) * np.uint64(SIZE)
    further["count"] = [2, 1]
    return slots.reshape(-1)


def write(folder: Path, count: int, shapes: int) -> Path:
    """Write a recording; without `shapes` its launches name none."""
    path = folder / f"run{shapes}.sst"
    name = hashlib.md5(CUBIN.read_bytes()).hexdigest()
    (folder / "run.code").mkdir(exist_ok=True)
    shutil.copy(CUBIN, folder / "run.code" / f"{name}.cubin")
    places = tuple(PointerPlace(reference, offset) for reference, offset in enumerate(OFFSETS))
    with TraceWriter(path, origin="recording", metadata={"code": "run.code"}) as writer:
        writer.add_threads([Thread(0, "main")])
        writer.add_launch_shapes(
            LaunchShape("switches", (name,), (1 + number, 1, 1), (64, 1, 1), 0, places, bytes(40))
            for number in range(shapes)
        )
        begin = setting()
        writer.append_slots(begin)
        for done in range(0, count, PART):
            writer.append_slots(launches(len(begin) + 1 + done, min(PART, count - done), shapes))
    return path


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
    options = parser.parse_args()
    print(f"{'':18}{'open s':>8}{'slots ns':>10}{'analysis ns':>13}   per operation, {options.launches:,} launches")
    with tempfile.TemporaryDirectory() as folder:
        for shapes in (0, options.shapes):
            path = write(Path(folder), options.launches, shapes)
            resolve, slots, analysis = seconds(path, shapes > 0)
            label = f"{shapes:,} shapes"
            scale = 1e9 / options.launches
            print(f"{label:18}{resolve:>8.2f}{slots * scale:>10.0f}{analysis * scale:>13.0f}")


if __name__ == "__main__":
    main()
