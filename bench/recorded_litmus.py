"""The litmus programs on a real GPU: each compiled, run plain, recorded, and under other tools, in one run.

`python bench/recorded_litmus.py` prints what each tool found, missed and reported falsely, and how much slower the
programs ran. `--traces tests/traces/h200` keeps the plain recordings beside the codes that a check of them must give.

`--accesses --ways plain,host,exact,both` does so for the pairs on what work touches, in each way to record;
`--ways-traces tests/traces/accesses` keeps those recordings. `--pools` takes the pairs on what a framework's user
meets: blocks of pools, streams, graphs, pinned memory, under PyTorch's own tools too; `--pools --two-devices` those of
them that need two GPUs. `--within SECONDS` leaves out the runs under compute-sanitizer that there is no time for.
`--verdicts FILE` writes down what was said of each program as soon as it is known, and `--tables FILE` prints the
tables of that. Needs a GPU (two for a few programs) and nvcc, for the Python programs torch, CuPy and cuda.bindings.
Unless XDG_CACHE_HOME is set, no run knows machine code that another one read.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import site
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "tests" / "litmus"
ACCESSES = PROGRAMS / "recorded"
"""programs that only a recording is expected to show"""
POOLS = PROGRAMS / "pools"
"""programs on what a framework's user meets: blocks of its pool, streams, graphs, pinned memory"""
SANITIZERS = ("memcheck, stream-ordered races", "racecheck", "initcheck")
POOLS_SANITIZERS = SANITIZERS[:1]
sys.path.insert(0, str(ROOT / "tests"))

from kept_traces import keep  # noqa: E402
from litmus_verdicts import WAYS, Recorded, Verdict, line_of, read, summary, written  # noqa: E402
from other_tools import LIMIT, Tool, pytorch_tools, run, sanitizer_tools, under  # noqa: E402

import streamsan  # noqa: E402
from expectations import Expectations, pair_name  # noqa: E402

SHORTEST = 5.0
"""seconds: with less of its time left no further run is begun"""


def devices(several: bool) -> dict[str, str]:
    """Return the environment of a program: it sees one device, or `several` as this process does."""
    if several:
        return dict(os.environ)
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    return {**os.environ, "CUDA_VISIBLE_DEVICES": first}


def runnable(source: Path, folder: Path) -> list[str] | None:
    """Return how to run a program; C++ is compiled with line information. None where it does not link, by design."""
    if source.suffix == ".py":
        return [sys.executable, str(source)]
    target = folder / source.stem
    command = ["nvcc", "-arch=native", "-g", "-O1", "-std=c++17", "-o", str(target), str(source), "-lcuda"]
    return [str(target)] if subprocess.run(command, capture_output=True, check=False).returncode == 0 else None


def judged(
    source: Path, folder: Path, limits: Mapping[str, Any], ways: Sequence[str], tools: Sequence[Tool]
) -> Verdict | None:
    """Compile and run one program, recorded and under quick tools; None where it cannot be linked.

    `limits`: recorded.toml. Of the ways to record those count that see more of this program than the plain one.
    """
    program = runnable(source, folder)
    if program is None:
        return None
    pair = pair_name(source)
    environment = devices(pair in limits["accesses"]["two_devices"])
    expected = Expectations.of(source.read_text(encoding="utf-8"))
    if ".wrong" in source.name and pair in limits["instead"]:
        expected = shown_instead(limits["instead"][pair])
    plain = run(program, folder, environment)
    verdict = Verdict(source.stem, ".wrong" in source.name, expected, plain, unseen_by(pair, limits))
    for way in ways:
        verdict.recorded[way] = recorded(program, source, folder, way, environment)
    for tool in tools:
        if tool.looks_at(source):
            judge_under(tool, verdict, program, folder, environment, LIMIT)
    return verdict


def judge_under(
    tool: Tool, verdict: Verdict, program: Sequence[str], folder: Path, environment: Mapping[str, str], limit: float
) -> None:
    """Run a program under a tool, and note what the tool counts."""
    said = folder / f"{verdict.name}.{tool.name.split(',')[0].replace(' ', '_')}.txt"
    own = {**environment, **tool.environment}
    verdict.others[tool.name] = run(under(tool, program), folder, own, said, limit)


def ways_of(source: Path, ways: Sequence[str], limits: Mapping[str, Any], pools: bool) -> list[str]:
    """Return the ways to record a program; of one on pools only those that show more of it."""
    if not pools:
        return list(ways)
    return [way for way in ways if way == "plain" or (way == "host" and pair_name(source) in limits["host"])]


def trace_of(program: str, way: str, folder: Path) -> Path:
    """Return where a recording of a program lies."""
    return folder / f"{program}.{way}.sst"


