"""OpenCL programs that others wrote, plain and recorded: do they behave the same, what is reported, what does it cost?

    python bench/opencl_suites.py CHECKOUT [CHECKOUT ...] [--only WORD] [--turns N] [--python FILE]

`opencl_suites.toml` lists the programs of public repositories; a checkout's folder has its table's name (gpu-rodinia),
or is given as NAME=FOLDER. Nothing of them is in this repository. Sources are compiled for the machine's loader;
Python programs run with `--python`, which has pyopencl and pytest. Each program runs twice plainly and once under
`streamsan run`, whose recording is checked; then `--turns` times plain and recorded in turns, for the cost. Prints a
line for each program with something to look at, and a table; exits with 1 where a recorded program behaved differently.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))

from opencl_inputs import write_inputs  # noqa: E402
from published_programs import STREAMSAN, compared, ran, steady  # noqa: E402

from streamsan.recorder.launch import Wanted, recording  # noqa: E402
from streamsan.recorder.preconditions import required_library  # noqa: E402

CHECK_SECONDS = 300.0
SOURCES = (".c", ".cc", ".cpp")


@dataclass(frozen=True, slots=True)
class Suite:
    """A repository's programs."""

    name: str
    checkout: Path
    table: dict[str, object]

    def words(self, key: str, places: dict[str, str]) -> list[str]:
        """Return the words of an entry, with the places that it names."""
        return _words(str(self.table.get(key, "")), places)


@dataclass(frozen=True, slots=True)
class Program:
    """One program of a suite: a source, a binary or a Python program."""

    suite: Suite
    place: Path
    entry: dict[str, str]

    @property
    def name(self) -> str:
        """The suite's name and the program's."""
        return f"{self.suite.name}/{self.place.relative_to(self.suite.checkout)}"


@dataclass(slots=True)
class Result:
    """What came of one program."""

    program: Program
    why_not: str = ""
    different: str = ""
    recorded: bool = False
    """it left a recording: it made a context"""
    loud: list[str] = field(default_factory=list)
    """errors and warnings"""
    notes: Counter[str] = field(default_factory=Counter)
    seconds: tuple[float, float] = (0.0, 0.0)
    """least of the turns, plain and recorded"""
    processor: tuple[float, float] = (0.0, 0.0)
    """the same of processor time"""


def _words(text: str, places: dict[str, str]) -> list[str]:
    for name, place in places.items():
        text = text.replace(f"{{{name}}}", place)
    return shlex.split(text)


def listed(given: Sequence[str]) -> Iterator[Program]:
    """Yield the programs of checkouts, in the order of the list."""
    tables = tomllib.loads((ROOT / "bench" / "opencl_suites.toml").read_text(encoding="utf-8"))
    for word in given:
        name, equals, folder = word.partition("=")
        checkout = Path(folder if equals else word).resolve()
        name = name if equals else checkout.name
        if name not in tables:
            sys.exit(f"{word}: opencl_suites.toml has no table {name}; it has {', '.join(tables)}")
        suite = Suite(name, checkout, tables[name])
        for pattern, entry in tables[name]["programs"].items():
            for place in sorted(checkout.glob(pattern)) or [checkout / pattern]:
                yield Program(suite, place, entry)


