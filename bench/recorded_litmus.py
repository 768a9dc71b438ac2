"""The litmus programs on a real GPU: each compiled, run plain, recorded, and under compute-sanitizer, in one run.

`python bench/recorded_litmus.py` prints what each tool found, missed and reported falsely, and how much slower the
programs ran. `--traces tests/traces/h200` keeps the plain recordings beside the codes that a check of them must give.

`--accesses --ways plain,host,exact,both` does so for the pairs on what work touches, in each way to record;
`--ways-traces tests/traces/accesses` keeps those recordings. Needs a GPU and nvcc, for the Python programs torch, CuPy
and cuda.bindings.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import site
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "tests" / "litmus"
ACCESSES = PROGRAMS / "recorded"
"""programs that only a recording is expected to show"""
sys.path.insert(0, str(ROOT / "tests"))

from kept_traces import keep  # noqa: E402

import streamsan  # noqa: E402
from expectations import Expectations, Mark  # noqa: E402

LIMIT = 90.0
"""seconds that a run may take"""
_ERRORS = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+) (?:error|hazard)")

WAYS = {
    "plain": (),
    "host": ("--host-accesses",),
    "exact": ("--accesses",),
    "both": ("--accesses", "--host-accesses"),
}
"""name of a way to record -> options of `streamsan run`"""
SANITIZER_TOOLS = {
    "memcheck, stream-ordered races": ("--tool", "memcheck", "--track-stream-ordered-races", "all"),
    "racecheck": ("--tool", "racecheck"),
    "initcheck": ("--tool", "initcheck"),
}


@dataclass
class Run:
    """How a program ended under one tool."""

    status: int
    output: str
    seconds: float
    errors: str = ""


@dataclass
class Recorded:
    """What a check of a recording says; findings by line and code, line 0 outside of the program's own file."""

    run: Run
    found: set[Mark] = field(default_factory=set)
    loud: set[Mark] = field(default_factory=set)
    """those at warning or above"""


@dataclass
class Verdict:
    """What the tools say of one program."""

    name: str
    wrong: bool
    expected: Expectations
    plain: Run
    unseen: Mapping[str, str]
    """way -> why such a recording cannot show the mistake"""
    recorded: dict[str, Recorded] = field(default_factory=dict)
    sanitizer: dict[str, Run] = field(default_factory=dict)

    def missing(self, way: str) -> list[Mark]:
        """Return the expected findings that a recording does not show."""
        return sorted((self.expected.loud | self.expected.notes) - self.recorded[way].found)

    def false(self, way: str) -> list[Mark]:
        """Return the findings at warning or above that nothing expects."""
        return sorted(self.recorded[way].loud - self.expected.loud - self.expected.notes)

    def same(self, way: str) -> bool:
        """Return whether the program behaved as without a recorder."""
        recorded = self.recorded[way].run
        return (self.plain.status, self.plain.output) == (recorded.status, recorded.output)


def run(command: Sequence[str], folder: Path) -> Run:
    """Run a command in a folder; a run over the limit has status 124."""
    begin = time.perf_counter()
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return Run(124, "", LIMIT)
    return Run(done.returncode, done.stdout, time.perf_counter() - begin, done.stderr)


def runnable(source: Path, folder: Path) -> list[str] | None:
    """Return how to run a program; C++ is compiled with line information. None where it does not link, by design."""
    if source.suffix == ".py":
        return [sys.executable, str(source)]
    target = folder / source.stem
    command = ["nvcc", "-arch=native", "-g", "-O1", "-std=c++17", "-o", str(target), str(source), "-lcuda"]
    return [str(target)] if subprocess.run(command, capture_output=True, check=False).returncode == 0 else None


def judged(
    source: Path, folder: Path, unseen: Mapping[str, str], ways: Sequence[str], sanitizer: str | None
) -> Verdict | None:
    """Compile and run one program under each tool; None where it cannot be linked."""
    program = runnable(source, folder)
    if program is None:
        return None
    expected = Expectations.of(source.read_text(encoding="utf-8"))
    verdict = Verdict(source.stem, ".wrong" in source.name, expected, run(program, folder), unseen)
    for way in ways:
        verdict.recorded[way] = recorded(program, source, folder, way)
    if sanitizer is not None:
        for tool, words in SANITIZER_TOOLS.items():
            verdict.sanitizer[tool] = run([sanitizer, *words, "--target-processes", "all", *program], folder)
    return verdict


def trace_of(program: str, way: str, folder: Path) -> Path:
    """Return where a recording of a program lies."""
    return folder / f"{program}.{way}.sst"


