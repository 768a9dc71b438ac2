"""What launches touch, from machine code: against the truth, and how much is known of real kernels.

`python bench/extents.py` runs the kernels of tests/machine_code/extent_kernels.cu on the host (needs g++), compares
what they touch with what their machine code says, for three architectures, and prints how many uses of pointers are
exact, exact but for gaps, bounded, or not known. `python bench/extents.py FILES` takes sources (needs nvcc) or cubins
instead: each kernel is launched with 64 blocks of 256 threads, numbers that are 10000, and addresses in the words that
it follows; there is no truth to compare with. Exit status 1: an extent was wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from machine_code import compiled
from streamsan.machine_code.cubin import CubinError, read_cubin
from streamsan.machine_code.kernel_accesses import KernelAccesses, accesses_of
from streamsan.machine_code.kernel_code import KernelCode, kernels_of
from streamsan.machine_code.launch_extents import Invocation, WordExtents, extents_of
from streamsan.vocabulary import AccessMode, SlotFlag

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests" / "machine_code"))

import extent_launches  # noqa: E402

ARCHITECTURES = ("sm_75", "sm_90", "sm_120")
COLUMNS = ("exact", "gaps", "bounded", "unknown", "WRONG")
GRID, BLOCK, NUMBER = (64, 1, 1), (256, 1, 1), 10000
Counts = dict[str, Counter[str]]


def main() -> int:
    """Print a line for each kernel and the sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILES")
    parser.add_argument("--architecture", default="sm_90")
    parser.add_argument("--launches", type=int, default=40, help="of each kernel")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.files:
        return printed(*of_files(options.files, options.architecture))
    status = 0
    for architecture in ARCHITECTURES:
        print(f"{architecture}: {options.launches} launches of each kernel")
        status |= printed(*of_known_kernels(architecture, options.launches, options.seed))
    return status


def of_known_kernels(architecture: str, count: int, seed: int) -> tuple[Counts, list[float]]:
    """The kernels of the tests, compared with the host."""
    content = (extent_launches.HERE / f"extent_kernels.{architecture}.cubin").read_bytes()
    codes = kernels_of(content, read_cubin(content))
    tried = list(extent_launches.launches(count, seed))
    with tempfile.TemporaryDirectory() as folder:
        host = extent_launches.compiled_host(Path(folder))
        truths = [extent_launches.touched_on_host(host, tried, memory) for memory in (1, 2, 3)]
    counts: Counts = defaultdict(Counter)
    seconds = []
    for number, each in enumerate(tried):
        found, taken = timed(codes[each.kernel], each.shape)
        seconds.append(taken)
        for word in sorted(each.shape.pointers):
            for mode in "rwu":
                ranges = [truth[number].get((word, mode), []) for truth in truths]
                said = extent_launches.verdict(found, word, mode, ranges)
                if said.startswith("WRONG"):
                    print(each, word, mode, said)
                if any(ranges) or said.startswith("WRONG"):
                    counts[each.kernel][said.partition(":")[0]] += 1
    return counts, seconds


def of_files(files: list[Path], architecture: str) -> tuple[Counts, list[float]]:
    """All kernels of sources and cubins."""
    counts: Counts = defaultdict(Counter)
    seconds = []
    for path in files:
        content = path.read_bytes() if path.suffix == ".cubin" else compiled(path, architecture)
        if content is None:
            print(f"{path}: nvcc refuses it", file=sys.stderr)
            continue
        try:
            cubin = read_cubin(content)
        except CubinError as error:
            print(f"{path}: {error}", file=sys.stderr)
            continue
        if not cubin.kernels:
            continue
        accesses = accesses_of(content, cubin)
        for symbol, code in kernels_of(content, cubin).items():
            found, taken = timed(code, shape_of(code, accesses[symbol]))
            seconds.append(taken)
            for said in uses_said(accesses[symbol], found):
                counts[f"{path.name}: {symbol}"][said] += 1
    return counts, seconds


def timed(code: KernelCode, shape: Invocation) -> tuple[dict[int, WordExtents], float]:
    """The extents of a launch, and how long they took, without what is done once for a kernel."""
    _ = code.address_code
    begin = time.perf_counter()
    found = extents_of(code, shape)
    return found, time.perf_counter() - begin


def shape_of(code: KernelCode, accesses: KernelAccesses) -> Invocation:
    """A launch with numbers that are not 0, and an address in each word that the kernel follows."""
    size = max((each.offset + each.size for each in code.layout.parameters), default=0)
    arguments = bytearray(size)
    for each in code.layout.parameters:
        for offset in range(each.offset, each.offset + each.size - 3, 8 if each.size % 8 == 0 else 4):
            arguments[offset : offset + 4] = NUMBER.to_bytes(4, "little")
    return Invocation(GRID, BLOCK, 0, bytes(arguments), frozenset(accesses.words))


def uses_said(accesses: KernelAccesses, found: dict[int, WordExtents]) -> Iterator[str]:
    """What is known of each use of a pointer."""
    for word, use in accesses.words.items():
        extents = found.get(word)
        if use.mode is AccessMode.OPAQUE:
            modes = ["reads", "writes", "updates"]
        elif use.flags & SlotFlag.ATOMIC:
            modes = ["updates"]
        else:
            modes = [
                name
                for name in ("reads", "writes")
                if name[:4].upper() in use.mode.name or name[:5] in use.mode.name.lower()
            ]
        for mode in modes:
            extent = None if extents is None else getattr(extents, mode)
            if extent is None:
                yield "unknown"
            elif not extent.sure:
                yield "bounded"
            else:
                yield "exact" if extent.dense or extent.rows else "gaps"


def printed(counts: Counts, seconds: list[float]) -> int:
    """Print the table; 1 where an extent was wrong."""
    width = max((len(name) for name in counts), default=0)
    width = min(width, 100)
    print(" " * width, *(f"{column:>8}" for column in COLUMNS))
    sums: Counter[str] = Counter()
    for name, counted in counts.items():
        sums += counted
        print(f"{name[:width]:{width}}", *(f"{counted[column] or '':>8}" for column in COLUMNS))
    print(f"{'all':{width}}", *(f"{sums[column]:>8}" for column in COLUMNS))
    if seconds:
        seconds.sort()
        middle, last = seconds[len(seconds) // 2], seconds[-1]
        print(f"{len(seconds)} launches: {1000 * middle:.1f} ms in the middle, {1000 * last:.0f} ms at most\n")
    return 1 if sums["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(main())