class Bench:
    """All programs, one after the other."""

    def __init__(self, given: argparse.Namespace, folder: Path) -> None:
        self._given = given
        self._folder = folder
        self._inputs = folder / "data"
        write_inputs(self._inputs)
        os.environ["POCL_CACHE_DIR"] = str(folder / "kernels")

    def result(self, number: int, program: Program) -> Result:
        """Run one program in every way."""
        result = Result(program)
        home = self._folder / str(number)
        work = home / "work"  # some programs ask for ../../data
        try:
            shutil.copytree(program.place.parent / program.entry.get("folder", "."), work, ignore=_large, symlinks=True)
            command = self._command(program, home)
            self._compare(result, command, work, home / "run.sst")
            if not (result.why_not or result.different) and result.recorded:
                self._measure(result, command, work, home / "time.sst")
        except (OSError, RuntimeError) as error:
            result.why_not = str(error).strip().splitlines()[-1][:160] if str(error).strip() else "did not build"
        finally:
            shutil.rmtree(home, ignore_errors=True)
        return result

    def _command(self, program: Program, home: Path) -> list[str]:
        """Return what runs a program, which is compiled first where it is a source."""
        suite, place = program.suite, program.place
        places = {"inputs": str(self._inputs), "checkout": str(suite.checkout), "files": str(home)}
        arguments = _words(program.entry.get("arguments", ""), places)
        if not place.is_file():
            raise RuntimeError("is not there")
        if place.suffix == ".py":
            tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider"] if place.name.startswith("test_") else []
            return [self._given.python, *tests, place.name, *arguments]
        if place.suffix not in SOURCES:
            return [str(place), *arguments]
        files: dict[str, str] = suite.table.get("files", {})  # type: ignore[assignment]
        for name, text in files.items():
            (home / name).write_text(text, encoding="utf-8")
        others = [path for word in program.entry.get("with", "").split() for path in sorted(place.parent.glob(word))]
        common, options = suite.words("common", places), _words(program.entry.get("options", ""), places)
        if place.suffix == ".c" and "c++" not in options:
            compiler = ["gcc"]
        else:
            compiler = ["g++", *([] if any(word.startswith("-std") for word in options) else ["-std=c++17"])]
        built = home / "program"
        named = f'-DSRCDIR="{place.parent}"'
        words = [*compiler, "-g", "-O0", "-w", named, *common, *options, str(place), *map(str, others)]
        words += [*suite.words("sources", places), "-o", str(built), "-lOpenCL", "-lpthread", "-ldl", "-lm"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if "error" in line or "undefined" in line]
            raise RuntimeError(f"did not build: {(said or ['?'])[0]}")
        return [str(built), *arguments]

    def _compare(self, result: Result, command: list[str], work: Path, trace: Path) -> None:
        """Compare what the program does with what it does under a recorder; check the recording."""
        plain, again = (ran(command, work, self._given.limit) for _ in range(2))
        if plain.status is None or plain.status != again.status:
            result.why_not = f"ends with {plain.status} and {again.status} by itself"
            return
        words = [*STREAMSAN, "run", "--no-check", "-o", str(trace), "--", *command]
        done = ran(words, work, self._given.limit * 2)
        ours = "".join(line for line in done.errors.splitlines(True) if not line.startswith("streamsan: "))
        shown = {"output": (plain.output, again.output, done.output), "errors": (plain.errors, again.errors, ours)}
        differs = [name for name, (one, two, three) in shown.items() if _differs(one, two, three)]
        if done.status != plain.status or differs:
            result.different = f"status {plain.status} and {done.status}" if done.status != plain.status else differs[0]
        result.recorded = trace.exists()
        if result.recorded:
            self._check(result, trace)

    def _check(self, result: Result, trace: Path) -> None:
        report = trace.with_suffix(".json")
        words = [*STREAMSAN, "check", "--exit-zero", "--notes", "--no-fixes", "--format", "json"]
        checked = ran([*words, "--report", str(report), str(trace)], trace.parent, CHECK_SECONDS)
        if checked.status != 0:
            result.loud.append(f"check: {'too long' if checked.status is None else checked.errors.strip()[-300:]}")
            return
        for one in json.loads(report.read_text(encoding="utf-8"))["findings"]:
            place = one.get("location") or {}
            if one["severity"] == "note":
                result.notes[one["code"]] += 1
            else:
                where = f"{Path(place.get('file', '')).name}:{place.get('line', '')}"
                result.loud.append(f"{one['severity']} {one['code']} {where}: {one['message']}")

    def _measure(self, result: Result, command: list[str], work: Path, trace: Path) -> None:
        """Measure the program itself, plain and recorded in turns: what follows its end is not counted."""
        given = {os.fsencode(name): os.fsencode(value) for name, value in os.environ.items()}
        plain, recorded = [], []
        for _ in range(self._given.turns):
            plain.append(_times(command, work, given))
            with recording(str(required_library()), str(trace), command[0], given, Wanted()) as made:
                recorded.append(_times(command, work, made.environment(given, os.getpid())))
        if plain:
            result.seconds = (min(one[0] for one in plain), min(one[0] for one in recorded))
            result.processor = (min(one[1] for one in plain), min(one[1] for one in recorded))


