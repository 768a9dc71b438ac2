"""What recording costs: each workload plain and recorded, in turns, in one run; needs a GPU, nvcc and CUPTI's headers.

`python bench/recording.py` prints ratios of a launch storm, a PyTorch step and a graph replay loop; `--others` puts
compute-sanitizer and PyTorch's CUDA Sanitizer beside them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent / "recorder"
STREAMSAN = [sys.executable, "-m", "streamsan"]


class WorkloadError(Exception):
    """A workload did not run to its end; the text says which, and what it printed."""


@dataclass
class Way:
    """One way of running a workload: what stands before its command, and in its environment."""

    name: str
    prefix: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    rounds: int = 0
    """0: as often as the plain one; slow tools run once"""


def value_of(command: Sequence[str], way: Way) -> float:
    """Run a workload once and return the number on the last line of its output."""
    done = subprocess.run(
        [*way.prefix, *command], env={**os.environ, **way.environment}, capture_output=True, text=True, check=False
    )
    lines = [line for line in done.stdout.splitlines() if line.strip() and not line.startswith("=")]
    if done.returncode != 0 or not lines:
        raise WorkloadError(
            f"{way.name}: {' '.join(command)} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
        )
    return float(lines[-1])


def measure(
    title: str, unit: str, command: Sequence[str], ways: Sequence[Way], rounds: int, of: Callable[[list[float]], float]
) -> dict[str, float]:
    """Run all ways in turns and print a line for each: its value and its ratio to the first. Returns the values."""
    taken: dict[str, list[float]] = {way.name: [] for way in ways}
    for number in range(rounds):
        for way in ways:
            if number < (way.rounds or rounds):
                taken[way.name].append(value_of(command, way))
    values = {name: of(numbers) for name, numbers in taken.items()}
    plain = values[ways[0].name]
    print(f"\n{title} ({unit}; {rounds} runs of each, in turns)")
    for name, value in values.items():
        spread = f"{min(taken[name]):.3f} to {max(taken[name]):.3f}"
        print(f"  {name:<42} {value:9.3f}   {value / plain:6.3f}x   ({spread})", flush=True)
    return values


def compiled(folder: Path, name: str, *options: str) -> str:
    """Compile a program of this folder; return its path."""
    target = folder / Path(name).stem
    subprocess.run(["nvcc", "-O2", "-g", *options, "-o", str(target), str(HERE / name)], check=True)
    return str(target)


def recorded(folder: Path, *options: str) -> list[str]:
    """Return the words that record a command without checking it."""
    return [*STREAMSAN, "run", "--no-check", "-o", str(folder / "bench.sst"), *options, "--"]


def compute_sanitizer() -> list[str]:
    """Return the words that run a command under memcheck with stream-ordered races; empty where it is not installed."""
    found = shutil.which("compute-sanitizer")
    return [found, "--tool", "memcheck", "--track-stream-ordered-races", "all"] if found else []


def torch_tools() -> list[Way]:
    """Return a plain way, and one for each other tool that says something of PyTorch's work."""
    tools = [Way("plain"), Way("PyTorch's CUDA Sanitizer", environment={"TORCH_CUDA_SANITIZER": "1"}, rounds=1)]
    if words := compute_sanitizer():
        tools.append(Way("compute-sanitizer memcheck", words, rounds=1))
    return tools


def build_with_cupti(library: Path, source: str, *options: str) -> None:
    """Compile a library of this folder that uses CUPTI's headers."""
    cuda = Path(shutil.which("nvcc") or "").resolve().parents[1]
    includes = [str(path) for path in (cuda / "include", cuda / "extras/CUPTI/include") if path.is_dir()]
    libraries = [str(path) for path in (cuda / "lib64", cuda / "extras/CUPTI/lib64") if path.is_dir()]
    subprocess.run(
        ["c++", "-O2", "-shared", "-fPIC", *(f"-I{path}" for path in includes), "-o", str(library)]
        + [str(HERE / source), *(f"-L{path}" for path in libraries), *options]
        + [f"-Wl,-rpath,{path}" for path in libraries],
        check=True,
    )


