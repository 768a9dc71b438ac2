"""Whether `streamsan run --accesses` sees exactly what kernels touch. Needs a GPU, nvcc and NVIDIA's Sanitizer API.

A program (bench/recorder/walks.cu) touches memory in many ways, at random: every size of access, warps whose threads
go forwards, backwards, in tiles, in pairs, far apart. It prints what it touched; the recording must say the same of
each launch. Exit status 1: something differs.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from byte_sets import ByteSet
from recording import compiled, recorded

from streamsan.trace import Reference, family
from streamsan.trace.view import iterate
from streamsan.vocabulary import AccessMode, OperationKind, SeenAccesses, SlotFlag

Uses = dict[str, ByteSet]
"""what was touched, by use: r, w, a"""


def expected(lines: Sequence[str]) -> list[Uses]:
    """Return what each launch touches."""
    launches: list[dict[str, list[tuple[int, int]]]] = []
    for line in lines:
        use, *numbers = line.split()
        if use == "launch":
            launches.append(defaultdict(list))
        else:
            launches[-1][use].append((int(numbers[0]), int(numbers[1])))
    return [{use: ByteSet(ranges) for use, ranges in launch.items()} for launch in launches]


def bytes_of(reference: Reference) -> ByteSet:
    """Return the bytes of a reference."""
    rows = reference.rows
    if rows is None:
        return ByteSet([(reference.address, reference.address + max(1, reference.size))])
    return ByteSet.of_rows(reference.address, rows.width, rows.pitch, rows.count, rows.slice_pitch, rows.slices)


def seen(path: Path) -> Iterator[tuple[SeenAccesses, tuple[Reference, ...]]]:
    """Yield how each launch was seen, and what it touched."""
    trace = family.read(str(path))
    launches: list[int] = []
    found: dict[int, tuple[SeenAccesses, tuple[Reference, ...]]] = {}
    for operation in iterate(trace):
        if operation.kind is OperationKind.LAUNCH:
            launches.append(operation.sequence)
        elif operation.kind is OperationKind.LAUNCH_ACCESSES:
            found[operation.object] = SeenAccesses(operation.detail), operation.references
    for launch in launches:
        yield found.get(launch, (SeenAccesses.SOME, ()))


def verdict(wanted: Uses, how: SeenAccesses, references: Sequence[Reference]) -> str:
    """Return how what was seen of a launch fits."""
    if how is SeenAccesses.SOME:
        return "not all seen"
    got: dict[str, list[Reference]] = defaultdict(list)
    for reference in references:
        if reference.flags & SlotFlag.ATOMIC:
            got["a"].append(reference)
        else:
            # Of a word that may be a flag the mode is not told by older versions of the API.
            modes = {AccessMode.READ: "r", AccessMode.WRITE: "w", AccessMode.READ_WRITE: "rw"}
            for use in modes.get(reference.mode, next(iter(wanted), "")):
                got[use].append(reference)
    if set(got) != set(wanted):
        return "another use"
    for use, bytes_ in wanted.items():
        if any(reference.flags & SlotFlag.ASSUMED for reference in got[use]):
            bounds = ByteSet.union(map(bytes_of, got[use]))
            if bytes_ - bounds:
                return "outside of the bounds"
            return "bounds"
        # Of atomic operations and of flags only the first byte is told.
        whole = all(reference.size for reference in got[use])
        told = ByteSet.union(map(bytes_of, got[use]))
        if (told != bytes_) if whole else bool(told - bytes_):
            return "other bytes"
    return "exact" if all(reference.size for reference in references) else "first byte"


def main(arguments: Sequence[str] | None = None) -> int:
    """Record the program with some seeds, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--launches", type=int, default=300)
    given = parser.parse_args(arguments)
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="streamsan-walks-") as name:
        folder = Path(name)
        program = compiled(folder, "walks.cu")
        for seed in range(given.seeds):
            for options in (("--accesses",), ("--accesses-first", "2")):
                command = [*recorded(folder, *options), program, str(seed), str(given.launches)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                wanted = expected(done.stdout.splitlines())
                found = list(seen(folder / "bench.sst"))
                verdicts = Counter(verdict(uses, *each) for uses, each in zip(wanted, found, strict=True))
                trusted = sum(how is SeenAccesses.LEARNED for how, _ in found)
                print(f"seed {seed} {' '.join(options):<20} {dict(verdicts)}, {trusted} trusted", flush=True)
                wrong += sum(verdicts[each] for each in ("another use", "outside of the bounds", "other bytes"))
    return int(wrong != 0)


if __name__ == "__main__":
    sys.exit(main())
