"""What `streamsan check` of sources costs beside cppcheck and clang-tidy, file by file, and when nothing has changed.

    python bench/source_speed.py FOLDER... [--files 100] [--cached 1000] [--cuda TOOLKIT] [--include FOLDER]

Takes so many CUDA sources of the folders, of all sizes alike, and reads each with each tool, in turns, a process for
each; the small ones also with streamsan once more, when nothing has changed. Then the small ones, and all, in one
command of each tool, which starts once; and what small ones take by themselves in a process of streamsan that has
begun. The time is that of processors, with all processes that a tool starts, so that other work of the machine counts
little. A tool that is not installed is left out. `--cached`: that many files twice, copies where there are fewer, side
by side, by the clock. Bytecode of Python is kept, as an installed program has it.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
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
"""share that are heavy, by the longest time of another tool"""
STREAMSAN = "streamsan"
UNCHANGED = "unchanged"
"""streamsan, where a file is as it was in an earlier run"""
_IN_ONE_PROCESS = """
import sys, time, streamsan
for number, file in enumerate(sys.argv[1:2] + sys.argv[1:]):
    begin = time.process_time()
    streamsan.check([file])
    if number:  # what is loaded for the first one was loaded then
        print(time.process_time() - begin, flush=True)
"""
_DEFAULT_CHECKS = "{Checks: 'clang-diagnostic-*,clang-analyzer-*'}"
"""clang-tidy's own, where a project names none: files of many projects are read in one way"""
_STOPPED = b"[clang-diagnostic-error"
"""what clang-tidy says where its compiler does not come through; the checks look at little then, or at nothing"""
PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True)
class Cost:
    """What a command took."""

    processor: float
    wall: float
    ended: bool
    """it ended within its time"""
    through: bool
    """it read the source to its end: no header was missing, and no declaration not understood"""


def tools(python: str) -> dict[str, list[str]]:
    """Return the tools that are here, each as a command that files' names follow."""
    installed = Path(python).with_name("streamsan")
    start = [str(installed)] if installed.exists() else [python, "-m", "streamsan"]
    found = {STREAMSAN: [*start, "--no-config", "check", "--exit-zero", "--no-cache"]}
    if shutil.which("cppcheck"):
        found["cppcheck"] = ["cppcheck", "--quiet", "--language=c++", "--enable=warning"]
    if shutil.which("clang-tidy"):
        found["clang-tidy"] = ["clang-tidy", "--quiet", f"--config={_DEFAULT_CHECKS}"]
    return found


def compiler_options(toolkit: str, includes: Iterable[str]) -> list[str]:
    """Return what clang is told of CUDA: a toolkit's headers, and folders with more of them."""
    options = ["--", "-x", "cuda", "-nocudalib", "--cuda-host-only", "--no-cuda-version-check"]
    folders = [str(Path(toolkit, "include/cccl")), *includes]
    return [*options, f"--cuda-path={toolkit}", *(f"-I{folder}" for folder in folders)]


def command(tool: str, words: Sequence[str], files: Sequence[str], compiler: Sequence[str]) -> list[str]:
    """Return the whole command for some files."""
    return [*words, *files, *(compiler if tool == "clang-tidy" else ())]


def adopt() -> None:
    """Become the parent of what processes leave behind: its time counts, too (Linux)."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def wait_for_all() -> None:
    """Wait for all children, so that their time is known."""
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def cost(words: Sequence[str], environment: dict[str, str], limit: float) -> Cost:
    """Run a command and return what it took, with all of its processes."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ended, said = True, b""
    try:
        said = subprocess.run(words, capture_output=True, env=environment, timeout=limit, check=False).stdout
    except subprocess.TimeoutExpired:
        ended = False
    wait_for_all()
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall, ended, _STOPPED not in said)


def sources(places: Iterable[str], count: int) -> list[str]:
    """Return so many CUDA sources below some folders: of all sizes, from the smallest to the largest."""
    found = [path for place in places for path in Path(place).rglob("*.cu") if path.is_file()]
    by_size = sorted(found, key=lambda path: (path.stat().st_size, path))
    step = max(1.0, len(by_size) / count)
    return [str(by_size[int(number * step)]) for number in range(min(count, len(by_size)))]


def groups(costs: dict[str, list[Cost]], sizes: Sequence[int]) -> Iterable[tuple[str, list[int]]]:
    """Yield groups of files, by their numbers."""
    every = list(range(len(sizes)))
    yield "all", every
    yield "small", sorted(every, key=lambda number: sizes[number])[: max(1, int(len(every) * SMALL))]
    for tool, each in costs.items():
        if tool != STREAMSAN:
            through = [number for number in every if each[number].through]
            slowest = sorted(through, key=lambda number: -each[number].processor)
            yield f"heavy for {tool}", slowest[: max(1, int(len(every) * HEAVY))]


