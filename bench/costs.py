"""What each way to record costs, beside compute-sanitizer: one table, in one run. Needs a GPU, nvcc and PyTorch.

The storm of launches and the stencil are programs of their own: the least of some runs, in turns; slow ways run once,
with fewer launches. The PyTorch step and the pinned loader are processes that run steps when they are told: all of a
workload's are started together, and take turns. What recording with CUPTI costs there is measured within one process,
on against off (`bench/recording.py` says why); for slow ways it is a median against that of the plain process.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from recording import (
    HERE,
    Served,
    Way,
    WorkloadError,
    compiled,
    compute_sanitizer,
    off_and_on,
    recorded,
    switched,
    value_of,
)

PLAIN = "plain"
FAST = {"streamsan run": (), "--host-accesses": ("--host-accesses",)}
SLOW = {
    "--accesses": ("--accesses",),
    "--accesses-first 1": ("--accesses-first", "1"),
    "--accesses --host-accesses": ("--accesses", "--host-accesses"),
}
MEMCHECK = "compute-sanitizer memcheck"


@dataclass(frozen=True, slots=True)
class Program:
    """A C++ workload: its arguments, and those under a slow way."""

    title: str
    unit: str
    source: str
    arguments: tuple[str, ...]
    few: tuple[str, ...]


PROGRAMS = (
    Program("launch storm", "us a launch", "storm.cu", ("150000", "2"), ("10000", "1")),
    Program("stencil, two halves on two streams", "us a sweep", "stencil.cu", ("5000", "2"), ("200", "1")),
)
SCRIPTS = {"PyTorch, a small MLP's step": "mlp.py", "PyTorch, a step with a pinned loader": "loader.py"}
STEPS = {"mlp.py": 50, "loader.py": 32}
SLOW_STEPS = {"mlp.py": 10, "loader.py": 32}


def ways(folder: Path, options_of: dict[str, tuple[str, ...]]) -> list[Way]:
    """Return the ways of these options, each with a trace of its own."""
    made = []
    for name, options in options_of.items():
        place = folder / name.replace(" ", "")
        place.mkdir(exist_ok=True)
        made.append(Way(name, recorded(place, *options)))
    return made


def slow_ways(folder: Path) -> list[Way]:
    """Return the ways that instrument kernels; compute-sanitizer where it is installed."""
    words = compute_sanitizer()
    return [*ways(folder, SLOW), *([Way(MEMCHECK, words)] if words else [])]


def line(name: str, value: float | None, ratio: float) -> None:
    """Print a way's line of the table."""
    shown = f"{value:10.3f}" if value is not None else " " * 10
    print(f"  {name:<30} {shown}   {ratio:7.3f}x", flush=True)


def program(one: Program, command: str, folder: Path, rounds: int) -> None:
    """Measure a C++ workload and print its lines."""
    fast = [Way(PLAIN), *ways(folder, FAST)]
    taken: dict[str, list[float]] = {way.name: [] for way in fast}
    for _ in range(rounds):
        for way in fast:
            taken[way.name].append(value_of([command, *one.arguments], way))
    plain = min(taken[PLAIN])
    print(f"\n{one.title} ({one.unit}; least of {rounds} runs; slow ways: one run)", flush=True)
    for name, values in taken.items():
        line(name, min(values), min(values) / plain)
    for way in slow_ways(folder):
        attempt(way, partial(value_of, [command, *one.few], way), plain)


def attempt(way: Way, measured: Callable[[], float], plain: float) -> None:
    """Print a way's line, or why there is none: one that fails does not take the others with it."""
    try:
        value = measured()
    except WorkloadError as failure:
        print(f"  {way.name:<30} failed: {str(failure)[-1000:]}", flush=True)
    else:
        line(way.name, value, value / plain)


def slow_steps(process: Served, steps: int) -> float:
    """Return the milliseconds of a step in a slow process."""
    return statistics.median(process.milliseconds(steps) for _ in range(3))


class Started:
    """A PyTorch workload whose processes have been started, one for each way; some may have failed."""

    def __init__(self, name: str, folder: Path) -> None:
        command = [sys.executable, str(HERE / name), "serve"]
        folder.mkdir()
        self.name = name
        self.fast = [switched(way, folder) for way in ways(folder, FAST)]
        self.slow = slow_ways(folder)
        self._processes = {way.name: Served(command, way) for way in (Way(PLAIN), *self.fast, *self.slow)}

    def ready(self) -> dict[str, Served]:
        """Return the processes that got ready, by their way."""
        ready: dict[str, Served] = {}
        for way, process in self._processes.items():
            try:
                process.wait()
                ready[way] = process
            except WorkloadError as failure:
                print(f"  {self.name}: {failure}", flush=True)
        return ready

    def end(self) -> None:
        """End all processes."""
        with ThreadPoolExecutor(len(self._processes)) as beside:
            list(beside.map(Served.end, self._processes.values()))


def script(title: str, started: Started, ready: dict[str, Served], turns: int) -> None:
    """Measure a PyTorch workload and print its lines."""
    steps = STEPS[started.name]
    plain = statistics.median(ready[PLAIN].milliseconds(steps) for _ in range(turns))
    print(f"\n{title} (ms a step; {turns} turns of {steps} steps)", flush=True)
    line(PLAIN, plain, 1.0)
    for one in started.fast:
        if one.name in ready:
            try:
                off, ratio = off_and_on(ready[one.name], steps, turns)
                line(f"{one.name}, on against off", statistics.median(off) * ratio, ratio)
            except WorkloadError as failure:
                print(f"  {failure}", flush=True)
    for one in started.slow:
        if one.name in ready:
            attempt(one, partial(slow_steps, ready[one.name], SLOW_STEPS[started.name]), plain)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all workloads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="runs of each C++ workload")
    parser.add_argument("--turns", type=int, default=20, help="turns of each PyTorch workload")
    given = parser.parse_args(arguments)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="streamsan-costs-") as name:
        folder = Path(name)
        with ThreadPoolExecutor() as beside:
            commands = list(beside.map(lambda one: compiled(folder, one.source), PROGRAMS))
        for one, command in zip(PROGRAMS, commands, strict=True):
            try:
                program(one, command, folder, given.rounds)
            except WorkloadError as failure:
                print(f"\n{one.title} failed: {failure}")
        scripts = {title: Started(source, folder / source) for title, source in SCRIPTS.items()}
        ready = {title: started.ready() for title, started in scripts.items()}
        for title, started in scripts.items():
            script(title, started, ready[title], given.turns)
            started.end()
    print(f"\nin {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
