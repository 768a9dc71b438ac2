"""What replays show of each pair of OpenCL programs, from the source and from a recording on PoCL: a table.

`python bench/opencl_replays.py` needs what `bench/opencl_pairs.py` needs. Of a wrong program all findings about order
are replayed: `shown` means that words go wrong or an access fails on the simulated device. A right program is replayed
whole, under random schedules: `same words` means that each access sees what it sees in order.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from expectations import check_file, pair_name  # noqa: E402
from opencl_pairs import READ, missing, programs, recorded  # noqa: E402
from opencl_runtime import OpenclMachine, build  # noqa: E402
from streamsan import cuda_source  # noqa: E402
from streamsan.analysis.traces import analyse_trace  # noqa: E402
from streamsan.evidence.witness.witness import Witness, witnesses  # noqa: E402
from streamsan.findings.finding import Finding  # noqa: E402
from streamsan.launched_code.resolution import resolve_kernels  # noqa: E402
from streamsan.replay import replay  # noqa: E402
from streamsan.trace import Trace, reader  # noqa: E402
from witness_replays import about_order, wrong_words  # noqa: E402

SHOWN, SAME = "shown", "same words"


def shown(findings: Iterable[Finding]) -> list[str]:
    """Return for each finding about order what its replay amounts to."""
    chosen = about_order(list(findings))
    said = []
    for finding, answer in zip(chosen, witnesses(chosen), strict=True):
        where = f"{finding.code}:{finding.location.line}"
        if not isinstance(answer, Witness):
            said.append(f"{where}: {answer}")
        else:
            done = replay(answer)
            said.append(f"{where}: {done.problem}" if done.problem else SHOWN)
    return said


def seen(traces: Iterable[Trace]) -> list[str]:
    """Return for each trace of a right program whether its accesses see the same words under all schedules."""
    return [", ".join(wrong_words(trace)) or SAME for trace in traces]


def asked(machine: OpenclMachine, path: Path) -> tuple[list[str], list[str]]:
    """Return what the replays of a program show, by its source and by its recording."""
    is_wrong = ".wrong." in path.name
    by_source: list[str] = []
    if path.suffix in READ:
        by_source = shown(check_file(path)) if is_wrong else seen(w.trace for w in cuda_source.read(path).worlds)
    if missing(path):
        return by_source, [f"not run: no {missing(path)}"]
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder, "run.sst")
        recorded(machine, path, Path(folder), "-o", str(trace))
        if not trace.exists():
            return by_source, ["no recording"]
        if is_wrong:
            return by_source, shown(analyse_trace(str(trace)).findings)
        whole = reader.read(str(trace))
        resolve_kernels(whole, str(trace))
        return by_source, seen([whole])


def counts(way: str, kind: str, said: Iterable[str], good: str) -> list[str]:
    """Return how often a way's replays came to what, in lines."""
    of = Counter(each if each == good else each.partition(": ")[2] or each for each in said)
    lines = [f"{way}, {kind}: {of[good]} of {sum(of.values())} {good}"]
    return lines + [f"    {count} {why}" for why, count in of.most_common() if why != good]


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="pairs whose name contains one of these; default: all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, help="programs run at a time")
    options = parser.parse_args()
    chosen = {
        kind: [p for p in programs(kind) if not options.names or any(name in p.name for name in options.names)]
        for kind in ("wrong", "right")
    }
    with tempfile.TemporaryDirectory(prefix="streamsan-opencl-") as folder:
        machine = build(Path(folder))
        if machine is None:
            sys.exit("no OpenCL runtime: pip install 'pyopencl[pocl]'")
        every = [*chosen["wrong"], *chosen["right"]]
        with ProcessPoolExecutor(options.jobs) as pool:
            said = dict(zip(every, pool.map(partial(asked, machine), every), strict=True))
    print("| pair | read: wrong | right | recorded: wrong | right |")
    print("|---|---|---|---|---|")
    for wrong, right in zip(chosen["wrong"], chosen["right"], strict=True):
        cells = [said[wrong][0], said[right][0], said[wrong][1], said[right][1]]
        print(f"| {pair_name(wrong)} | " + " | ".join("; ".join(each) for each in cells) + " |")
    print()
    for at, way in enumerate(("read", "recorded")):
        for kind, good in (("wrong", SHOWN), ("right", SAME)):
            told = [each for path in chosen[kind] for each in said[path][at]]
            print("\n".join(counts(way, kind, told, good)))


if __name__ == "__main__":
    main()
