"""What `streamsan check` of the source and `streamsan run` say of each pair of OpenCL programs, on PoCL: a table.

`python bench/opencl_pairs.py` needs `pyopencl[pocl]` or a loader with a runtime, and a C++ compiler. Found means: all
that the wrong program is marked with, at its lines, and nothing else at warning or above. Silent: no error and no
warning.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from expectations import Mark, check_file, pair_name  # noqa: E402
from opencl_pairs import READ, marks, missing, programs, reasons, recorded  # noqa: E402
from opencl_runtime import OpenclMachine, build  # noqa: E402
from streamsan.findings.finding import Severity  # noqa: E402

LANGUAGES = {".c": "C", ".cpp": "C++", ".py": "Python"}


@dataclass(frozen=True)
class Said:
    """What each way said of one program; "" where it was not asked."""

    source: str
    recording: str


def verdict(path: Path, loud: set[Mark], notes: set[Mark]) -> str:
    """Return what errors, warnings and notes of a program amount to."""
    expected = marks(path)
    if ".right." in path.name:
        return "reported" if loud else "silent"
    if loud == expected.loud and expected.notes <= notes:
        return "found"
    return "found, and more" if loud >= expected.loud and expected.notes <= notes else "missed"


def asked(machine: OpenclMachine, path: Path) -> Said:
    """Return what both ways say of a program."""
    source = ""
    if path.suffix in READ:
        found: dict[bool, set[Mark]] = {True: set(), False: set()}
        for finding in check_file(path):
            found[finding.severity is Severity.NOTE].add((finding.location.line, finding.code))
        source = verdict(path, found[False], found[True])
    if missing(path):
        return Said(source, f"not run: no {missing(path)}")
    with tempfile.TemporaryDirectory() as folder:
        ran = recorded(machine, path, Path(folder))
    return Said(source, verdict(path, ran.loud, ran.notes) if ran.report else "no report")


def counts(way: str, wrong: list[str], right: list[str]) -> str:
    """Return what one way found, in one line."""
    said = Counter(wrong), Counter(right)
    asked_of = sum(bool(each) and not each.startswith("not run") for each in wrong)
    return f"{way}: {said[0]['found']} of {asked_of} wrong programs found, {said[1]['reported']} right ones reported"


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="pairs whose name contains one of these; default: all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, help="programs run at a time")
    options = parser.parse_args()
    chosen = [
        path
        for kind in ("wrong", "right")
        for path in programs(kind)
        if not options.names or any(name in path.name for name in options.names)
    ]
    with tempfile.TemporaryDirectory(prefix="streamsan-opencl-") as folder:
        machine = build(Path(folder))
        if machine is None:
            sys.exit("no OpenCL runtime: pip install 'pyopencl[pocl]'")
        with ProcessPoolExecutor(options.jobs) as pool:
            said = dict(zip(chosen, pool.map(partial(asked, machine), chosen), strict=True))
    wrong = {pair_name(path): path for path in chosen if ".wrong." in path.name}
    right = {pair_name(path): path for path in chosen if ".right." in path.name}
    why = {**reasons("unseen"), **reasons("unread")}
    print("| pair | language | read: wrong | right | recorded: wrong | right | why not |")
    print("|---|---|---|---|---|---|---|")
    for name in wrong:
        first, second = said[wrong[name]], said[right[name]]
        cells = (first.source, second.source, first.recording, second.recording, why.get(name, ""))
        print(f"| {name} | {LANGUAGES[wrong[name].suffix]} | " + " | ".join(cells) + " |")
    print()
    for way, field in (("read", "source"), ("recorded", "recording")):
        columns = [[getattr(said[path], field) for path in paths.values()] for paths in (wrong, right)]
        print(counts(way, *columns))


if __name__ == "__main__":
    main()