def recorded(program: Sequence[str], source: Path, folder: Path, way: str, environment: Mapping[str, str]) -> Recorded:
    """Record a program, and take what its report says."""
    trace = trace_of(source.stem, way, folder)
    report = trace.with_suffix(".json")
    words = ["run", *WAYS[way], "-o", str(trace), "--format", "json", "--report", str(report), "--", *program]
    own = {"XDG_CACHE_HOME": str(trace.with_suffix(".cache")), **environment}
    made = Recorded(run([sys.executable, "-m", "streamsan", *words], folder, own, trace.with_suffix(".txt")))
    made.checked = report.exists()
    if not made.checked:
        return made
    for finding in json.loads(report.read_text(encoding="utf-8"))["findings"]:
        where = finding["location"]
        mark = (where["line"] if Path(where["file"]).name == source.name else 0, finding["code"])
        made.found.add(mark)
        if finding["severity"] != "note":
            made.loud.add(mark)
    return made


def shown_instead(marks: Sequence[str]) -> Expectations:
    """Return what a recording shows in the place of a program's own expectations; a mark is CODE@LINE."""
    pairs = (mark.split("@") for mark in marks)
    return Expectations(frozenset(), frozenset((int(line), code) for code, line in pairs))


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


def keep_ways(verdict: Verdict, folder: Path, target: Path, everything: bool) -> None:
    """Keep a program's recordings, NAME.WAY.sst, if some way can show its mistake, or `everything`."""
    if len(verdict.unseen) == len(WAYS) and not everything:
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
    parser.add_argument("--pools", action="store_true", help="only the pairs on blocks of pools, which need PyTorch")
    parser.add_argument("--two-devices", action="store_true", help="only programs that need two devices")
    parser.add_argument("--ways", default="plain", help=f"how to record, of {', '.join(WAYS)}; separated by commas")
    parser.add_argument("--no-sanitizer", action="store_true", help="leave compute-sanitizer out")
    parser.add_argument("--traces", default="", metavar="FOLDER", help="keep the recordings and their codes there")
    parser.add_argument("--ways-traces", default="", metavar="FOLDER", help="keep the recordings of each way there")
    parser.add_argument("--everything", action="store_true", help="keep also recordings that miss what is expected")
    parser.add_argument(
        "--folder", default="", help="where programs, recordings and reports go; default: nowhere to stay"
    )
    parser.add_argument("--within", type=float, default=math.inf, metavar="SECONDS", help="end by then")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 4), help="programs run at a time")
    parser.add_argument(
        "--verdicts", default="", metavar="FILE", help="write there what is said of each program, as JSON"
    )
    parser.add_argument("--tables", default="", metavar="FILE", help="print the tables of such a file; needs no GPU")
    parser.add_argument("--stored", action="store_true", help="count in tests/traces/h200 instead; needs no GPU")
    options = parser.parse_args()
    begin = time.perf_counter()
    if options.stored:
        print("| tool | wrong programs found | right programs reported |", "|---|---|---|", sep="\n")
        print("\n".join(stored(ROOT / "tests" / "traces" / "h200")))
        return
    if options.tables:
        verdicts = read(Path(options.tables))
        print("\n".join([*map(line_of, verdicts), "", *summary(verdicts)]))
        return
    ways = options.ways.split(",")
    unknown = set(ways) - set(WAYS)
    if unknown or "plain" not in ways:
        parser.error(f"--ways: 'plain' and any of {', '.join(WAYS)}, not '{options.ways}'")
    limits = tomllib.loads((PROGRAMS / "recorded.toml").read_text(encoding="utf-8"))
    if options.accesses:
        programs = accesses_programs(limits["accesses"]["pairs"])
    elif options.pools:
        programs = sorted(POOLS.glob("*.py"))
    else:
        programs = sorted(Path(options.programs).glob("*.cu"))
    sources = [path for path in programs if not options.names or any(name in path.name for name in options.names)]
    several = limits["accesses"]["two_devices"]
    if options.two_devices:
        sources = [path for path in sources if pair_name(path) in several]
    sources = with_devices(sources, several)
    sanitizer = None if options.no_sanitizer else shutil.which("compute-sanitizer")
    slow = sanitizer_tools(sanitizer, POOLS_SANITIZERS if options.pools else SANITIZERS)
    quick = pytorch_tools() if options.pools else []
    with work_folder(options.folder) as name:
        folder = Path(name)
        judging = Judging(folder, limits, options)
        verdicts = judging.recorded(longest_first(sources), ways, quick)
        judging.under(slow, verdicts, begin + options.within)
        print()
        verdicts.sort(key=lambda verdict: verdict.name)
        print("\n".join(summary(verdicts)))
        if options.traces:
            seen = [verdict for verdict in verdicts if "plain" not in verdict.unseen]
            kept = keep_plain(
                verdicts if options.everything else seen, folder, Path(options.traces), options.everything
            )
            print(f"kept {kept} recordings in {options.traces}")