def _large(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if (Path(folder) / name).stat(follow_symlinks=False).st_size > 1 << 22]


def _differs(first: str, second: str, recorded: str) -> bool:
    """Return whether an output differs in more than numbers from two plain ones."""
    return compared(steady(first, second), recorded) == "DIFFERENT"


def _times(command: list[str], folder: Path, environment: dict[bytes, bytes]) -> tuple[float, float]:
    """Run a program; return its seconds, and those of the processor."""
    begin = time.monotonic()
    null = subprocess.DEVNULL
    process = subprocess.Popen(command, cwd=folder, env=environment, stdin=null, stdout=null, stderr=null)
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    return time.monotonic() - begin, used.ru_utime + used.ru_stime


def table(results: Sequence[Result]) -> Iterator[str]:
    """Yield the lines of a table with a row for each suite."""
    yield "| suite | programs | recorded | same result | errors | warnings | notes | time | processor |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for suite in dict.fromkeys(result.program.suite.name for result in results):
        of_suite = [result for result in results if result.program.suite.name == suite and not result.why_not]
        notes = sum((result.notes for result in of_suite), Counter())
        errors, warnings = (
            sum(line.startswith(word) for result in of_suite for line in result.loud) for word in ("error", "warning")
        )
        cells = (
            suite,
            len(of_suite),
            sum(result.recorded for result in of_suite),
            sum(not result.different for result in of_suite),
            errors,
            warnings,
            ", ".join(f"{count} {code}" for code, count in sorted(notes.items())) or "none",
            _ratio([result.seconds for result in of_suite]),
            _ratio([result.processor for result in of_suite]),
        )
        yield f"| {' | '.join(map(str, cells))} |"


def _ratio(pairs: Sequence[tuple[float, float]]) -> str:
    plain = sum(pair[0] for pair in pairs)
    return f"{sum(pair[1] for pair in pairs) / plain:.3f}x" if plain else "-"


def main() -> int:
    """Run, and print the table; return 1 if a recorded program behaved differently."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs="+", metavar="CHECKOUT", help="a folder, or NAME=FOLDER")
    parser.add_argument("--only", default="", metavar="WORD", help="run the programs with this word in their name")
    parser.add_argument("--turns", type=int, default=3, help="runs plain and recorded that are timed")
    parser.add_argument("--limit", type=float, default=300, metavar="SECONDS", help="for each run")
    parser.add_argument("--python", default=sys.executable, metavar="FILE", help="has pyopencl and pytest")
    given = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory(prefix="streamsan-") as folder:
        bench = Bench(given, Path(folder))
        for number, program in enumerate(listed(given.checkouts)):
            if given.only not in program.name:
                continue
            result = bench.result(number, program)
            results.append(result)
            said = [word for word in (result.why_not, result.different and f"DIFFERENT: {result.different}") if word]
            seconds = f" {result.seconds[0]:.2f} s, {result.seconds[1]:.2f} s recorded" if result.seconds[0] else ""
            print(f"{program.name}:{seconds}", *said, *result.loud, sep="\n    ", flush=True)
    print(*table(results), sep="\n")
    return int(any(result.different for result in results))


if __name__ == "__main__":
    sys.exit(main())