def recorded(program: Sequence[str], source: Path, folder: Path, way: str) -> Recorded:
    """Record a program, and take what its report says."""
    trace = trace_of(source.stem, way, folder)
    report = trace.with_suffix(".json")
    words = ["run", *WAYS[way], "-o", str(trace), "--format", "json", "--report", str(report), "--", *program]
    made = Recorded(run([sys.executable, "-m", "streamsan", *words], folder))
    if not report.exists():
        return made
    for finding in json.loads(report.read_text(encoding="utf-8"))["findings"]:
        where = finding["location"]
        mark = (where["line"] if Path(where["file"]).name == source.name else 0, finding["code"])
        made.found.add(mark)
        if finding["severity"] != "note":
            made.loud.add(mark)
    return made


def errors_of(run: Run) -> int:
    """Return how many errors compute-sanitizer counted in a run."""
    return sum(int(count) for count in _ERRORS.findall(run.output))


def line_of(verdict: Verdict) -> str:
    """Return what is to be said of one program."""
    parts = []
    for way in verdict.recorded:
        said = []
        if missing := verdict.missing(way):
            said.append("missing " + ", ".join(f"{code}@{line}" for line, code in missing))
        if false := verdict.false(way):
            said.append("FALSE " + ", ".join(f"{code}@{line}" for line, code in false))
        if not verdict.same(way):
            said.append(f"DIFFERS: status {verdict.plain.status} and {verdict.recorded[way].run.status}")
        if way in verdict.unseen:
            said.append(f"not visible: {verdict.unseen[way]}")
        if said:
            parts.append(f"{way}: {', '.join(said)}")
    counts = [f"{tool.split(',')[0]} {errors_of(run)}" for tool, run in verdict.sanitizer.items()]
    if counts:
        parts.append(f"compute-sanitizer: {', '.join(counts)}")
    return f"{verdict.name:<44} {'; '.join(parts)}"


def shown_instead(marks: Sequence[str]) -> Expectations:
    """Return what a recording shows in the place of a program's own expectations; a mark is CODE@LINE."""
    pairs = (mark.split("@") for mark in marks)
    return Expectations(frozenset(), frozenset((int(line), code) for code, line in pairs))


def table(verdicts: Sequence[Verdict]) -> list[str]:
    """Return the lines of the comparison; what counts as found in a wrong program counts as reported in a right one."""
    wrong = [v for v in verdicts if v.wrong]
    right = [v for v in verdicts if not v.wrong]
    lines = [
        "| tool | wrong programs found | right programs reported | median time of a run |",
        "|---|---|---|---|",
    ]
    for way in verdicts[0].recorded if verdicts else ():
        marks = [(v.recorded[way], v.expected.loud | v.expected.notes) for v in wrong]
        loud = sum(bool(made.loud & expected) for made, expected in marks)
        noted = sum(expected <= made.found for made, expected in marks)
        false = sum(bool(v.recorded[way].loud) for v in right)
        remarked = sum(bool(v.recorded[way].found) for v in right)
        name = " ".join(("streamsan run", *WAYS[way]))
        lines += [
            f"| `{name}`, errors and warnings | {loud} of {len(wrong)} | {false} of {len(right)} "
            f"| {_slower(verdicts, [v.recorded[way].run for v in verdicts])} |",
            f"| `{name}`, notes too | {noted} of {len(wrong)} | {remarked} of {len(right)} | |",
        ]
    for tool in verdicts[0].sanitizer if verdicts else ():
        caught, false = (sum(errors_of(v.sanitizer[tool]) > 0 for v in side) for side in (wrong, right))
        lines.append(
            f"| compute-sanitizer {tool}, any error | {caught} of {len(wrong)} | {false} of {len(right)} "
            f"| {_slower(verdicts, [v.sanitizer[tool] for v in verdicts])} |"
        )
    return lines


def _slower(verdicts: Sequence[Verdict], runs: Sequence[Run]) -> str:
    return f"{statistics.median(run.seconds / v.plain.seconds for v, run in zip(verdicts, runs, strict=True)):.2f}x"


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


def keep_plain(verdicts: Sequence[Verdict], folder: Path, target: Path, everything: bool) -> int:
    """Keep the plain recordings that show what they should, beside the codes they must give. Returns how many.

    `everything`: keep those that do not, too, to look into.
    """
    target.mkdir(parents=True, exist_ok=True)
    kept = 0
    for verdict in verdicts:
        trace = trace_of(verdict.name, "plain", folder)
        if not trace.exists() or (not everything and (verdict.missing("plain") or verdict.false("plain"))):
            continue
        codes = sorted({code for _, code in verdict.expected.loud | verdict.expected.notes})
        keep(trace, target / f"{verdict.name}.sst", machine_paths(folder))
        (target / f"{verdict.name}.codes").write_text("".join(f"{code}\n" for code in codes), encoding="utf-8")
        kept += 1
    return kept


def keep_ways(verdict: Verdict, folder: Path, target: Path) -> None:
    """Keep a program's recordings, NAME.WAY.sst, if some way can show its mistake."""
    if len(verdict.unseen) == len(WAYS):
        return
    target.mkdir(parents=True, exist_ok=True)
    for way in verdict.recorded:
        trace = trace_of(verdict.name, way, folder)
        if trace.exists():
            keep(trace, target / trace.name, machine_paths(folder))


