"""Wrong litmus programs on a real GPU, before and after `streamsan check --fix`, held against their right twins.

    python bench/fixed_litmus.py --prepare FOLDER       needs nvcc only: sources, fixed sources, compiled programs
    python bench/fixed_litmus.py --prepared FOLDER      needs a GPU only: runs what was prepared (and no streamsan)

The pairs are those of tests/litmus and tests/litmus/recorded in CUDA C++. Where an edit is proposed, the fixed program
must compile, `streamsan check` must have nothing against it, and its runs must end as those of the right twin do: with
the same status, the same output, and the same contents of all memory that it gives back (fixed_litmus/observer.cpp
looks at that: many of these programs print nothing). Runs differ by delays before the work on each stream, so that what
is not ordered does not stay so by luck. What the right twin itself does differently from run to run is not compared.

The status is 0 where every fixed program does what its right twin does, 1 where one does not, 2 without nvcc or a GPU.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

from fixed_programs import CannotError, change, last_line, nvcc, require_compiler, require_device, selected

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
LITMUS = ROOT / "tests" / "litmus"
FOLDERS = (LITMUS, LITMUS / "recorded")
OBSERVER = Path(__file__).with_name("fixed_litmus")
LIMIT = 30.0
"""seconds that a run may take"""
MANIFEST = "pairs.json"
NOT_LINKED = "compiles, but calls code that is elsewhere"
"""by design: what code nobody can see may do is the point of such a pair"""
VARIANTS = ("fixed", "right", "wrong")
"""in the order to compile them"""
RUNS = {"fixed": ("", "1", "2"), "right": ("", "1", "2"), "wrong": ("", "1")}
"""variant -> the delays of each of its runs; "": none"""


@dataclass(frozen=True)
class Pair:
    """A wrong program and its right twin; an edit, where one is proposed."""

    name: str
    code: str
    edit: str = ""
    """what the fix changed, in one line; "": no edit is proposed"""
    reasons: str = ""
    """what `check --fix` says on standard error"""
    left: tuple[str, ...] = ()
    """what is against the fixed source: findings at warning or above, CODE@LINE"""
    not_compiled: dict[str, str] = field(default_factory=dict)
    """variant -> the compiler's message"""
    two_devices: bool = False


@dataclass(frozen=True)
class Outcome:
    """What one run ended with."""

    status: str
    output: str = ""
    memory: tuple[str, ...] = ()
    """what each block held when it was given back, sorted"""
    ended: str = "not observed"
    """the device's status at the end of the program"""
    complaint: str = ""
    """the last line on standard error"""


ASPECTS = ("status", "output", "ended", "memory")


def source_of(folder: Path, variant: str, name: str) -> Path:
    """Return where a variant of a pair lies."""
    return folder / variant / f"{name}.cu"


# -- prepare: edits ---------------------------------------------------------------------------------


def proposed(wrong: Path, folder: Path) -> Pair:
    """Write the three sources of a pair, and fix the wrong one."""
    from expectations import Expectations, check_file

    name = wrong.name.split(".")[0]
    two = tomllib.loads((LITMUS / "recorded.toml").read_text(encoding="utf-8"))["accesses"]["two_devices"]
    expected = Expectations.of(wrong.read_text(encoding="utf-8"))
    codes = sorted({code for _, code in expected.loud or expected.notes})
    fixed = source_of(folder, "fixed", name)
    shutil.copyfile(wrong, source_of(folder, "wrong", name))
    shutil.copyfile(wrong.with_name(f"{name}.right.cu"), source_of(folder, "right", name))
    shutil.copyfile(wrong, fixed)
    selection = [] if expected.loud else ["--select", ",".join(codes)]
    said = fix(fixed, selection)
    before, after = (path.read_bytes().decode() for path in (wrong, fixed))
    if before == after:
        fixed.unlink()
        return Pair(name, ",".join(codes), reasons=said, two_devices=name in two)
    loud = [each for each in check_file(fixed) if each.severity != "note" or (each.code in codes and not expected.loud)]
    left = tuple(f"{each.code}@{each.location.line}" for each in loud)
    return Pair(name, ",".join(codes), change(before, after), said, left, two_devices=name in two)


