"""Wrong programs on a real GPU, before and after `streamsan check --fix`: how many words do they compute wrongly?

    python bench/fixed_programs.py                       needs nvcc and a GPU
    python bench/fixed_programs.py --prepare FOLDER      needs nvcc only: sources, fixed sources, compiled programs
    python bench/fixed_programs.py --prepared FOLDER     needs a GPU only: runs what was prepared (and no streamsan)

The programs are those of tests/hardware: each has one mistake, marked `// expect: CODE`, and prints `wrong words: N`.
The status is 0 where every program with a fix is right after it, 1 where one is not, 2 without nvcc or a GPU.
"""

from __future__ import annotations

import argparse
import ctypes
import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parents[1] / "tests" / "hardware"
LIMIT = 60.0
"""seconds that a run may take"""
MANIFEST = "programs.json"
_MARK = re.compile(r"//\s*expect:\s*(SS\d{3})")
_WORDS = re.compile(r"^wrong words: (\d+)$", re.MULTILINE)
_ERROR = re.compile(r"^error: (.*)$", re.MULTILINE)
_FRAME = re.compile(r"^\s*[{}]\s*$|^\s*cudaEvent_t \w+;|\bcudaEvent(Create|CreateWithFlags|Destroy)\(")
_DRIVER_FUNCTION = re.compile(r"\bU (cu[A-Z]\w*)$", re.MULTILINE)


class CannotError(Exception):
    """What this machine lacks, or what did not compile; one line."""


@dataclass(frozen=True)
class Prepared:
    """A program and its fixed source, both compiled: FOLDER/wrong/NAME and FOLDER/fixed/NAME."""

    name: str
    code: str
    edit: str
    """what the fix changed, in one line; where it changed nothing, why"""
    fixed: bool
    left: list[str]
    """what is wrong with the fixed source: findings at warning or above, CODE@LINE; that it does not compile"""


@dataclass(frozen=True)
class Outcome:
    """What one run ended with: a number of wrong words, or else an error."""

    words: int = 0
    error: str = ""

    @property
    def right(self) -> bool:
        """Whether the program found every word right, and no error."""
        return not self.words and not self.error


@dataclass(frozen=True)
class Measured:
    """A program's runs, before and after the fix; no runs after where there is no fix."""

    program: Prepared
    before: list[Outcome]
    after: list[Outcome]

    @property
    def wrong(self) -> bool:
        """Whether the program goes wrong in each of its runs."""
        return not any(outcome.right for outcome in self.before)

    @property
    def put_right(self) -> bool:
        """Whether the fixed source has no finding, and is right in each of its runs."""
        return bool(self.after) and not self.program.left and all(outcome.right for outcome in self.after)

    @property
    def row(self) -> str:
        """The line of the table."""
        left = f" ({'; '.join(self.program.left)})" if self.program.left else ""
        after = cell(self.after) if self.after else "not run" if self.program.fixed else "no fix"
        edit = self.program.edit.replace("|", "\\|")
        return f"| {self.program.name} | {self.program.code} | {cell(self.before)} | {after}{left} | {edit} |"


def cell(outcomes: list[Outcome]) -> str:
    """Return what runs ended with: one text where they agree."""
    texts = [outcome.error or f"{outcome.words:,}" for outcome in outcomes]
    return ", ".join(dict.fromkeys(texts))


