"""Wrong litmus programs on a real GPU, before and after `streamsan check --fix`, held against their right twins.

    python bench/fixed_litmus.py --prepare FOLDER       needs nvcc only: sources, fixed sources, compiled programs
    python bench/fixed_litmus.py --prepared FOLDER      needs a GPU only: runs what was prepared (and no streamsan)

The pairs are those of tests/litmus and tests/litmus/recorded in CUDA C++. Where an edit is proposed, the fixed program
must compile, `streamsan check` must have nothing against it, and its runs must end as those of the right twin do: with
the same status, the same output, and the same contents of all memory that it gives back (fixed_litmus/observer.cpp
looks at that: many of these programs print nothing). Runs differ by delays before the work on each stream, so that what
is not ordered does not stay so by luck.

Programs run beside each other (`--jobs`), and all pairs are judged before anything runs that only shows more. `--known`
and `--verdicts` keep verdicts between runs: a pair is judged again where its fixed or its right program is another one.
fixed_litmus_verdicts.jsonl holds those so far:

    python bench/fixed_litmus.py --prepared FOLDER --compile --within 100 \\
        --known bench/fixed_litmus_verdicts.jsonl --verdicts NEW.jsonl

The status is 0 where every fixed program does what its right twin does, 1 where one does not, 2 without nvcc or a GPU.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict
from functools import cache
from pathlib import Path

from fixed_litmus_runs import AGAIN, JUDGING, NOT_LINKED, SHOWING, Measured, Pair, digest_of, measure, source_of
from fixed_litmus_verdicts import Verdict, read_verdicts, totals, write_verdicts
from fixed_programs import CannotError, change, last_line, nvcc, require_compiler, require_device, selected

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
LITMUS = ROOT / "tests" / "litmus"
FOLDERS = (LITMUS, LITMUS / "recorded")
OBSERVER = Path(__file__).with_name("fixed_litmus")
MANIFEST = "pairs.json"
VARIANTS = ("fixed", "right", "wrong")
"""in the order to compile them"""


# -- prepare: edits ---------------------------------------------------------------------------------


def proposed(wrong: Path, folder: Path) -> Pair:
    """Write the three sources of a pair, and fix the wrong one. Programs of other sources than these are removed."""
    sources = [source_of(folder, variant, wrong.name.split(".")[0]) for variant in VARIANTS]
    known = {path: path.read_bytes() for path in sources if path.exists()}
    pair = _proposed(wrong, folder)
    for path in sources:
        if not path.exists() or path.read_bytes() != known.get(path):
            path.with_suffix("").unlink(missing_ok=True)
    return pair


def _proposed(wrong: Path, folder: Path) -> Pair:
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


def compile_variants(
    pair: Pair, variants: Sequence[str], folder: Path, options: argparse.Namespace, deadline: float
) -> None:
    """Compile variants of a pair that are not compiled yet. What fails is noted in the pair."""
    for variant in variants:
        source = source_of(folder, variant, pair.name)
        # A pair whose fixed or right program is not whole is not judged.
        if NOT_LINKED in pair.not_compiled.values() or time.monotonic() >= deadline:
            return
        try:
            if not is_compiled(source.with_suffix(""), [source], anew=bool(options.prepare)):
                compile_program(source, options.arch)
            pair.not_compiled.pop(variant, None)
        except CannotError as error:
            pair.not_compiled[variant] = str(error)


def compile_all(pairs: Sequence[Pair], folder: Path, options: argparse.Namespace) -> None:
    """Compile what is not compiled yet: of all pairs with an edit first the fixed programs."""
    if not is_compiled(folder / "observer.so", OBSERVER.iterdir(), anew=True):
        compile_observer(folder, options.arch)
    with ThreadPoolExecutor(options.jobs) as pool:
        for variant in VARIANTS:
            for pair in pairs:
                if pair.edit:
                    pool.submit(compile_variants, pair, [variant], folder, options, math.inf)


def prepare(options: argparse.Namespace, folder: Path) -> list[Pair]:
    """Write, fix and compile all pairs, and note them down."""
    require_compiler()
    for variant in VARIANTS:
        (folder / variant).mkdir(parents=True, exist_ok=True)
    programs = [path for place in FOLDERS for path in sorted(place.glob("*.wrong.cu"))]
    wanted = [path for path in programs if selected(path.stem, options.names)]
    known = {pair.name: pair for pair in read_prepared(folder)}
    new = [path for path in wanted if options.again or path.name.split(".")[0] not in known]
    with ProcessPoolExecutor(options.jobs) as pool:
        for pair in pool.map(proposed, new, [folder] * len(new)):
            known[pair.name] = pair
            write(known.values(), folder)
            print(
                f"{pair.name}: {pair.edit or 'no edit'}" + "".join(f"; still {each}" for each in pair.left), flush=True
            )
    if not is_compiled(folder / "observer.so", OBSERVER.iterdir(), anew=True):
        (folder / "observer.so").unlink(missing_ok=True)
    pairs = sorted(known.values(), key=lambda pair: pair.name)
    if not options.sources_only:
        compile_all(pairs, folder, options)
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


def compare(options: argparse.Namespace, folder: Path) -> int:
    """Run all pairs that are not judged yet, print the table and the totals, and return the exit status."""
    deadline = time.monotonic() + options.within
    pairs = [pair for pair in read_prepared(folder) if pair.edit and selected(pair.name, options.names)]
    if not pairs:
        raise CannotError(f"{folder / MANIFEST}: no pairs with an edit were prepared there")
    require_device()
    digests = {pair.name: digest_of(folder, pair.name) for pair in pairs}
    kept = read_verdicts(Path(options.known)) if options.known else []
    known = {each.pair: each for each in kept if each.sources == digests.get(each.pair)}
    if options.compile and not is_compiled(folder / "observer.so", OBSERVER.iterdir(), anew=False):
        compile_observer(folder, options.arch)
    measured = [Measured(pair, {}) for pair in pairs if pair.name not in known]
    with ThreadPoolExecutor(options.jobs) as pool:
        for runs in (JUDGING, AGAIN, SHOWING):
            # What nothing hangs on comes last: with little time all pairs are judged, and no more.
            wanted = [one for one in measured if runs is not AGAIN or (one.judged and one.differences("fixed"))]

            def run(one: Measured, runs: Mapping[str, tuple[str, ...]] = runs) -> None:
                if options.compile:
                    compile_variants(one.pair, list(runs), folder, options, deadline)
                measure(one, folder, runs, deadline)

            list(pool.map(run, wanted))
    found = [Verdict.of(one, digests[one.pair.name], card()) for one in measured]
    print("| pair | rule | wrong program | fixed program | compared | on |\n|---|---|---|---|---|---|")
    every = [known.get(pair.name) or next(each for each in found if each.pair == pair.name) for pair in pairs]
    for each in every:
        print(each.row)
    if options.report:
        entries = [{"pair": asdict(one.pair), "runs": _as_json(one)} for one in measured]
        Path(options.report).write_text(json.dumps(entries, indent=1), encoding="utf-8")
    if options.verdicts:
        write_verdicts(Path(options.verdicts), every)
    print(f"\n{totals(every)}")
    return int(any(one.complaints for one in measured) or any(not each.is_right for each in known.values()))


@cache
def card() -> str:
    """Return the name of the GPU."""
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    said = subprocess.run(command, capture_output=True, text=True, check=False) if shutil.which(command[0]) else None
    return said.stdout.partition("\n")[0].strip() if said and not said.returncode else "a GPU without a name"


def _as_json(one: Measured) -> dict[str, list[dict[str, object]]]:
    return {variant: [asdict(each) for each in outcomes] for variant, outcomes in one.outcomes.items()}


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
    parser.add_argument(
        "--known", default="", metavar="FILE", help="verdicts of earlier runs: do not judge these again"
    )
    parser.add_argument("--verdicts", default="", metavar="FILE", help="keep the verdicts there, with those known")
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
        return compare(options, Path(options.prepared).resolve())
    except CannotError as error:
        print(f"fixed_litmus: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