def fix(path: Path, options: Sequence[str]) -> str:
    """Run `streamsan check --fix` in this process. Returns what it says of the edits."""
    from streamsan.cli import main as streamsan

    said, report = io.StringIO(), io.StringIO()
    with redirect_stderr(said), redirect_stdout(report):
        streamsan(["check", "--fix", *options, str(path)])
    return said.getvalue()


# -- prepare: compiled programs ---------------------------------------------------------------------


def compile_program(source: Path, architecture: str) -> None:
    """Compile FOLDER/NAME.cu to FOLDER/NAME, with the runtime as a library."""
    target = source.with_suffix("")
    with tempfile.TemporaryDirectory() as name:
        unit = Path(name) / "unit.o"
        nvcc("-std=c++17", "-O1", f"-arch={architecture}", "-c", "-o", str(unit), str(source))
        undefined = subprocess.run(["nm", "-u", str(unit)], capture_output=True, text=True, check=True).stdout
        driver = stand_in_for_the_driver(undefined, Path(name))
        link(target, [str(unit), *driver])


def stand_in_for_the_driver(undefined: str, folder: Path) -> list[str]:
    """Make an empty libcuda of the functions that a program calls, to link with; [] if it calls none."""
    words = [line.split()[-1] for line in undefined.splitlines() if line.split()]
    functions = [word for word in words if word.startswith("cu") and word[2:3].isupper()]
    if not functions:
        return []
    source, library = folder / "driver.c", folder / "libcuda.so"
    source.write_text("".join(f"void {function}(void) {{}}\n" for function in functions), encoding="utf-8")
    run_compiler(["gcc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", str(library), str(source)])
    return [str(library)]