def check(path: Path, *options: str) -> str:
    """Run `streamsan check` and return what it prints. Raises CannotError where it cannot read the program."""
    command = [sys.executable, "-m", "streamsan", "check", *options, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise CannotError(f"streamsan check {' '.join(options)} {path.name}: {last_line(done.stderr)}")
    return done.stdout


def last_line(text: str) -> str:
    """Return the last line that says something."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "no message")


def loud(path: Path) -> list[dict[str, object]]:
    """Return the findings of a source at warning or above, as in the JSON report."""
    findings = json.loads(check(path, "--format", "json"))["findings"]
    return [finding for finding in findings if finding["severity"] != "note"]


def change(before: str, after: str) -> str:
    """Return what was changed in a text, in one line, with the line numbers of the text before."""
    old, new = before.splitlines(), after.splitlines()
    steps = [
        (begin + 1, in_one_line(old[begin:end]), in_one_line(new[first:last]))
        for kind, begin, end, first, last in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if kind != "equal"
    ]
    added = {text: line for line, gone, text in steps if not gone}
    moved = {gone: line for line, gone, text in steps if not text and gone in added}
    parts = []
    for line, gone, text in steps:
        if gone in moved and not text:
            parts.append(f"line {line} moved before line {added[gone]}: `{gone}`")
        elif gone and text:
            parts.append(f"line {line}: `{gone}` is now `{text}`")
        elif gone:
            parts.append(f"line {line} removed: `{gone}`")
        elif text not in moved:
            parts.append(f"before line {line}: `{text}`")
    return "; ".join(parts)


def in_one_line(lines: list[str]) -> str:
    """Return statements in one line, less marks, braces and the life of an event that a fix makes."""
    kept = (_MARK.sub("", line) for line in lines if not _FRAME.search(line))
    return " ".join(" ".join(line.split()) for line in kept if line.strip())


def nvcc(*arguments: str) -> None:
    """Run the compiler. Raises CannotError with its message where it fails."""
    command = [shutil.which("nvcc") or "nvcc", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotError(f"nvcc: {last_line(done.stdout + done.stderr)}")


def compile_program(source: Path, architecture: str) -> None:
    """Compile FOLDER/NAME.cu to FOLDER/NAME, also where there is no driver to link with."""
    target = source.with_suffix("")
    with tempfile.TemporaryDirectory() as name:
        unit = Path(name) / "unit.o"
        nvcc("-std=c++17", "-O1", f"-arch={architecture}", "-c", "-o", str(unit), str(source))
        linked = [str(unit), *stand_in_for_the_driver(unit)]
        nvcc("-Xlinker", "-s", f"-arch={architecture}", "-o", str(target), *linked)


def stand_in_for_the_driver(unit: Path) -> list[str]:
    """Make, beside an object file, an empty libcuda of the functions it calls, to link with; [] if none."""
    symbols = subprocess.run(["nm", "-u", str(unit)], capture_output=True, text=True, check=True).stdout
    functions = _DRIVER_FUNCTION.findall(symbols)
    if not functions:
        return []
    source, library = unit.with_name("driver.c"), unit.with_name("libcuda.so")
    source.write_text("".join(f"void {function}(void) {{}}\n" for function in functions), encoding="utf-8")
    shared = ["-shared", "-cudart", "none", "-Xcompiler", "-fPIC", "-Xlinker", "-soname,libcuda.so.1"]
    nvcc(*shared, "-o", str(library), str(source))
    return [str(library)]


def prepare(source: Path, folder: Path, ready_made: Path | None, architecture: str) -> Prepared:
    """Make and compile both sources of a program; `ready_made` is a folder of fixed sources to take instead."""
    wrong, fixed = folder / "wrong" / source.name, folder / "fixed" / source.name
    for path in (wrong, fixed):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix("").unlink(missing_ok=True)
        shutil.copyfile(source, path)
    if ready_made is None:
        check(fixed, "--fix")
    elif (ready_made / source.name).exists():
        shutil.copyfile(ready_made / source.name, fixed)
    before, after = (path.read_text(encoding="utf-8") for path in (wrong, fixed))
    code = "".join(_MARK.findall(before)[:1])
    compile_program(wrong, architecture)
    if before == after:
        return Prepared(source.stem, code, f"no edit: {unfixed_reason(wrong, code)}", False, [])
    left = [f"still {finding['code']}@{place_of(finding)}" for finding in loud(fixed)]
    try:
        compile_program(fixed, architecture)
    except CannotError as error:
        left.append(str(error))
    return Prepared(source.stem, code, change(before, after), True, left)


def place_of(finding: dict[str, object]) -> int:
    """Return the line of a finding of the JSON report."""
    location = finding["location"]
    return int(location["line"]) if isinstance(location, dict) else 0


def unfixed_reason(source: Path, code: str) -> str:
    """Return what the report advises where it edits nothing."""
    for finding in loud(source):
        fix = finding["fix"]
        if finding["code"] == code and isinstance(fix, dict):
            return str(fix["summary"])
    return "the report names none"


def run_program(program: Path) -> Outcome:
    """Run a compiled program once."""
    program.chmod(0o755)  # a copy from another machine may have lost it
    try:
        done = subprocess.run([str(program)], capture_output=True, text=True, check=False, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return Outcome(error=f"no end within {LIMIT:.0f} s")
    words, error = _WORDS.search(done.stdout), _ERROR.search(done.stdout)
    if words is None or error is not None:
        return Outcome(error=error[1] if error is not None else f"status {done.returncode}")
    count = int(words[1])
    consistent = done.returncode == (1 if count else 0)
    return Outcome(count, "" if consistent else f"{count:,} wrong words, status {done.returncode}")


def measure(program: Prepared, folder: Path, runs: int) -> Measured:
    """Run a program and its fixed twin, one run at a time: what they show depends on time."""
    before = [run_program(folder / "wrong" / program.name) for _ in range(runs)]
    fixed = folder / "fixed" / program.name
    after = [run_program(fixed) for _ in range(runs)] if program.fixed and fixed.exists() else []
    return Measured(program, before, after)


def require_compiler() -> None:
    """Raise CannotError where there is no nvcc."""
    if shutil.which("nvcc") is None:
        raise CannotError("no nvcc: prepare the programs where there is one (--prepare), run them here (--prepared)")


def require_device() -> None:
    """Raise CannotError where there is no GPU."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise CannotError("no GPU: there is no driver (--prepare makes the programs, to be run elsewhere)") from None
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
        raise CannotError("no GPU: the driver sees none (--prepare makes the programs, to be run elsewhere)")


def prepare_all(options: argparse.Namespace, folder: Path) -> list[Prepared]:
    """Prepare all programs, several at a time, and note them down."""
    require_compiler()
    sources = [path for path in sorted(Path(options.programs).glob("*.cu")) if selected(path.stem, options.names)]
    ready_made = Path(options.fixed) if options.fixed else None
    with ThreadPoolExecutor(options.jobs) as pool:
        jobs = [pool.submit(prepare, source, folder, ready_made, options.arch) for source in sources]
        programs = [job.result() for job in jobs]
    (folder / MANIFEST).write_text(json.dumps([asdict(p) for p in programs], indent=1), encoding="utf-8")
    return programs


def selected(name: str, words: list[str]) -> bool:
    """Whether a program was asked for: its name contains one of the words, or there are none."""
    return not words or any(word in name for word in words)


def read_prepared(options: argparse.Namespace, folder: Path) -> list[Prepared]:
    """Return the programs that were prepared in a folder. Raises CannotError where none were."""
    try:
        entries = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except OSError as error:
        raise CannotError(f"{folder / MANIFEST}: {error.strerror}") from None
    return [program for program in (Prepared(**entry) for entry in entries) if selected(program.name, options.names)]


def compare(programs: list[Prepared], folder: Path, runs: int) -> int:
    """Run all programs, print the table and the totals, and return the exit status."""
    print("| program | rule | wrong words before | after | the edit |\n|---|---|---|---|---|", flush=True)
    measured = []
    for program in programs:
        measured.append(measure(program, folder, runs))
        print(measured[-1].row, flush=True)
    wrong = [one for one in measured if one.wrong]
    right = [one for one in wrong if one.put_right]
    print(f"\n{len(wrong)} of {len(measured)} programs compute wrong words, or fail, in each of {runs} runs")
    for title, ones in (
        ("not wrong in each run", [one for one in measured if not one.wrong]),
        ("no fix", [one for one in measured if not one.program.fixed]),
        ("not put right by the fix", [one for one in measured if one.program.fixed and not one.put_right]),
    ):
        if ones:
            print(f"{title}: {', '.join(one.program.name for one in ones)}")
    print(f"{len(right)} of {len(wrong)} programs that computed wrong words compute right ones after the fix")
    return int(any(one.program.fixed and not one.put_right for one in measured))


def main() -> int:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="programs whose name contains one of these; default: all")
    parser.add_argument("--programs", default=str(PROGRAMS), metavar="FOLDER", help="other programs, marked alike")
    parser.add_argument("--fixed", default="", metavar="FOLDER", help="take the fixed sources from there")
    parser.add_argument("--runs", type=int, default=3, help="runs of each program")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="programs prepared at a time")
    parser.add_argument("--arch", default="sm_90", help="what nvcc compiles for")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--prepare", default="", metavar="FOLDER", help="make everything there, run nothing")
    where.add_argument("--prepared", default="", metavar="FOLDER", help="run what was made there")
    options = parser.parse_args()
    try:
        if options.prepare:
            programs = prepare_all(options, Path(options.prepare))
            print(f"{len(programs)} programs in {options.prepare}, {sum(p.fixed for p in programs)} of them with a fix")
            return 0
        require_device()
        if options.prepared:
            return compare(read_prepared(options, Path(options.prepared)), Path(options.prepared), options.runs)
        with tempfile.TemporaryDirectory(prefix="streamsan-fixed-") as name:
            return compare(prepare_all(options, Path(name)), Path(name), options.runs)
    except CannotError as error:
        print(f"fixed_programs: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