class Judging:
    """Programs run side by side; what is said of each is told, and written down, as soon as it is known."""

    def __init__(self, folder: Path, limits: Mapping[str, Any], options: argparse.Namespace) -> None:
        self._folder = folder
        self._limits = limits
        self._options = options
        self._sources: dict[str, Path] = {}

    def recorded(self, sources: Sequence[Path], ways: Sequence[str], tools: Sequence[Tool]) -> list[Verdict]:
        """Run and record programs, and run them under tools that are quick."""
        verdicts = []
        with ThreadPoolExecutor(self._options.jobs) as pool:
            jobs = {pool.submit(self._judged, path, ways, tools): path for path in sources}
            for job in as_completed(jobs):
                verdict = job.result()
                if verdict is None:
                    print(f"{jobs[job].stem:<44} does not compile or link", flush=True)
                    continue
                self._sources[verdict.name] = jobs[job]
                self._told(verdict)
                if self._options.ways_traces:
                    keep_ways(verdict, self._folder, Path(self._options.ways_traces), self._options.everything)
                verdicts.append(verdict)
        return verdicts

    def under(self, tools: Sequence[Tool], verdicts: Sequence[Verdict], deadline: float) -> None:
        """Run programs under slow tools, the wrong ones first, as long as there is time."""
        with ThreadPoolExecutor(self._options.jobs) as pool:
            first = sorted(verdicts, key=lambda verdict: (not verdict.wrong, verdict.name))
            jobs = {pool.submit(self._under, tool, verdict, deadline): verdict for tool in tools for verdict in first}
            for job in as_completed(jobs):
                if job.result():
                    self._told(jobs[job])

    def _judged(self, source: Path, ways: Sequence[str], tools: Sequence[Tool]) -> Verdict | None:
        own = ways_of(source, ways, self._limits, self._options.pools)
        return judged(source, self._folder, self._limits, own, tools)

    def _under(self, tool: Tool, verdict: Verdict, deadline: float) -> bool:
        left = min(LIMIT, deadline - time.perf_counter())
        source = self._sources[verdict.name]
        if left < SHORTEST or not tool.looks_at(source):
            return False
        program = [sys.executable, str(source)] if source.suffix == ".py" else [str(self._folder / source.stem)]
        environment = devices(pair_name(source) in self._limits["accesses"]["two_devices"])
        judge_under(tool, verdict, program, self._folder, environment, left)
        return True

    def _told(self, verdict: Verdict) -> None:
        print(line_of(verdict), flush=True)
        if self._options.verdicts:
            with Path(self._options.verdicts).open("a", encoding="utf-8") as file:
                file.write(written(verdict) + "\n")


def with_devices(sources: Sequence[Path], two_devices: Sequence[str]) -> list[Path]:
    """Leave out the programs that need two devices where there is one."""
    asked = shutil.which("nvidia-smi")
    listed = subprocess.run([asked, "--list-gpus"], capture_output=True, text=True, check=False).stdout if asked else ""
    if listed.count("GPU ") > 1:
        return list(sources)
    left_out = [path for path in sources if pair_name(path) in two_devices]
    for path in left_out:
        print(f"{path.stem:<44} needs two devices", flush=True)
    return [path for path in sources if path not in left_out]


def work_folder(name: str) -> AbstractContextManager[str]:
    """Return a folder to work in: the one named, which stays, or a temporary one."""
    if not name:
        return tempfile.TemporaryDirectory(prefix="streamsan-litmus-")
    Path(name).mkdir(parents=True, exist_ok=True)
    return nullcontext(str(Path(name).absolute()))


def longest_first(sources: Sequence[Path]) -> list[Path]:
    """Return programs in the order to run them: a framework takes long to start, and longer under a tool."""
    return sorted(sources, key=lambda path: (path.suffix != ".py", "torch" not in path.name, path.name))


def accesses_programs(pairs: Sequence[str]) -> list[Path]:
    """Return the programs on what work touches: `pairs` of those that are read from source too, and all others."""
    others = sorted(path for path in ACCESSES.iterdir() if path.suffix in (".cu", ".py"))
    return [path for pair in pairs for path in sorted(PROGRAMS.glob(f"{pair}.*.cu"))] + others


def unseen_by(pair: str, limits: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the ways to record that cannot show a pair's mistake, with the reason.

    `limits`: the tables of recorded.toml. `unseen` and `chance` hold for every way, `host`, `exact`, `both` for those
    without it.
    """
    for table in ("unseen", "chance"):
        if pair in limits[table]:
            return dict.fromkeys(WAYS, limits[table][pair])
    limited = [table for table in _LIMITED if pair in limits[table]]
    return {way: limits[table][pair] for table in limited for way in _LIMITED[table]}


_LIMITED = {"host": ("plain", "exact"), "exact": ("plain", "host"), "both": ("plain", "host", "exact")}
"""table of recorded.toml -> the ways that lack an option it is named for"""


if __name__ == "__main__":
    main()