@cache
def toolkit() -> Path:
    """Return the folder of the toolkit that nvcc is of."""
    command = ["nvcc", "--dryrun", "-c", "-x", "cu", "/dev/null"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    tops = [line.partition("TOP=")[2] for line in said.stderr.splitlines() if "TOP=" in line]
    if not tops:
        raise CannotError("nvcc does not tell its folder")
    return Path(tops[0].strip()).resolve()


def libraries() -> Path:
    """Return the folder of the toolkit's libraries."""
    top = toolkit()
    for folder in (top / "targets" / "x86_64-linux" / "lib", top / "lib64", top / "lib"):
        if (folder / "libcudart.so").exists():
            return folder
    raise CannotError(f"{top}: no libcudart.so")


def link(target: Path, inputs: Sequence[str], *options: str) -> None:
    """Link a program or library with the runtime."""
    where = f"-L{libraries()}"
    part = target.with_suffix(".part")
    try:
        run_compiler(["g++", "-Wl,-s", *options, "-o", str(part), *inputs, where, "-lcudart", "-ldl", "-lpthread"])
    except CannotError:
        raise CannotError(NOT_LINKED) from None
    part.replace(target)


def run_compiler(command: Sequence[str]) -> None:
    """Run a host compiler. Raises CannotError with its message where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotError(f"{command[0]}: {last_line(done.stdout + done.stderr)}")


def compile_observer(folder: Path, architecture: str) -> None:
    """Compile what looks at memory, and put the runtime beside it."""
    target = folder / "observer.so"
    include = libraries().parent / "include"
    with tempfile.TemporaryDirectory() as name:
        kernels, host = str(Path(name) / "kernels.o"), str(Path(name) / "observer.o")
        fpic = ["-Xcompiler", "-fPIC"]
        nvcc("-std=c++17", "-O2", f"-arch={architecture}", *fpic, "-c", "-o", kernels, str(OBSERVER / "kernels.cu"))
        run_compiler(
            [
                "g++",
                "-std=c++17",
                "-O2",
                "-Wall",
                "-fPIC",
                f"-I{include}",
                "-c",
                "-o",
                host,
                str(OBSERVER / "observer.cpp"),
            ]
        )
        link(target, [host, kernels], "-shared")
    shutil.copyfile((libraries() / "libcudart.so").resolve(), folder / "libcudart.so.13")


def is_compiled(target: Path, sources: Iterable[Path], anew: bool) -> bool:
    """Tell whether a program is there; with `anew`, whether it is newer than its sources, too."""
    newest = max(path.stat().st_mtime for path in sources)
    return target.exists() and (not anew or target.stat().st_mtime >= newest)


def compile_all(pairs: Sequence[Pair], folder: Path, options: argparse.Namespace) -> list[Pair]:
    """Compile what is not compiled yet: of all pairs with an edit first the fixed programs."""
    anew = bool(options.prepare)
    if not is_compiled(folder / "observer.so", OBSERVER.iterdir(), anew):
        compile_observer(folder, options.arch)
    failed: dict[str, dict[str, str]] = {pair.name: {} for pair in pairs}

    def one(variant: str, name: str) -> None:
        source = source_of(folder, variant, name)
        try:
            if not is_compiled(source.with_suffix(""), [source], anew):
                compile_program(source, options.arch)
        except CannotError as error:
            failed[name][variant] = str(error)
            print(f"{variant} {name}: {error}", flush=True)

    with ThreadPoolExecutor(options.jobs) as pool:
        for variant in VARIANTS:
            for pair in pairs:
                if pair.edit:
                    pool.submit(one, variant, pair.name)
    return [Pair(**{**asdict(pair), "not_compiled": failed[pair.name]}) for pair in pairs]


def prepare(options: argparse.Namespace, folder: Path) -> list[Pair]:
    """Write, fix and compile all pairs, and note them down."""
    require_compiler()
    for variant in VARIANTS:
        (folder / variant).mkdir(parents=True, exist_ok=True)
    programs = [path for place in FOLDERS for path in sorted(place.glob("*.wrong.cu"))]
    wanted = [path for path in programs if selected(path.stem, options.names)]
    known = {} if options.again else {pair.name: pair for pair in read_prepared(folder)}
    new = [path for path in wanted if path.name.split(".")[0] not in known]
    with ProcessPoolExecutor(options.jobs) as pool:
        for pair in pool.map(proposed, new, [folder] * len(new)):
            known[pair.name] = pair
            write(known.values(), folder)
            print(
                f"{pair.name}: {pair.edit or 'no edit'}" + "".join(f"; still {each}" for each in pair.left), flush=True
            )
    pairs = sorted(known.values(), key=lambda pair: pair.name)
    if not options.sources_only:
        pairs = compile_all(pairs, folder, options)
    write(pairs, folder)
    return pairs


def write(pairs: Iterable[Pair], folder: Path) -> None:
    """Note pairs down."""
    (folder / MANIFEST).write_text(json.dumps([asdict(pair) for pair in pairs], indent=1), encoding="utf-8")


def read_prepared(folder: Path) -> list[Pair]:
    """Return the pairs that were prepared in a folder."""
    try:
        entries = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except OSError:
        return []
    return [Pair(**{**entry, "left": tuple(entry["left"])}) for entry in entries]


# -- run --------------------------------------------------------------------------------------------


def run_program(program: Path, folder: Path, delays: str, two_devices: bool) -> Outcome:
    """Run a compiled program once."""
    with tempfile.TemporaryDirectory() as name:
        seen = Path(name) / "observed"
        environment = {
            **os.environ,
            "LD_PRELOAD": str(folder / "observer.so"),
            "LD_LIBRARY_PATH": f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}",
            "OBSERVED": str(seen),
        }
        if delays:
            environment["DELAYS"] = delays
        if not two_devices:
            environment["CUDA_VISIBLE_DEVICES"] = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
        try:
            done = subprocess.run(
                [str(program)], capture_output=True, check=False, timeout=LIMIT, env=environment, cwd=name
            )
        except subprocess.TimeoutExpired:
            return Outcome(f"no end within {LIMIT:.0f} s")
        lines = seen.read_text(encoding="utf-8").splitlines() if seen.exists() else []
    output, errors = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
    ended = lines.pop().partition(" ")[2] if lines else "not observed"
    return Outcome(f"status {done.returncode}", output, tuple(lines), ended, last_line(errors) if errors else "")


@dataclass(frozen=True)
class Measured:
    """The runs of a pair: variant -> outcomes."""

    pair: Pair
    outcomes: dict[str, list[Outcome]]

    @property
    def compared(self) -> list[str]:
        """What the right twin does alike in all its runs."""
        right = self.outcomes["right"]
        return [aspect for aspect in ASPECTS if len({getattr(each, aspect) for each in right}) == 1]

    def differences(self, variant: str) -> list[str]:
        """Return in what a variant's runs are not like those of the right twin."""
        right = self.outcomes["right"][0]
        found = []
        for aspect in self.compared:
            expected = getattr(right, aspect)
            other = [value for each in self.outcomes[variant] if (value := getattr(each, aspect)) != expected]
            if other:
                count = f"{len(other)} of {len(self.outcomes[variant])} runs"
                found.append(f"{aspect} in {count}: {_shown(aspect, other[0], expected)}")
        return found

    @property
    def proof(self) -> str:
        """What the comparison rests on."""
        right = self.outcomes["right"][0]
        parts = []
        if "output" in self.compared and right.output:
            parts.append("output")
        if "memory" in self.compared and right.memory:
            parts.append(f"{len(right.memory)} blocks")
        return ", ".join(parts) or "status only"

    @property
    def complaints(self) -> list[str]:
        """What is against the fix."""
        if self.pair.not_compiled.get("fixed", NOT_LINKED) != NOT_LINKED:
            return [f"does not compile: {self.pair.not_compiled['fixed']}"]
        found = [f"still {each}" for each in self.pair.left]
        return found + (self.differences("fixed") if self.judged else [])

    @property
    def judged(self) -> bool:
        """Whether there are runs of the fixed and of the right program, and the right one ends well."""
        return bool(self.outcomes.get("fixed")) and bool(self.outcomes.get("right")) and not self.unfit

    @property
    def unfit(self) -> str:
        """Why the right twin cannot be held against anything here; "" where it can."""
        runs = self.outcomes.get("right")
        if not runs:
            return self.pair.not_compiled.get("right", "not run")
        bad = [each for each in runs if each.status != "status 0"]
        return f"the right twin ends with {bad[0].status} here: {bad[0].complaint}" if bad else ""

    @property
    def row(self) -> str:
        """The line of the table."""
        if not self.judged:
            return f"| {self.pair.name} | {self.pair.code} | not judged | {self.unfit or 'not run'} | |"
        wrong = "differs" if self.outcomes.get("wrong") and self.differences("wrong") else "as the right twin"
        after = "; ".join(self.complaints) or "as the right twin"
        return f"| {self.pair.name} | {self.pair.code} | {wrong} | {after} | {self.proof} |"


def _shown(aspect: str, got: object, expected: object) -> str:
    if aspect == "memory":
        assert isinstance(got, tuple)
        assert isinstance(expected, tuple)
        extra, missing = Counter(got) - Counter(expected), Counter(expected) - Counter(got)
        return f"{list(extra)[:3]} instead of {list(missing)[:3]}"
    return f"{str(got)[:160]!r} instead of {str(expected)[:160]!r}"


def measure(pair: Pair, folder: Path, deadline: float) -> Measured:
    """Run the variants of a pair."""
    outcomes: dict[str, list[Outcome]] = {}
    for variant in VARIANTS:
        program = source_of(folder, variant, pair.name).with_suffix("")
        if not program.exists():
            continue
        program.chmod(0o755)  # a copy from another machine may have lost it
        outcomes[variant] = []
        for delays in RUNS[variant]:
            if time.monotonic() < deadline:
                outcomes[variant].append(run_program(program, folder, delays, pair.two_devices))
    return Measured(pair, outcomes)


def compare(options: argparse.Namespace, folder: Path) -> int:
    """Run all pairs, print the table and the totals, and return the exit status."""
    deadline = time.monotonic() + options.within
    pairs = [pair for pair in read_prepared(folder) if pair.edit and selected(pair.name, options.names)]
    if not pairs:
        raise CannotError(f"{folder / MANIFEST}: no pairs with an edit were prepared there")
    if options.compile:
        pairs = compile_all(pairs, folder, options)
    print("| pair | rule | wrong program | fixed program | compared |\n|---|---|---|---|---|", flush=True)
    measured = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for one in pool.map(lambda pair: measure(pair, folder, deadline), pairs):
            measured.append(one)
            print(one.row, flush=True)
    if options.report:
        entries = [
            {"pair": asdict(one.pair), "runs": {k: [asdict(o) for o in v] for k, v in one.outcomes.items()}}
            for one in measured
        ]
        Path(options.report).write_text(json.dumps(entries, indent=1), encoding="utf-8")
    judged = [one for one in measured if one.judged]
    bad = [one for one in measured if one.complaints]
    shown = [one for one in judged if one.outcomes.get("wrong") and one.differences("wrong")]
    print(f"\n{len(pairs)} wrong programs with an edit; {len(judged)} judged")
    for reason, names in (
        ("not judged", [one.pair.name for one in measured if not one.judged]),
        ("status only", [one.pair.name for one in judged if one.proof == "status only"]),
        ("the fix is not right", [one.pair.name for one in bad]),
    ):
        print(f"{reason}: {len(names)}" + (f": {', '.join(names)}" if names else ""))
    print(f"{len(shown)} of the wrong programs ran otherwise than their right twins, without the fix")
    right = len([one for one in judged if not one.complaints])
    print(f"{right} of {len(judged)} fixed programs do what their right twins do")
    return int(bool(bad))


def main() -> int:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="pairs whose name contains one of these; default: all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="programs compiled or run at a time")
    parser.add_argument("--arch", default="sm_90", help="what nvcc compiles for")
    parser.add_argument("--again", action="store_true", help="with --prepare: seek all edits again")
    parser.add_argument("--sources-only", action="store_true", help="with --prepare: compile nothing")
    parser.add_argument("--compile", action="store_true", help="with --prepared: compile what is not compiled yet")
    parser.add_argument("--within", type=float, default=1e9, metavar="SECONDS", help="begin no run after that")
    parser.add_argument("--report", default="", metavar="FILE", help="write down all that was seen, as JSON")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--prepare", default="", metavar="FOLDER", help="make everything there, run nothing")
    where.add_argument("--prepared", default="", metavar="FOLDER", help="run what was made there")
    options = parser.parse_args()
    try:
        if options.prepare:
            pairs = prepare(options, Path(options.prepare).resolve())
            edits = [pair for pair in pairs if pair.edit]
            refused = {pair.name for pair in edits if pair.not_compiled.get("fixed", NOT_LINKED) != NOT_LINKED}
            broken = [pair.name for pair in edits if pair.name in refused or pair.left]
            print(f"{len(pairs)} pairs, {len(edits)} with an edit")
            print(f"not compiled or not silent: {', '.join(broken) or 'none'}")
            return int(bool(broken))
        require_device()
        return compare(options, Path(options.prepared).resolve())
    except CannotError as error:
        print(f"fixed_litmus: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