def tell(costs: dict[str, list[Cost]], sizes: Sequence[int]) -> None:
    """Print medians, each beside streamsan's of the files that the tool came through."""
    own = costs[STREAMSAN]
    unchanged = costs.pop(UNCHANGED)
    print(f"\n{'medians':<20}{'tool':<12}{'files':>6}{'its s':>10}{STREAMSAN + ', s':>14}{'ratio':>8}")
    for name, numbers in groups(costs, sizes):
        for tool, each in costs.items():
            if tool == STREAMSAN or not (through := [number for number in numbers if each[number].through]):
                continue
            median = statistics.median(each[number].processor for number in through)
            base = statistics.median(own[number].processor for number in through)
            ratio = base / max(median, 1e-3)
            print(f"{name:<20}{tool:<12}{len(through):>6}{median:>10.3f}{base:>14.3f}{ratio:>7.1f}x")
    if unchanged:
        print(f"small, nothing changed: {STREAMSAN}, median {statistics.median(e.processor for e in unchanged):.3f} s")
    total = {tool: sum(each.processor for each in found) for tool, found in costs.items()}
    print("all together: " + ", ".join(f"{tool} {seconds:.1f} s" for tool, seconds in total.items()))
    for tool, found in costs.items():
        if late := sum(not each.ended for each in found):
            print(f"{tool}: {late} files were not done in time")


def in_one_command(
    found: dict[str, list[str]], files: Sequence[str], name: str, compiler: Sequence[str], environment: dict[str, str]
) -> None:
    """Print what each tool takes for files that it is given in one command."""
    print(f"\n{len(files)} files ({name}) in one command:")
    for tool, words in found.items():
        took = cost(command(tool, words, files, compiler), environment, 24 * 3600)
        each = took.processor / len(files)
        print(f"  {tool}: {took.processor:.2f} s of processors, {each:.3f} s a file; {took.wall:.2f} s", flush=True)


def in_one_process(python: str, files: Sequence[str], environment: dict[str, str]) -> None:
    """Print what files take by themselves in a process of streamsan that has begun."""
    words = [python, "-c", _IN_ONE_PROCESS, *files]
    ran = subprocess.run(words, stdout=subprocess.PIPE, text=True, env=environment, check=True)
    took = statistics.median(map(float, ran.stdout.split()))
    print(f"\nin one process of {STREAMSAN}, without its start: small, median {took:.3f} s", flush=True)


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
            print(f"{count} files, the {name} run: {took.processor:.2f} s of processors, {took.wall:.2f} s", flush=True)


def main() -> int:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--files", type=int, default=100, help="how many files every tool reads")
    parser.add_argument("--cached", type=int, default=0, help="how many files are read twice")
    parser.add_argument("--seconds", type=float, default=120, help="how long a tool may take for one file")
    parser.add_argument("--cuda", default="/usr/local/cuda", help="a CUDA toolkit, whose headers clang-tidy reads")
    parser.add_argument("--include", action="append", default=[], help="more headers for clang-tidy")
    parser.add_argument("--python", default=sys.executable, help="of the environment with streamsan")
    options = parser.parse_args()
    files = sources(options.folders, options.files)
    if not files:
        parser.error("no CUDA sources there")
    adopt()
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(Path(folder, "bytecode"))}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        found = tools(options.python)
        compiler = compiler_options(options.cuda, options.include)
        cost([*found[STREAMSAN], files[0]], environment, options.seconds)  # writes the bytecode
        sizes = [os.path.getsize(file) for file in files]
        by_size = sorted(range(len(files)), key=sizes.__getitem__)
        small = {files[number] for number in by_size[: max(1, int(len(files) * SMALL))]}
        kept = [word for word in found[STREAMSAN] if word != "--no-cache"]
        kept += ["--cache-dir", str(Path(folder, "cache"))]
        costs: dict[str, list[Cost]] = {tool: [] for tool in (*found, UNCHANGED)}
        for number, file in enumerate(files, 1):
            for tool, words in found.items():
                costs[tool].append(cost(command(tool, words, [file], compiler), environment, options.seconds))
            if file in small and cost([*kept, file], environment, options.seconds).ended:
                costs[UNCHANGED].append(cost([*kept, file], environment, options.seconds))
            if sys.stderr.isatty():
                print(f"\r{number}/{len(files)}", end="", file=sys.stderr, flush=True)
        tell(costs, sizes)
        in_one_process(options.python, [file for file in files if file in small], environment)
        in_one_command(found, [file for file in files if file in small], "small", compiler, environment)
        if options.cached:
            again(files, options.cached, found[STREAMSAN], environment)
        in_one_command(found, files, "all", compiler, environment)
    return 0


if __name__ == "__main__":
    sys.exit(main())
