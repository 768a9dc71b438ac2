"""What machine code says of kernels, compared with what instrumentation sees of the same launches.

    python bench/kernel_truth.py --samples cuda-samples --keep recordings
    python bench/kernel_truth.py --recordings recordings          # compares again, without a GPU

Records the programs of bench/kernel_truth (those whose name contains one of NAMES) with `streamsan run --accesses`:
kernels of PyTorch and its libraries, of CuPy, Triton and torch.compile, our own, and with `--samples` those of a
checkout of github.com/NVIDIA/cuda-samples. Such a recording has both the kernels' code and what they touched. Prints,
for each place that a kernel's arguments lead to, how the two fit:

- exact: each way of use that is said was seen, and no other; more: a way was said that was not seen in these launches;
- open: a use was seen that was not said, in a kernel that also follows addresses that it finds in memory;
- may: machine code says only that anything may be;
- contradicted: a use was seen that was said not to be, or bytes outside of those said, or bytes that were said to be
  touched for sure were not.

Exit status 1: something was contradicted. A GPU, nvcc and NVIDIA's Sanitizer API are needed to record, nvdisasm to
compare.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

from kernel_comparison import Compared, Place, compared
from kernel_programs import programs, record_all

from streamsan.launched_code.image_folder import image_folder
from streamsan.launched_code.kernel_readings import Kernel, read_kernels
from streamsan.launched_code.reference_patches import kernel_of
from streamsan.launched_code.remembered_kernels import RememberedKernels
from streamsan.trace import TraceError, family

PART = 30
"""kernels of a recording that are compared in one process, after each other"""
VERDICTS = ("exact", "more", "open", "may", "contradicted")
EXTENTS = ("exact", "gaps", "within", "unknown")
MAKERS = {
    "cuBLAS": r"cublas|nvjet|gemm|gemv|cutlass|xmma|trsm|gemvx|dot_kernel|nrm2|asum|syrk|splitK",
    "cuDNN": r"cudnn|implicit_convolve|winograd|nchwTo|nhwcTo",
    "cuFFT": r"cufft|regular_fft|vector_fft|bluestein|_fft",
    "cuSPARSE": r"cusparse",
    "cuSOLVER and MAGMA": r"cusolver|magma|getrf|potrf|geqrf|syevj|gesvd",
}
"""libraries, and what their kernels' names have in them; they are looked for in this order"""
PROGRAMS = {
    "triton": "Triton",
    "inductor": "torch.compile",
    "cupy": "CuPy",
    "torch": "PyTorch",
    "sample": "NVIDIA's samples",
    "own": "our own",
}
"""beginning of a program's name -> whose the other kernels are"""


