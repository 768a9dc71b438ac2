"""What `streamsan check` of sources costs beside cppcheck and clang-tidy, file by file, and when nothing has changed.

    python bench/source_speed.py FOLDER... [--files 100] [--cached 1000]

Takes so many CUDA sources of the folders, of all sizes alike, and reads each with each tool, in turns. The time is that
of processors, so that other work of the machine counts little. A tool that is not installed is left out. Then all files
in one process, and again with nothing changed (`--cached`: that many files, copies where there are fewer; side by side,
by the clock). Bytecode of Python is kept, as an installed program has it.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

SMALL = 0.5
"""share of the files, by size, that are small ones"""
HEAVY = 0.1
"""share that are heavy, by the longest time of any tool but streamsan"""
STREAMSAN = "streamsan"


@dataclass(frozen=True, slots=True)
class Cost:
    """What a command took."""

    processor: float
    wall: float
    ended: bool
    """it ended within its time"""


def tools(python: str) -> dict[str, list[str]]:
    """Return the tools that are here, each as a command that a file's name ends."""
    found = {STREAMSAN: [python, "-m", "streamsan", "--no-config", "check", "--exit-zero", "--no-cache"]}
    if shutil.which("cppcheck"):
        found["cppcheck"] = ["cppcheck", "--quiet", "--language=c++", "--enable=warning"]
    if shutil.which("clang-tidy"):
        found["clang-tidy"] = ["clang-tidy", "--quiet"]
    return found


def command(tool: str, words: Sequence[str], files: Sequence[str]) -> list[str]:
    """Return the whole command for some files."""
    behind = ["--", "-x", "cuda", "-nocudainc", "-nocudalib", "--no-cuda-version-check"]
    return [*words, *files, *(behind if tool == "clang-tidy" else ())]


def cost(words: Sequence[str], environment: dict[str, str], limit: float) -> Cost:
    """Run a command and return what it took, with all of its processes."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ended = True
    try:
        quiet = subprocess.DEVNULL
        subprocess.run(words, stdout=quiet, stderr=quiet, env=environment, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        ended = False
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall, ended)


def sources(places: Iterable[str], count: int) -> list[str]:
    """Return so many CUDA sources below some folders: of all sizes, from the smallest to the largest."""
    found = [path for place in places for path in Path(place).rglob("*.cu") if path.is_file()]
    by_size = sorted(found, key=lambda path: (path.stat().st_size, path))
    step = max(1.0, len(by_size) / count)
    return [str(by_size[int(number * step)]) for number in range(min(count, len(by_size)))]


def ratio_rows(costs: dict[str, list[Cost]], sizes: Sequence[int]) -> Iterable[tuple[str, list[int]]]:
    """Yield groups of files, by their numbers."""
    every = list(range(len(sizes)))
    yield "all", every
    yield "small", sorted(every, key=lambda number: sizes[number])[: max(1, int(len(every) * SMALL))]
    others = [each for tool, each in costs.items() if tool != STREAMSAN]
    if others:
        slowest = sorted(every, key=lambda number: -max(each[number].processor for each in others))
        yield "heavy", slowest[: max(1, int(len(every) * HEAVY))]


def tell(costs: dict[str, list[Cost]], sizes: Sequence[int]) -> None:
    """Print medians and ratios."""
    own = costs[STREAMSAN]
    print(f"\n{'files':<8}{'count':>6}" + "".join(f"{tool + ', median s':>24}{'ratio':>8}" for tool in costs))
    for name, numbers in ratio_rows(costs, sizes):
        base = statistics.median(own[number].processor for number in numbers)
        row = f"{name:<8}{len(numbers):>6}"
        for each in costs.values():
            median = statistics.median(each[number].processor for number in numbers)
            row += f"{median:>24.3f}" + f"{base / max(median, 1e-3):>7.1f}x"
        print(row)
    total = {tool: sum(each.processor for each in found) for tool, found in costs.items()}
    print("all together: " + ", ".join(f"{tool} {seconds:.1f} s" for tool, seconds in total.items()))
    for tool, found in costs.items():
        if late := sum(not each.ended for each in found):
            print(f"{tool}: {late} files were not done in time")


def again(files: Sequence[str], count: int, words: Sequence[str], environment: dict[str, str]) -> None:
    """Print what a first and a second run over so many files take, with a cache folder of their own."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            place = Path(folder, "sources", str(number // len(files)))
            place.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(files[number % len(files)], place / f"{number}.cu")
        kept = [word for word in words if word != "--no-cache"]
        run = [*kept, "--cache-dir", str(Path(folder, "cache")), str(Path(folder, "sources"))]
        for name in ("first", "second", "third"):
            took = cost(run, environment, 24 * 3600)
            print(f"{count} files, the {name} run: {took.wall:.2f} s", flush=True)


def main() -> int:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--files", type=int, default=100, help="how many files every tool reads")
    parser.add_argument("--cached", type=int, default=0, help="how many files are read twice")
    parser.add_argument("--seconds", type=float, default=120, help="how long a tool may take for one file")
    parser.add_argument("--python", default=sys.executable, help="of the environment with streamsan")
    options = parser.parse_args()
    files = sources(options.folders, options.files)
    if not files:
        parser.error("no CUDA sources there")
    with tempfile.TemporaryDirectory() as bytecode:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        found = tools(options.python)
        cost(command(STREAMSAN, found[STREAMSAN], files[:1]), environment, options.seconds)  # writes the bytecode
        costs: dict[str, list[Cost]] = {tool: [] for tool in found}
        for number, file in enumerate(files, 1):
            for tool, words in found.items():
                costs[tool].append(cost(command(tool, words, [file]), environment, options.seconds))
            if sys.stderr.isatty():
                print(f"\r{number}/{len(files)}", end="", file=sys.stderr, flush=True)
        tell(costs, [os.path.getsize(file) for file in files])
        # In one process: nobody waits for those that --jobs starts, so that their time is not counted.
        in_one = [*found[STREAMSAN], "--jobs", "1"]
        at_once = cost(command(STREAMSAN, in_one, files), environment, 24 * 3600)
        print(f"{STREAMSAN}, all in one run: {at_once.processor:.1f} s of processors, {at_once.wall:.1f} s")
        if options.cached:
            again(files, options.cached, found[STREAMSAN], environment)
    return 0


if __name__ == "__main__":
    sys.exit(main())
