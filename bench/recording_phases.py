"""Where what recording a PyTorch step costs goes: CUPTI's part, the recorder's, and of that each callback's.

One process for each way, all started together. Within each, calls are not told of (off), told to nobody (idle) and
recorded (on), in turns: `idle` is what CUPTI itself takes for the callbacks that the recorder wants, `on` all. Then the
recorder's time in each callback is counted, and in the launches of each kernel. `--source FOLDER` adds another build of
streamsan (a folder with the package), beside this one. Needs a GPU, PyTorch and CUPTI's headers.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from recording import HERE, Served, Way, WorkloadError, recorded, switched

STEPS, WARM_UP = 50, 3
MODES = ("off", "idle", "on")
OPTIONS: dict[str, tuple[str, ...]] = {"streamsan run": (), "streamsan run --no-sites": ("--no-sites",)}


def ways(folder: Path, sources: Sequence[Path]) -> list[Way]:
    """Return each build's ways, each with a trace of its own."""
    made = []
    for source in (None, *sources):
        for name, options in OPTIONS.items():
            place = folder / f"{len(made)}"
            place.mkdir()
            way = switched(Way(f"{source.name}: {name}" if source else name, recorded(place, *options)), folder)
            paths = [*([str(source)] if source else []), os.environ.get("PYTHONPATH", "")]
            made.append(
                replace(way, environment={**way.environment, "PYTHONPATH": os.pathsep.join(filter(None, paths))})
            )
    return made


def in_turns(processes: Sequence[Served], script: str, turns: int) -> None:
    """Print what a step takes in each mode, and what the process uses in it."""
    taken: dict[str, dict[str, list[float]]] = {process.name: defaultdict(list) for process in processes}
    used: dict[str, dict[str, list[Mapping[str, Any]]]] = {process.name: defaultdict(list) for process in processes}
    for turn in range(turns):
        for process in processes:
            for mode in (*MODES[turn % len(MODES) :], *MODES[: turn % len(MODES)]):
                process.switch(mode)
                process.times()
                taken[process.name][mode].append(process.milliseconds(STEPS))
                used[process.name][mode].append(json.loads(process.times()))
    for name, by_mode in taken.items():
        print(f"\n{name}: a step of {script} ({turns} turns of {STEPS} steps)")
        for mode, values in by_mode.items():
            ratio = statistics.median(one / other for one, other in zip(values, by_mode["off"], strict=True))
            uses = {
                what: statistics.median(each[what] for each in used[name][mode]) / (STEPS + WARM_UP)
                for what in ("page_faults", "switches", "processor_seconds")
            }
            print(
                f"  {mode:<6} {statistics.median(values) * 1000:9.1f} us   {ratio:6.3f}x"
                f"   {uses['processor_seconds'] * 1e6:8.1f} us of processors,"
                f" {uses['page_faults']:.2f} page faults, {uses['switches']:.2f} switches",
                flush=True,
            )


def within(by_size: Sequence[int], share: float, nanoseconds: float) -> str:
    """Return below how many nanoseconds this share of the calls was."""
    wanted, seen = share * sum(by_size), 0
    for size, calls in enumerate(by_size):
        seen += calls
        if seen >= wanted:
            return f"{2.0 ** (size + 1) * nanoseconds:7.0f}"
    return ""


def each_callback(process: Served, turns: int) -> None:
    """Print what the recorder itself takes of a step, and each callback of that."""
    process.switch("timed")
    process.times()
    for _ in range(turns):
        process.milliseconds(STEPS)
    answer = json.loads(process.times())
    process.switch("on")
    steps, nanoseconds = turns * (STEPS + WARM_UP), 1e9 / answer["ticks_per_second"]
    callbacks = sorted(answer["callbacks"], key=lambda one: -one["ticks"])
    whole = sum(one["ticks"] for one in callbacks) * nanoseconds / steps / 1000
    calls = sum(one["calls"] for one in callbacks) / steps
    print(f"\n{process.name}: {whole:.1f} us of a step in {calls:.1f} callbacks; of each, nanoseconds")
    for one in callbacks[:14]:
        mean = one["ticks"] * nanoseconds / one["calls"]
        limits = "".join(
            f"  {share:.0%} <{within(one['by_size'], share, nanoseconds)}" for share in (0.5, 0.9, 0.99, 1.0)
        )
        a_step = one["ticks"] * nanoseconds / steps / 1000
        print(
            f"  {one['name']:<34} {one['site']:<5} {one['calls'] / steps:6.1f} a step, {a_step:6.1f} us:"
            f" mean {mean:7.0f}{limits}",
            flush=True,
        )
    print("  of the launches of each kernel, at entry:")
    for one in sorted(answer["kernels"], key=lambda one: -one["ticks"])[:14]:
        mean, a_step = one["ticks"] * nanoseconds / one["calls"], one["ticks"] * nanoseconds / steps / 1000
        print(
            f"  {one['calls'] / steps:6.1f} a step, {a_step:6.1f} us: mean {mean:7.0f}  {one['name'][:100]}", flush=True
        )


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument(
        "--source", type=Path, action="append", default=[], help="a folder with another build's package"
    )
    parser.add_argument("--script", default="mlp.py", choices=["mlp.py", "loader.py", "language_model.py"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="streamsan-phases-") as name:
        folder = Path(name)
        command = [sys.executable, str(HERE / given.script), "serve"]
        processes = [Served(command, way) for way in ways(folder, given.source)]
        try:
            for process in processes:
                process.wait()
            in_turns(processes, given.script, given.turns)
            for process in processes:
                each_callback(process, max(1, given.turns // 3))
        except WorkloadError as failure:
            sys.exit(str(failure))
        for process in processes:
            process.end()


if __name__ == "__main__":
    main()