def main() -> int:
    """Record, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAMES")
    parser.add_argument("--samples", type=Path, help="a checkout of NVIDIA/cuda-samples")
    parser.add_argument("--keep", type=Path, help="keep the recordings there")
    parser.add_argument("--recordings", type=Path, help="compare what was kept; record nothing")
    parser.add_argument("--seconds", type=float, default=120.0, help="that a program may begin operations for")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, help="programs, and comparisons, at a time")
    parser.add_argument("--shapes", type=int, default=8, help="launches of a kernel whose extents are compared")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="streamsan-kernels-") as folder:
        target = options.recordings or options.keep or Path(folder)
        if options.recordings is None:
            chosen = [each for each in programs(options.samples) if _is_chosen(each.name, options.names)]
            recordings = record_all(chosen, target.resolve(), options.samples, options.seconds, options.jobs)
            for program, ended in recordings:
                print(f"{program.name}: {ended}", flush=True)
        traces = [path for path in sorted(target.glob("*.sst")) if _is_chosen(path.name, options.names)]
        return printed(*compare_all(traces, options.jobs, options.shapes, Path(folder, "read")))


def _is_chosen(name: str, words: Sequence[str]) -> bool:
    return not words or any(word in name for word in words)


def compare_all(traces: Sequence[Path], jobs: int, shapes: int, memory: Path) -> tuple[Compared, dict[Kernel, str]]:
    """Compare recordings; with whose each kernel is. What is read of code is kept in the folder `memory`."""
    together, makers = Compared(), dict[Kernel, str]()
    with ProcessPoolExecutor(jobs) as pool:
        images: dict[str, tuple[Path, set[str]]] = {}
        parts: list[tuple[Path, list[Kernel]]] = []
        for path, kernels in zip(traces, pool.map(_kernels, traces), strict=True):
            count = -(-len(kernels) // PART)
            parts += [(path, kernels[at::count]) for at in range(count)]
            for symbol, names in kernels:
                for name in names:
                    images.setdefault(name, (path, set()))[1].add(symbol)
        largest = sorted(images.items(), key=lambda item: -len(item[1][1]))
        for _ in pool.map(_read, [(path, name, symbols, memory) for name, (path, symbols) in largest]):
            pass
        for (path, _), found in zip(parts, pool.map(_compared, parts, repeat(shapes), repeat(memory)), strict=True):
            together.add(found)
            for kernel in (*found.places, *found.unseen):
                makers.setdefault(kernel, maker(kernel[0], path.name))
    return together, makers


def _kernels(path: Path) -> list[Kernel]:
    """The launched kernels of a recording; none where it cannot be read."""
    try:
        return list(dict.fromkeys(kernel_of(shape) for shape in list(family.read(str(path)).launch_shapes)[1:]))
    except TraceError as error:
        print(f"{path}: {error.reason}", file=sys.stderr)
        return []


def _read(image: tuple[Path, str, set[str], Path]) -> None:
    """Read the launched kernels of one image of code, and remember them."""
    path, name, symbols, memory = image
    folder = image_folder(str(path), family.read(str(path)).metadata)
    read_kernels([(symbol, (name,)) for symbol in sorted(symbols)], folder, RememberedKernels(memory), None)


def _compared(part: tuple[Path, list[Kernel]], shapes: int, memory: Path) -> Compared:
    """Compare the launches of some kernels of a recording."""
    path, kernels = part
    trace = family.read(str(path))
    readings = read_kernels(kernels, image_folder(str(path), trace.metadata), RememberedKernels(memory), None)
    return compared(trace, readings, shapes)


def maker(symbol: str, program: str) -> str:
    """Whose a kernel is, by its name and by the program that launched it.

    >>> maker("_ZN2at6native29vectorized_elementwise_kernelE", "torch-float.sst"), maker("nvjet_tst_64x8", "torch.sst")
    ('PyTorch', 'cuBLAS')
    """
    for name, pattern in MAKERS.items():
        if not program.startswith(("triton", "sample", "own")) and re.search(pattern, symbol):
            return name
    return next((name for begin, name in PROGRAMS.items() if program.startswith(begin)), "others")


def printed(found: Compared, makers: dict[Kernel, str]) -> int:
    """Print the tables; 1 where something was contradicted."""
    by_maker: defaultdict[str, list[Kernel]] = defaultdict(list)
    for kernel in found.places:
        by_maker[makers[kernel]].append(kernel)
    print(f"\n| kernels of | compared | places | {' | '.join(VERDICTS)} |")
    print("|---" * (3 + len(VERDICTS)) + "|")
    for name, kernels in sorted(by_maker.items(), key=lambda item: -len(item[1])):
        print(_row(name, len(kernels), _places(found, kernels)))
    print(_row("all", len(found.places), _places(found, found.places)))
    sums: Counter[str] = Counter()
    for place in _places(found, found.places):
        sums += place.extents
    total = sum(sums.values())
    told = ", ".join(f"{name} {sums[name]:,} ({sums[name] / total:.1%})" for name in EXTENTS) if total else "none"
    print(f"\n{found.launches:,} launches; extents by launch, place and way of use: {told}")
    print(f"kernels whose launches instrumentation did not see (in graphs, say): {len(found.unseen)}")
    for reason, count in Counter(found.unread.values()).most_common():
        print(f"kernels not read, {reason}: {count}")
    status = 0
    for kernel, places in found.places.items():
        for words, place in places.items():
            for contradiction in sorted(place.contradictions)[:3]:
                status = 1
                print(f"CONTRADICTED {makers[kernel]}: {kernel[0]}, words {words}: {contradiction}")
    for kernel, what in found.stray.items():
        status = 1
        print(f"CONTRADICTED {makers[kernel]}: {kernel[0]}: {what}, to which nothing leads")
    return status


def _places(found: Compared, kernels: Iterable[Kernel]) -> list[Place]:
    return [place for kernel in kernels for place in found.places[kernel].values()]


def _row(name: str, kernels: int, places: Sequence[Place]) -> str:
    counts = Counter(place.verdict() for place in places)
    shares = [f"{counts[each]:,} ({counts[each] / max(1, len(places)):.1%})" for each in VERDICTS]
    return f"| {name} | {kernels:,} | {len(places):,} | {' | '.join(shares)} |"


if __name__ == "__main__":
    sys.exit(main())
