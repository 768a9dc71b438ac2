"""What `streamsan run --poison` makes of programs: wrong results alone and with it, in one run.

`python bench/poison.py` runs the pairs of tests/litmus/poison, most of whose races hardly ever change a number, and
the pairs of tests/litmus/pools, each alone and with --poison: a wrong program should compute wrong results then, a
right one must not. It prints a row for each program, with what the report says of the blocks, and ends with 1 if a
right program computed something wrong, or ended otherwise, or a wrong one of tests/litmus/poison went unnoticed that is
not in LIMITS. `--sources` also runs the right programs of tests/litmus in C++: output and exit status have to be those
of the program alone. Needs a GPU, nvcc, and for the Python programs torch and CuPy.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from other_tools import LIMIT, OVER_LIMIT, Run, run
from recorded_litmus import POOLS, PROGRAMS, devices

QUIET = PROGRAMS / "poison"
POOL_HEADER = PROGRAMS.parents[1] / "src" / "streamsan" / "pools"
"""where streamsan.h is"""
LIMITS = {"torch_side_stream_block.wrong.py"}
"""quiet, and no overwriting can show them: the next owner writes the whole block, with the same values, before the
reader comes"""


@dataclass(frozen=True)
class Outcome:
    """What one program did alone, and with --poison."""

    source: Path
    alone: Run
    poisoned: Run
    said: str
    """what the report says of blocks, "" where there is none"""

    @property
    def wrong(self) -> bool:
        """Whether the program is one that makes the mistake."""
        return ".wrong." in self.source.name

    @property
    def verdict(self) -> str:
        """Say in a word what is not as it should be, "" where all is."""
        if OVER_LIMIT in (self.alone.status, self.poisoned.status):
            return "OVER LIMIT"
        if self.alone.numbers is None and self.source.suffix == ".py":
            return "not run"
        if self.wrong:
            if self.source.parent != QUIET or self.poisoned.status != 0 or self.misses(self.poisoned):
                return ""
            return "limit" if self.source.name in LIMITS else "UNNOTICED"
        changed = self.poisoned.status != self.alone.status or self.misses(self.poisoned) > self.misses(self.alone)
        if self.source.parent == PROGRAMS:
            changed = changed or self.poisoned.output != self.alone.output
        return "BROKEN" if changed else ""

    @staticmethod
    def misses(ran: Run) -> int:
        """Return how many results were wrong, as the program counts."""
        return ran.numbers[0] if ran.numbers else 0


def command_of(source: Path, folder: Path) -> list[str] | None:
    """Return how to run a program; C++ is compiled. None where it does not link."""
    if source.suffix == ".py":
        return [sys.executable, str(source)]
    target = folder / source.stem
    words = ["nvcc", "-arch=native", "-g", "-O1", "-std=c++17", f"-I{POOL_HEADER}", "-o", str(target), str(source)]
    done = subprocess.run([*words, "-lcuda"], capture_output=True, check=False, text=True)
    if done.returncode != 0:
        print(f"{source.name}: {done.stderr.strip()[:300]}", flush=True)
    return [str(target)] if done.returncode == 0 else None


def outcome_of(source: Path, folder: Path) -> Outcome | None:
    """Run a program alone and with --poison."""
    program = command_of(source, folder)
    if program is None:
        return None
    environment = devices(False)
    alone = run(program, folder, environment)
    report = folder / f"{source.stem}.json"
    words = ["run", "--poison", "--no-fixes", "--format", "json", "--report", str(report), "--", *program]
    poisoned = run([sys.executable, "-m", "streamsan", *words], folder, environment, folder / f"{source.stem}.txt")
    said = ""
    if report.exists():
        problems = json.loads(report.read_text(encoding="utf-8"))["summary"]["problems"]
        said = next((each["message"] for each in problems if "--poison" in each["message"]), "")
    return Outcome(source, alone, poisoned, said)


def row(outcome: Outcome) -> str:
    """Return the line of a program."""

    def words(ran: Run) -> str:
        results = f"{ran.numbers[0]} of {ran.numbers[1]}" if ran.numbers else "-"
        return f"{results:>9} ({ran.status})"

    name = f"{outcome.source.parent.name}/{outcome.source.name}"
    return f"{name:<52} {words(outcome.alone)} {words(outcome.poisoned)} {outcome.verdict:<10} {outcome.said}"


def main() -> int:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="programs whose name contains one of these; default: all")
    parser.add_argument("--sources", action="store_true", help="also the right programs of tests/litmus in C++")
    parser.add_argument("--quiet", action="store_true", help="only the pairs of tests/litmus/poison")
    parser.add_argument("--jobs", type=int, default=6, help="programs run at a time")
    options = parser.parse_args()
    sources = sorted(QUIET.iterdir())
    if not options.quiet:
        sources += sorted(POOLS.glob("*.py"))
    if options.sources:
        sources += sorted(PROGRAMS.glob("*.right.cu"))
    sources = [
        path
        for path in sources
        if path.suffix in (".py", ".cu")
        and "peer" not in path.name
        and (not options.names or any(name in path.name for name in options.names))
    ]
    begin = time.perf_counter()
    print(f"{'program':<52} {'alone':>13} {'--poison':>13}")
    with tempfile.TemporaryDirectory(prefix="streamsan-poison-") as name, ThreadPoolExecutor(options.jobs) as pool:
        outcomes = []
        for made in pool.map(lambda path: outcome_of(path, Path(name)), sources):
            if made is not None:
                outcomes.append(made)
                print(row(made), flush=True)
    for wrong in (True, False):
        those = [each for each in outcomes if each.wrong == wrong]
        alone = sum(bool(Outcome.misses(each.alone)) for each in those)
        poisoned = sum(bool(Outcome.misses(each.poisoned)) or each.poisoned.status != 0 for each in those)
        kind = "wrong" if wrong else "right"
        print(f"{len(those)} {kind} programs: {alone} computed wrong results alone, {poisoned} with --poison or failed")
    print(f"{time.perf_counter() - begin:.0f} s, at most {LIMIT} s a program")
    return int(any(each.verdict in ("BROKEN", "UNNOTICED") for each in outcomes))


if __name__ == "__main__":
    sys.exit(main())