def machine_paths(folder: Path) -> dict[str, str]:
    """Return beginnings of paths that a kept recording does not have, with what it has instead."""
    libraries = dict.fromkeys((*site.getsitepackages(), site.getusersitepackages()), "/usr/lib/python3/dist-packages")
    return {str(folder): "/tmp/litmus", str(ROOT): "/home/user/streamsan", **libraries}


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="programs whose name contains one of these; default: all")
    parser.add_argument(
        "--programs", default=str(PROGRAMS), metavar="FOLDER", help="other programs, marked as these are"
    )
    parser.add_argument("--accesses", action="store_true", help="only the pairs on what work touches")
    parser.add_argument("--ways", default="plain", help=f"how to record, of {', '.join(WAYS)}; separated by commas")
    parser.add_argument("--no-sanitizer", action="store_true", help="leave compute-sanitizer out")
    parser.add_argument("--traces", default="", metavar="FOLDER", help="keep the recordings and their codes there")
    parser.add_argument("--ways-traces", default="", metavar="FOLDER", help="keep the recordings of each way there")
    parser.add_argument("--everything", action="store_true", help="keep also recordings that miss what is expected")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 4), help="programs run at a time")
    parser.add_argument("--stored", action="store_true", help="count in tests/traces/h200 instead; needs no GPU")
    options = parser.parse_args()
    if options.stored:
        print("| tool | wrong programs found | right programs reported |", "|---|---|---|", sep="\n")
        print("\n".join(stored(ROOT / "tests" / "traces" / "h200")))
        return
    ways = options.ways.split(",")
    unknown = set(ways) - set(WAYS)
    if unknown or "plain" not in ways:
        parser.error(f"--ways: 'plain' and any of {', '.join(WAYS)}, not '{options.ways}'")
    limits = tomllib.loads((PROGRAMS / "recorded.toml").read_text(encoding="utf-8"))
    if options.accesses:
        programs = accesses_programs(limits["accesses"]["pairs"])
    else:
        programs = sorted(Path(options.programs).glob("*.cu"))
    sources = [path for path in programs if not options.names or any(name in path.name for name in options.names)]
    sanitizer = None if options.no_sanitizer else shutil.which("compute-sanitizer")
    with tempfile.TemporaryDirectory(prefix="streamsan-litmus-") as name:
        folder = Path(name)
        with ThreadPoolExecutor(options.jobs) as pool:
            jobs = [
                pool.submit(judged, path, folder, unseen_by(path.name.split(".")[0], limits), ways, sanitizer)
                for path in sources
            ]
            verdicts = []
            for verdict in (job.result() for job in jobs):
                if verdict is None:
                    continue
                marks = limits["instead"].get(verdict.name.split(".")[0]) if verdict.wrong else None
                if marks:
                    verdict.expected = shown_instead(marks)
                print(line_of(verdict), flush=True)
                if options.ways_traces:
                    keep_ways(verdict, folder, Path(options.ways_traces))
                verdicts.append(verdict)
        print(f"\n{len(sources) - len(verdicts)} of {len(sources)} files are no programs (they do not compile or link)")
        seen = [verdict for verdict in verdicts if "plain" not in verdict.unseen]
        print(f"{len(seen)} programs whose mistake a plain recording can show:")
        print("\n".join(table(seen)))
        print(f"all {len(verdicts)} programs:")
        print("\n".join(table(verdicts)))
        for way in ways:
            print(f"same output and status, {way}: {sum(v.same(way) for v in verdicts)} of {len(verdicts)}")
        if options.traces:
            kept = keep_plain(
                verdicts if options.everything else seen, folder, Path(options.traces), options.everything
            )
            print(f"kept {kept} recordings in {options.traces}")


def accesses_programs(pairs: Sequence[str]) -> list[Path]:
    """Return the programs on what work touches: `pairs` of those that are read from source too, and all others."""
    others = sorted(path for path in ACCESSES.iterdir() if path.suffix in (".cu", ".py"))
    return [path for pair in pairs for path in sorted(PROGRAMS.glob(f"{pair}.*.cu"))] + others


def unseen_by(pair: str, limits: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the ways to record that cannot show a pair's mistake, with the reason.

    `limits`: the tables of recorded.toml. `unseen` holds for every way, `host` and `exact` for those without it.
    """
    if pair in limits["unseen"]:
        return dict.fromkeys(WAYS, limits["unseen"][pair])
    limited = [table for table in _LIMITED if pair in limits[table]]
    return {way: limits[table][pair] for table in limited for way in _LIMITED[table]}


_LIMITED = {"host": ("plain", "exact"), "exact": ("plain", "host")}
"""table of recorded.toml -> the ways that lack the option it is named for"""


if __name__ == "__main__":
    main()
