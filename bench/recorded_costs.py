"""What `streamsan run` costs, all of it, and with `--against FOLDER` what another build costs beside it.

In each turn every way runs once, in an order that goes round, and what counts is its ratio to the plain run of that
turn. A launch storm is a process for each run. A PyTorch step, PyTorch's tensors and CuPy's arrays are groups of
processes, started before any of them is measured; a line has the median of the groups' medians, and the least and the
most of these: one process differs from the next by as much as recording costs, so two lines whose spreads overlap are
not told apart. What only hears, a subscriber of CUPTI and a tracker of PyTorch's blocks that do nothing, is the least
that any recorder on these two costs. `--others` puts compute-sanitizer and PyTorch's CUDA Sanitizer beside them, with
few steps, in a group of their own. Here nothing is switched off within a process, so what PyTorch itself tells of its
blocks counts too, unlike the step of `recording.py`. FOLDER has another build's package (`pip install --target
FOLDER`). Needs a GPU, nvcc and CUPTI's headers; a workload that fails is said and left out.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from recording import (
    HERE,
    Served,
    Way,
    WorkloadError,
    build_with_cupti,
    compiled,
    empty_subscriber,
    recorded,
    torch_tools,
    value_of,
)

PLAIN, EMPTY, THIS, OTHER = "plain", "a subscriber that does nothing", "streamsan run", "streamsan run, other build"
STORM = "launch storm (us a launch; one process for each value)"
FAILURES = (WorkloadError, OSError, subprocess.CalledProcessError)
HEARS, NO_SITES = "what only hears", "streamsan run --no-sites"
OTHERS_STEPS, OTHERS_TURNS = 5, 3


@dataclass(frozen=True, slots=True)
class Script:
    """A Python workload: how many groups of processes, and steps of a turn."""

    title: str
    source: str
    groups: int
    steps: int
    arguments: tuple[str, ...] = ()
    """before the word that lets it be served"""
    most_groups: int = 32
    """as many as have room on the device, all at once"""
    torch: bool = True
    """it is PyTorch's: what only hears is measured too"""
    without_sites: bool = False
    """recording without call sites is measured too"""

    @property
    def name(self) -> str:
        """The name of its traces."""
        return "-".join([Path(self.source).stem, *self.arguments])

    def command(self) -> list[str]:
        """Return what starts a process that is served."""
        return [sys.executable, str(HERE / self.source), *self.arguments, "serve"]


SCRIPTS = (
    Script("PyTorch, a small language model's step (ms)", "language_model.py", 4, 10, most_groups=3),
    Script("PyTorch, a large language model's step (ms)", "language_model.py", 3, 5, ("large",), most_groups=3),
    Script("PyTorch, a small MLP's step (ms)", "mlp.py", 8, 50),
    Script("PyTorch, 1,000 tensors made and dropped (ms)", "tensors.py", 6, 100, without_sites=True),
    Script("CuPy, 1,000 arrays made and dropped (ms)", "cupy_blocks.py", 3, 50, torch=False),
)


def ways(folder: Path, against: Path | None) -> list[Way]:
    """Return the plain way and a way for each build, each with a trace of its own."""
    folder.mkdir(parents=True)
    made = [Way(PLAIN), Way(THIS, [*recorded(folder)])]
    if against is not None:
        place = folder / "other"
        place.mkdir()
        paths = os.pathsep.join(filter(None, (str(against), os.environ.get("PYTHONPATH", ""))))
        made.append(Way(OTHER, recorded(place), environment={"PYTHONPATH": paths}))
    return made


def in_turns(measured: dict[str, Callable[[], float]], turns: int) -> dict[str, list[float]]:
    """Measure all in turns, each turn beginning with another one. Returns the values by name."""
    names = list(measured)
    taken: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(turns):
        first = turn % len(names)
        for name in (*names[first:], *names[:first]):
            taken[name].append(measured[name]())
    return taken


def ratios(taken: dict[str, list[float]], name: str, to: str = PLAIN) -> list[float]:
    """Return the ratios of neighbours."""
    return [one / other for one, other in zip(taken[name], taken[to], strict=True)]


def show(title: str, groups: Sequence[dict[str, list[float]]]) -> None:
    """Print a line for each way, and one for the builds against each other."""
    print(f"\n{title}; {len(groups)} groups, {len(groups[0][PLAIN])} turns of each", flush=True)
    for name in groups[0]:
        value = statistics.median(statistics.median(group[name]) for group in groups)
        line(name, value, (ratios(group, name) for group in groups))
    if OTHER in groups[0]:
        line("this build against the other", None, (ratios(group, THIS, OTHER) for group in groups))


def line(name: str, value: float | None, of_groups: Iterable[list[float]]) -> None:
    """Print the median of the groups' medians, and how far these are apart; of one group, of its quarters."""
    all_groups = list(of_groups)
    medians = [statistics.median(group) for group in all_groups]
    if len(all_groups) == 1 and len(all_groups[0]) > 1:
        low, _, high = statistics.quantiles(all_groups[0], n=4)
    else:
        low, high = min(medians), max(medians)
    shown = f"{value:10.4f}" if value is not None else " " * 10
    print(f"  {name:<34} {shown}   {statistics.median(medians):7.3f}x   ({low:.3f} to {high:.3f})", flush=True)