def empty_subscriber(folder: Path) -> str:
    """Compile the subscriber whose callbacks do nothing; return its path."""
    empty = folder / "empty.so"
    if not empty.exists():
        build_with_cupti(empty, "empty_subscriber.cpp", "-lcupti")
    return str(empty)


def storm(folder: Path, rounds: int, others: bool) -> None:
    """300,000 launches with a stream-ordered pair every fourth; then a longer one's check against its run."""
    program = compiled(folder, "storm.cu")
    ways = [
        Way("plain"),
        Way("a subscriber that does nothing", environment={"CUDA_INJECTION64_PATH": empty_subscriber(folder)}),
        Way("streamsan run --no-sites", recorded(folder, "--no-sites")),
        Way("streamsan run", recorded(folder)),
    ]
    values = measure("launch storm", "us per launch", [program], ways, rounds, min)
    ratio = values["streamsan run --no-sites"] / values["a subscriber that does nothing"]
    print(f"  without call sites, against the subscriber that does nothing: {ratio:.3f}x")
    if others and (words := compute_sanitizer()):
        slow = [Way("plain"), Way("compute-sanitizer memcheck", words, rounds=1)]
        measure("launch storm, 20,000 launches", "us per launch", [program, "20000", "1"], slow, 1, min)
    trace = folder / "storm.sst"
    count = 3_000_000
    begin = time.perf_counter()
    subprocess.run(
        [*STREAMSAN, "run", "--no-check", "-o", str(trace), "--", program, str(count), "1"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    ran = time.perf_counter() - begin
    begin = time.perf_counter()
    checked = subprocess.run(
        [*STREAMSAN, "check", "--exit-zero", str(trace)], capture_output=True, text=True, check=True
    )
    took = time.perf_counter() - begin
    counts = next(line for line in checked.stdout.splitlines() if line.endswith(" operations"))
    operations = int(counts.split(",")[-1].split()[0])
    size = trace.stat().st_size
    print(f"\ncheck of a storm of {count:,} launches: {operations:,} operations, {size / operations:.1f} bytes each")
    print(f"  the storm, recorded, ran {ran:.2f} s; its check takes {took:.2f} s: {ran / took:.1f} times faster")


class Served:
    """A process that runs as many steps as it is told, when it is told."""

    def __init__(self, command: Sequence[str], way: Way) -> None:
        self.name = way.name
        self._process = subprocess.Popen(
            [*way.prefix, *command],
            env={**os.environ, **way.environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def wait(self) -> None:
        """Wait until it is ready."""
        if self._answer() != "ready":
            raise WorkloadError(f"{self.name}: did not get ready")

    def milliseconds(self, steps: int) -> float:
        """Return how long one of so many steps took."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{steps}\n")
        self._process.stdin.flush()
        return float(self._answer())

    def switch(self, mode: str) -> None:
        """Say what becomes of the calls of the steps that follow: one of `MODES` of recorder/served.py."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{mode}\n")

    def times(self) -> str:
        """Return what took how long in the steps that were timed, in JSON."""
        assert self._process.stdin is not None
        self._process.stdin.write("times\n")
        self._process.stdin.flush()
        return self._answer()

    def end(self) -> None:
        """End the process."""
        try:
            self._process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if not line.startswith("="):  # compute-sanitizer's own
                return line.strip()
        raise WorkloadError(f"{self.name}: ended with {self._process.wait()}")


def switched(way: Way, folder: Path) -> Way:
    """A way that can be switched on and off while the process runs (recorder/switched_cupti.cpp)."""
    library = folder / "libcupti.so.stand-in"
    if not library.exists():
        build_with_cupti(library, "switched_cupti.cpp", "-std=c++20", "-ldl")
    return replace(way, environment={"STREAMSAN_BENCH_CUPTI": str(library)})


STEPS, TURNS = 50, 40


def neighbours(one: Callable[[], float], other: Callable[[], float], turns: int = TURNS) -> tuple[list[float], float]:
    """Take turns; return what `one` gave, and the median of the ratios of `other` to it."""
    ones, ratios = [], []
    for turn in range(turns):
        if turn % 2:
            second, first = other(), one()
        else:
            first, second = one(), other()
        ones.append(first)
        ratios.append(second / first)
    return ones, statistics.median(ratios)


def off_and_on(process: Served, steps: int, turns: int, on: str = "on") -> tuple[list[float], float]:
    """Switch recording off and on in turns; return what steps took without it, and the median of the ratios."""

    def one(mode: str) -> float:
        process.switch(mode)
        return process.milliseconds(steps)

    return neighbours(partial(one, "off"), partial(one, on), turns)


def mlp(folder: Path, rounds: int, others: bool) -> None:
    """A PyTorch training step, with call sites.

    One process differs from the next by more than what recording costs. So the recorder is switched on and off within
    one process, every some dozen steps, CUPTI's callbacks with it, and what counts is the median of the ratios of
    neighbours, over several processes. A subscriber that does nothing, beside a plain process, tells what is left of
    CUPTI when it is off, as exactly as that can be told.
    """
    command = [sys.executable, str(HERE / "mlp.py")]
    plain_way = Way("plain")
    empty_way = Way("a subscriber that does nothing", environment={"CUDA_INJECTION64_PATH": empty_subscriber(folder)})
    recording = [
        Way("streamsan run --no-sites", [*recorded(folder, "--no-sites")[:-1], "-o", str(folder / "bare.sst"), "--"]),
        Way("streamsan run", recorded(folder)),
    ]
    plain: list[float] = []
    ratios: dict[str, list[float]] = {way.name: [] for way in (empty_way, *recording)}
    for _ in range(rounds):
        ways = [plain_way, empty_way, *(switched(way, folder) for way in recording)]
        group = [Served([*command, "serve"], way) for way in ways]
        for process in group:
            process.wait()
        times, ratio = neighbours(partial(group[0].milliseconds, STEPS), partial(group[1].milliseconds, STEPS))
        plain += times
        ratios[group[1].name].append(ratio)
        for process in group[2:]:
            ratios[process.name].append(off_and_on(process, STEPS, TURNS)[1])
        for process in group:
            process.end()
    print(f"\nPyTorch MLP training step ({rounds} groups of processes, {TURNS} turns of {STEPS} steps each)")
    print(f"  {'plain':<42} {statistics.median(plain):9.3f} ms per step")
    for name, of_way in ratios.items():
        against = "against plain" if name == empty_way.name else "on against off, in one process"
        spread = f"{min(of_way):.3f} to {max(of_way):.3f}"
        print(f"  {name:<42} {statistics.median(of_way):19.3f}x   ({spread}; {against})", flush=True)
    if not others:
        return
    measure("PyTorch MLP training step, 50 steps", "ms per step", [*command, "50", "1"], torch_tools(), 1, min)


def replay(folder: Path, rounds: int, others: bool) -> None:
    """Graph replay loops, with call sites: of 100 kernels, and of 20 where what any callback costs shows more."""
    program = compiled(folder, "replay.cu")
    ways = [
        Way("plain"),
        Way("a subscriber that does nothing", environment={"CUDA_INJECTION64_PATH": empty_subscriber(folder)}),
        Way("streamsan run", recorded(folder)),
    ]
    for kernels in (100, 20):
        command = [program, str(200_000 // kernels), "5", str(kernels)]
        measure(f"replay loop of a graph of {kernels} kernels", "us per replay", command, ways, rounds, min)
    if others and (words := compute_sanitizer()):
        slow = [Way("plain"), Way("compute-sanitizer memcheck", words, rounds=1)]
        measure("graph replay loop, 500 replays", "us per replay", [program, "500", "1"], slow, 1, min)


WORKLOADS = {"storm": storm, "mlp": mlp, "replay": replay}


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", choices=[*WORKLOADS, []], help="default: all")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--others", action="store_true", help="run the other tools too (slow)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="streamsan-bench-") as folder:
        try:
            for name in options.workloads or WORKLOADS:
                WORKLOADS[name](Path(folder), options.rounds, options.others)
        except WorkloadError as failure:
            sys.exit(str(failure))


if __name__ == "__main__":
    main()
