"""The C++ litmus programs on a real GPU: each compiled, run plain, recorded, and under compute-sanitizer, in one run.

`python bench/recorded_litmus.py` prints what each tool found, missed and reported falsely, and how much slower the
programs ran; `--traces tests/traces/h200` keeps the recordings beside the codes that a check of them must give. Needs a
GPU and nvcc.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "tests" / "litmus"
sys.path.insert(0, str(ROOT / "tests"))

import streamsan  # noqa: E402
from expectations import Expectations  # noqa: E402
from streamsan.trace import family, writer  # noqa: E402

LIMIT = 90.0
"""seconds that a run may take"""
_ERRORS = re.compile(r"ERROR SUMMARY: (\d+) error")


@dataclass
class Run:
    """How a program ended under one tool."""

    status: int
    output: str
    seconds: float
    errors: str = ""


@dataclass
class Verdict:
    """What the tools say of one program."""

    name: str
    wrong: bool
    expected: Expectations
    unseen: str
    """why a recording cannot show the mistake; "" where it can"""
    plain: Run
    recorded: Run
    found: set[tuple[int, str]] = field(default_factory=set)
    loud: set[tuple[int, str]] = field(default_factory=set)
    all_codes: set[str] = field(default_factory=set)
    sanitizer: Run | None = None
    sanitizer_errors: int = 0

    @property
    def missing(self) -> list[tuple[int, str]]:
        """Expected findings that the recording does not show."""
        return sorted((self.expected.loud | self.expected.notes) - self.found)

    @property
    def false(self) -> list[tuple[int, str]]:
        """Findings at warning or above that nothing expects."""
        return sorted(self.loud - self.expected.loud - self.expected.notes)

    @property
    def same(self) -> bool:
        """Whether the program behaved as without a recorder."""
        return (self.plain.status, self.plain.output) == (self.recorded.status, self.recorded.output)


def run(command: Sequence[str], folder: Path) -> Run:
    """Run a command in a folder; a run over the limit has status 124."""
    begin = time.perf_counter()
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return Run(124, "", LIMIT)
    return Run(done.returncode, done.stdout, time.perf_counter() - begin, done.stderr)


def compiled(source: Path, folder: Path) -> Path | None:
    """Compile a program with line information; None where it does not compile or link by design."""
    target = folder / source.stem
    command = ["nvcc", "-arch=native", "-g", "-O1", "-std=c++17", "-o", str(target), str(source), "-lcuda"]
    return target if subprocess.run(command, capture_output=True, check=False).returncode == 0 else None


def judged(source: Path, folder: Path, unseen: str, sanitizer: str | None) -> Verdict | None:
    """Compile and run one program under each tool; None where it cannot be linked."""
    program = compiled(source, folder)
    if program is None:
        return None
    text = source.read_text(encoding="utf-8")
    plain = run([str(program)], folder)
    report, trace = folder / f"{source.stem}.json", folder / f"{source.stem}.sst"
    words = ["run", "-o", str(trace), "--format", "json", "--report", str(report), "--", str(program)]
    recorded = run([sys.executable, "-m", "streamsan", *words], folder)
    verdict = Verdict(source.stem, ".wrong" in source.name, Expectations.of(text), unseen, plain, recorded)
    if report.exists():
        take(verdict, json.loads(report.read_text(encoding="utf-8")), source.name)
    if sanitizer is not None:
        tool = [sanitizer, "--tool", "memcheck", "--track-stream-ordered-races", "all", "--target-processes", "all"]
        verdict.sanitizer = run([*tool, str(program)], folder)
        verdict.sanitizer_errors = sum(int(count) for count in _ERRORS.findall(verdict.sanitizer.output))
    return verdict


def take(verdict: Verdict, document: dict[str, Any], source: str) -> None:
    """Take the findings of a report: those at lines of the program itself count by line."""
    for finding in document["findings"]:
        where = finding["location"]
        line = where["line"] if Path(where["file"]).name == source else 0
        verdict.found.add((line, finding["code"]))
        verdict.all_codes.add(finding["code"])
        if finding["severity"] != "note":
            verdict.loud.add((line, finding["code"]))


def line_of(verdict: Verdict) -> str:
    """Return what is to be said of one program."""
    parts = []
    if verdict.missing:
        parts.append("missing " + ", ".join(f"{code}@{line}" for line, code in verdict.missing))
    if verdict.false:
        parts.append("FALSE " + ", ".join(f"{code}@{line}" for line, code in verdict.false))
    if not verdict.same:
        parts.append(f"DIFFERS: status {verdict.plain.status} and {verdict.recorded.status}")
    if verdict.unseen:
        parts.append(f"not visible to a recording: {verdict.unseen}")
    if verdict.sanitizer is not None:
        parts.append(f"compute-sanitizer: {verdict.sanitizer_errors} errors")
    return f"{verdict.name:<44} {'; '.join(parts)}"


def shown_instead(marks: Sequence[str]) -> Expectations:
    """Return what a recording shows in the place of a program's own expectations; a mark is CODE@LINE."""
    pairs = (mark.split("@") for mark in marks)
    return Expectations(frozenset(), frozenset((int(line), code) for code, line in pairs))


