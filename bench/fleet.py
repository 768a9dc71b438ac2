"""A fleet of traces checked by one process, by several, on a local Dask and on a local Ray cluster: the same report?

    python bench/fleet.py
    python bench/fleet.py --traces 200 --ways one processes

Makes the traces (`fleet_traces.py`), checks them in each way, and but for one process kills one worker with SIGKILL
when half of them are done. Prints the seconds that each way took, its begin and end included, how many times as fast
as one process that is, the seconds of a processor that all its processes took (what else the machine does is not in
them), and the most memory of the process that puts the report together. The reports must be the same, byte for byte.
Exit status 1: one differs, or a trace was lost.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from fleet_traces import make

from streamsan.checking.engines.cluster_address import cluster_at
from streamsan.checking.engines.local_processes import LocalProcesses
from streamsan.checking.every_input import Workers, check_all, together
from streamsan.checking.reporting import Reporting
from streamsan.checking.request import Request
from streamsan.report.formats import renderer

WAYS = ("one", "processes", "dask", "ray")
WORKERS = {"processes": "forkserver", "dask": "multiprocessing.spawn", "ray": "ray::streamsan check"}
"""what the command line of a worker has in it"""
LOOKS = 50
"""outcomes between two looks at what the processes took"""


@dataclass(frozen=True)
class Process:
    """A process that this one began, directly or not."""

    command: str
    seconds: float
    """of a processor, up to now"""


def descendants() -> dict[int, Process]:
    """Return all processes that this one began, by their ids."""
    parents: dict[int, int] = {}
    processes: dict[int, Process] = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            fields = (place / "stat").read_text().rpartition(")")[2].split()
            command = (place / "cmdline").read_bytes()
        except OSError:  # it has ended
            continue
        number = int(place.name)
        parents[number] = int(fields[1])
        ticks = int(fields[11]) + int(fields[12])
        words = command.replace(b"\0", b" ").decode(errors="replace")
        processes[number] = Process(words, ticks / os.sysconf("SC_CLK_TCK"))
    found: dict[int, Process] = {}
    waiting = [os.getpid()]
    while waiting:
        parent = waiting.pop()
        children = [number for number in parents if parents[number] == parent and number not in found]
        found.update((number, processes[number]) for number in children)
        waiting += children
    return found


@dataclass
class KillsOne:
    """An engine that loses a worker when half of its paths are done."""

    engine: Any
    worker: str
    killed: int = 0
    seconds: dict[int, float] = field(default_factory=dict)
    """of a processor, of all processes by their ids: as they were last seen"""

    def outcomes(self, task: Callable[[str], Any], paths: Sequence[str]) -> Iterator[tuple[str, Any]]:
        """Let the engine do a task with each path."""
        for count, found in enumerate(self.engine.outcomes(task, paths), 1):
            if count % LOOKS == 0 or count == len(paths):
                self.seconds.update((number, each.seconds) for number, each in descendants().items())
            if count == len(paths) // 2 and not self.killed:
                # A forkserver has the same command line as what it forks, and was there before.
                self.killed = max(number for number, each in descendants().items() if self.worker in each.command)
                os.kill(self.killed, signal.SIGKILL)
            yield found


def checked(way: str, folder: str, jobs: int) -> dict[str, Any]:
    """Check a folder in one way, and return what that took and gave."""
    began = time.perf_counter()
    with ExitStack() as ends:
        workers, killer = Workers(), None
        if way != "one":
            engine = LocalProcesses(jobs) if way == "processes" else ends.enter_context(cluster_at(f"{way}://", jobs))
            killer = KillsOne(engine, WORKERS[way])
            workers = Workers(jobs, killer, os.getcwd())
        request = Request.of([folder])
        inputs, reporting = request.expanded.inputs, Reporting.of()
        found = check_all(inputs, request.options, proofs=reporting.proofs, workers=workers, results=together(inputs))
        report = reporting.report(found.results, [*found.unreadable, *found.limits], found.unread)
        text = renderer("json")(report, sys.stdout)
    return {
        "way": way,
        "seconds": time.perf_counter() - began,
        "processor": time.process_time() + (sum(killer.seconds.values()) if killer is not None else 0.0),
        "report": hashlib.sha256(text.encode()).hexdigest()[:12],
        "findings": len(report.findings),
        "files": report.files,
        "lost": len(found.unreadable),
        "killed": int(killer is not None and killer.killed > 0),
        "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> int:
    """Check the fleet in each way, each in a process of its own, and print what that took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=300, help="steps of each trace; one is nine operations")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--folder", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.folder:
        print(json.dumps(checked(arguments.ways[0], arguments.folder, arguments.jobs)))
        return 0
    results = []
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), arguments.traces, arguments.steps)
        print("way           seconds  times as fast  processor    MiB  killed  files  findings  report", flush=True)
        for way in arguments.ways:
            own = ["--ways", way, "--folder", folder, "--jobs", str(arguments.jobs)]
            ran = subprocess.run([sys.executable, __file__, *own], stdout=subprocess.PIPE, check=True, text=True)
            results.append(json.loads(ran.stdout))
            row, first = results[-1], results[0]
            print(
                f"{way:12}{row['seconds']:>9.1f}{first['seconds'] / row['seconds']:>15.2f}"
                f"{row['processor']:>11.1f}{row['mib']:>7.0f}"
                f"{row['killed']:>8}{row['files']:>7}{row['findings']:>10}  {row['report']}",
                flush=True,
            )
    whole = all(row["files"] == arguments.traces and not row["lost"] for row in results)
    return 0 if whole and len({row["report"] for row in results}) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