def storm(folder: Path, against: Path | None, rounds: int) -> None:
    """The launch storm of `recording.py`: all ways in turns, and the subscriber that does nothing."""
    program = compiled(folder, "storm.cu")
    all_ways = ways(folder / "storm-traces", against)
    all_ways.insert(1, Way(EMPTY, environment={"CUDA_INJECTION64_PATH": empty_subscriber(folder)}))
    taken = in_turns({way.name: partial(value_of, [program, "150000", "2"], way) for way in all_ways}, rounds)
    show(STORM, [taken])


def start(script: Script, folder: Path, against: Path | None) -> list[list[Served]]:
    """Start the processes of all groups."""
    groups = []
    for group in range(script.groups):
        all_ways = ways(folder / f"{script.name}-{group}", against)
        if script.without_sites:
            place = folder / f"{script.name}-{group}-no-sites"
            place.mkdir()
            all_ways.insert(1, Way(NO_SITES, [*recorded(place, "--no-sites")]))
        if script.torch:
            heard = {"CUDA_INJECTION64_PATH": empty_subscriber(folder), "EMPTY_TRACKER": empty_tracker(folder)}
            all_ways.insert(1, Way(HEARS, environment=heard))
        groups.append([Served(script.command(), way) for way in all_ways])
    return groups


def wait_for(groups: Sequence[Sequence[Served]]) -> None:
    """Wait for all processes: one that is still starting disturbs those that are measured."""
    for group in groups:
        for process in group:
            process.wait()


def end(groups: Sequence[Sequence[Served]]) -> None:
    """End all processes, at the same time: the next workload has the device, and its memory, for itself."""
    with ThreadPoolExecutor(32) as beside:
        list(beside.map(Served.end, [process for group in groups for process in group]))


def run_other_tools(script: Script) -> None:
    """Measure a script's steps under each other tool, beside a plain process: few, for they are slow."""
    processes = [Served(script.command(), way) for way in torch_tools()]
    ready = []
    try:
        for process in processes:
            try:
                process.wait()
                ready.append(process)
            except WorkloadError as failure:
                print(f"\n{script.title} failed: {failure}", flush=True)
        run(replace(script, steps=OTHERS_STEPS), [ready], OTHERS_TURNS)
    finally:
        end([processes])


def measure(script: Script, folder: Path, against: Path | None, turns: int) -> None:
    """Measure a script in all of its ways."""
    groups = start(script, folder, against)
    try:
        wait_for(groups)
        run(script, groups, turns)
    finally:
        end(groups)


def empty_tracker(folder: Path) -> str:
    """Compile the tracker that does nothing for the PyTorch that is installed; return its path."""
    library = folder / "empty_tracker.so"
    if not library.exists():
        torch = Path(find_spec("torch").origin).parent  # type: ignore[union-attr, arg-type]
        built = [f"-I{torch / 'include'}", f"-L{torch / 'lib'}", "-lc10_cuda", "-lc10"]
        build_with_cupti(library, "empty_tracker.cpp", "-std=c++20", *built)
    return str(library)


def run(script: Script, groups: Sequence[Sequence[Served]], turns: int) -> None:
    """Measure a script's groups, one behind the other."""
    taken = [
        in_turns({process.name: partial(process.milliseconds, script.steps) for process in group}, turns)
        for group in groups
    ]
    show(script.title, taken)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all workloads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="a folder with another build's package")
    parser.add_argument("--only", default="", metavar="WORD", help="only workloads with this in their title")
    parser.add_argument("--rounds", type=int, default=7, help="runs of the storm")
    parser.add_argument("--turns", type=int, default=12, help="turns of each group of processes")
    parser.add_argument("--groups", type=int, default=0, help="groups of processes of each workload")
    parser.add_argument("--others", action="store_true", help="run the other tools on PyTorch too")
    parser.add_argument("--few-ways", action="store_true", help="leave out recording without call sites")
    given = parser.parse_args(arguments)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="streamsan-costs-") as name:
        folder = Path(name)
        if given.only in STORM:
            try:
                storm(folder, given.against, given.rounds)
            except FAILURES as failure:
                print(f"\nthe storm failed: {failure}", flush=True)
        for script in SCRIPTS:
            if given.only not in script.title:
                continue
            chosen = replace(
                script,
                groups=min(given.groups or script.groups, script.most_groups),
                without_sites=script.without_sites and not given.few_ways,
            )
            try:
                measure(chosen, folder, given.against, given.turns)
                if given.others and script.torch:
                    run_other_tools(script)
            except FAILURES as failure:
                print(f"\n{script.title} failed: {failure}", flush=True)
    print(f"\nin {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