def table(verdicts: Sequence[Verdict]) -> list[str]:
    """Return the lines of the comparison; what counts as found in a wrong program counts as reported in a right one."""
    wrong = [v for v in verdicts if v.wrong]
    right = [v for v in verdicts if not v.wrong]
    slow = statistics.median(v.recorded.seconds / v.plain.seconds for v in verdicts)
    expected = [(v, v.expected.loud | v.expected.notes) for v in wrong]
    loud = sum(bool(v.loud & marks) for v, marks in expected)
    noted = sum(marks <= v.found for v, marks in expected)
    lines = [
        "| tool | wrong programs found | right programs reported | median time of a run |",
        "|---|---|---|---|",
        f"| streamsan run, errors and warnings | {loud} of {len(wrong)} "
        f"| {sum(bool(v.loud) for v in right)} of {len(right)} | {slow:.2f}x |",
        f"| streamsan run, notes too | {noted} of {len(wrong)} "
        f"| {sum(bool(v.found) for v in right)} of {len(right)} | |",
    ]
    with_sanitizer = [v for v in verdicts if v.sanitizer is not None]
    if with_sanitizer:
        caught = sum(v.sanitizer_errors > 0 for v in wrong)
        slow = statistics.median(v.sanitizer.seconds / v.plain.seconds for v in with_sanitizer if v.sanitizer)
        lines.append(
            f"| compute-sanitizer memcheck, stream-ordered races | {caught} of {len(wrong)} "
            f"| {sum(v.sanitizer_errors > 0 for v in right)} of {len(right)} | {slow:.2f}x |"
        )
    return lines


def stored(folder: Path) -> list[str]:
    """Return the rows of the comparison for recordings that were kept, without a GPU."""
    loud, noted, counts = Counter[bool](), Counter[bool](), Counter[bool]()
    for path in sorted(folder.glob("*.sst")):
        wrong = ".wrong" in path.name
        found = streamsan.check(path).findings
        codes = {finding.code for finding in found}
        expected = set(path.with_suffix(".codes").read_text(encoding="utf-8").split())
        warned = {finding.code for finding in found if finding.severity is not streamsan.Severity.NOTE}
        counts[wrong] += 1
        loud[wrong] += bool(warned & expected) if wrong else bool(warned)
        noted[wrong] += expected <= codes if wrong else bool(codes)
    rows = (("errors and warnings", loud), ("notes too", noted))
    return [
        f"| streamsan run, {what} | {row[True]} of {counts[True]} | {row[False]} of {counts[False]} |"
        for what, row in rows
    ]


def keep(verdicts: Sequence[Verdict], folder: Path, target: Path, everything: bool) -> int:
    """Keep the recordings that show what they should, compactly, beside the codes they must give. Returns how many.

    `everything`: keep those that do not, too, to look into.
    """
    target.mkdir(parents=True, exist_ok=True)
    kept = 0
    for verdict in verdicts:
        trace = folder / f"{verdict.name}.sst"
        if not trace.exists() or (not everything and (verdict.missing or verdict.false)):
            continue
        codes = sorted({code for _, code in verdict.expected.loud | verdict.expected.notes})
        writer.write(family.read(str(trace)), str(target / trace.name))
        (target / f"{verdict.name}.codes").write_text("".join(f"{code}\n" for code in codes), encoding="utf-8")
        kept += 1
    return kept


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="programs whose name contains one of these; default: all")
    parser.add_argument(
        "--programs", default=str(PROGRAMS), metavar="FOLDER", help="other programs, marked as these are"
    )
    parser.add_argument("--no-sanitizer", action="store_true", help="leave compute-sanitizer out")
    parser.add_argument("--traces", default="", metavar="FOLDER", help="keep the recordings and their codes there")
    parser.add_argument("--everything", action="store_true", help="keep also recordings that miss what is expected")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 4), help="programs run at a time")
    parser.add_argument("--stored", action="store_true", help="count in tests/traces/h200 instead; needs no GPU")
    options = parser.parse_args()
    if options.stored:
        print("| tool | wrong programs found | right programs reported |", "|---|---|---|", sep="\n")
        print("\n".join(stored(ROOT / "tests" / "traces" / "h200")))
        return
    limits = tomllib.loads((PROGRAMS / "recorded.toml").read_text(encoding="utf-8"))
    unseen, instead = limits["unseen"], limits["instead"]
    sources = [
        path
        for path in sorted(Path(options.programs).glob("*.cu"))
        if not options.names or any(name in path.name for name in options.names)
    ]
    sanitizer = None if options.no_sanitizer else shutil.which("compute-sanitizer")
    with tempfile.TemporaryDirectory(prefix="streamsan-litmus-") as name:
        folder = Path(name)
        with ThreadPoolExecutor(options.jobs) as pool:
            jobs = [
                pool.submit(judged, path, folder, unseen.get(path.name.split(".")[0], ""), sanitizer)
                for path in sources
            ]
            judgements = [job.result() for job in jobs]
        verdicts = [verdict for verdict in judgements if verdict is not None]
        for verdict in verdicts:
            marks = instead.get(verdict.name.split(".")[0]) if verdict.wrong else None
            if marks:
                verdict.expected = shown_instead(marks)
        for verdict in verdicts:
            print(line_of(verdict))
        print(f"\n{len(sources) - len(verdicts)} of {len(sources)} files are no programs (they do not compile or link)")
        seen = [verdict for verdict in verdicts if not verdict.unseen]
        print(f"{len(seen)} programs whose mistake a recording can show:")
        print("\n".join(table(seen)))
        print(f"all {len(verdicts)} programs:")
        print("\n".join(table(verdicts)))
        print(f"same output and status with and without: {sum(v.same for v in verdicts)} of {len(verdicts)}")
        if options.traces:
            judged_ones = verdicts if options.everything else seen
            kept = keep(judged_ones, folder, Path(options.traces), options.everything)
            print(f"kept {kept} recordings in {options.traces}")


if __name__ == "__main__":
    main()
