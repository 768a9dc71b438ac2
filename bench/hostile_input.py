"""Damaged traces, launches, machine code and sources, patches in folders with hostile names: nothing crashes or hangs.

    python bench/hostile_input.py traces --count 3000
    python bench/hostile_input.py launches --count 3000
    python bench/hostile_input.py code --count 1500
    python bench/hostile_input.py sources --count 2500
    python bench/hostile_input.py patches --count 460

A damaged input must give a report, or one line that says why not: no traceback, no internal error, no signal, an end
within a minute, and no more memory than `hostile/runs.py` allows. A patch must apply with git, change the files that it
names and no others, and leave a source that is still checked. Status 1 where one does not; `--keep FOLDER` keeps those
inputs.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))

from hostile.launches import recording_with_damaged_code, recording_with_hostile_launches  # noqa: E402
from hostile.mutations import damaged_source, damaged_trace  # noqa: E402
from hostile.runs import tried  # noqa: E402

import streamsan  # noqa: E402

TRACES = sorted((ROOT / "tests" / "traces" / "h200").glob("*.sst"))
SOURCES = sorted((ROOT / "tests" / "litmus").glob("*.cu"))
WRONG = [path for path in SOURCES if ".wrong." in path.name]
NAMES = (
    *("plain", "a b", "tab\tin", "new\nline", 'quo"te', "back\\slash", "\x7f\x01", "ä"),
    *("x\n+++ b\\victim", "-rf", " ", "a'b", "$(x)", "*"),
)
INTERNAL = "internal error"
COUNTS = {"traces": 3000, "launches": 3000, "code": 1500, "sources": 2500, "patches": 460}


def damaged(kind: str, number: int, seed: int, folder: Path) -> Path:
    """Write the input of a number: the same for the same seed."""
    chance = random.Random(f"{seed} {kind} {number}")
    if kind == "launches":
        path = recording_with_hostile_launches(folder, str(number), chance)
    elif kind == "code":
        path = recording_with_damaged_code(folder, str(number), chance)
    elif kind == "traces":
        path = folder / f"{number}.sst"
        path.write_bytes(damaged_trace(chance.choice(TRACES).read_bytes(), chance))
    else:
        path = folder / f"{number}.cu"
        text = damaged_source(chance.choice(SOURCES).read_text(encoding="utf-8"), chance)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return path


def checked(path: Path) -> str:
    """Check an input; return what is wrong with how that ended, "" for nothing."""
    report = streamsan.check(path)
    texts = [problem.message for problem in report.problems]
    for text in texts:
        if INTERNAL in text or "\n" in text:
            return text
    if not report.files and not texts:
        return "neither a report nor a reason"
    for name in ("text", "json", "sarif"):
        streamsan.render(report, name)
    return ""


def patched(number: int, seed: int, folder: Path) -> str:
    """Fix a wrong program in a folder of a hostile name by `check --diff | git apply`; return what went wrong."""
    chance = random.Random(f"{seed} patches {number}")
    work = folder / str(number)
    place = work / chance.choice(NAMES).replace("/", "_") / chance.choice(NAMES).replace("/", "_")
    place.mkdir(parents=True)
    source = place / f"{chance.choice(NAMES)}.cu"
    before = chance.choice(WRONG).read_bytes()
    source.write_bytes(before)
    (work / "victim").write_text("one\n", encoding="utf-8")
    (work / "b").write_text("one\n", encoding="utf-8")
    command = [sys.executable, "-m", "streamsan", "--no-config", "check", "--diff", "--", str(source.relative_to(work))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    made = subprocess.run(command, cwd=work, env=environment, capture_output=True, check=False)
    if made.returncode not in (0, 1) or b"Traceback" in made.stderr or INTERNAL.encode() in made.stderr:
        return f"--diff ended with {made.returncode}: {made.stderr[-200:]!r}"
    if not made.stdout:
        return ""
    applied = subprocess.run(["git", "apply", "-"], cwd=work, input=made.stdout, capture_output=True, check=False)
    if applied.returncode:
        return f"git refuses the patch: {applied.stderr[-200:]!r}"
    if source.read_bytes() == before:
        return "the patch did not change its file"
    files = sorted(str(path.relative_to(work)) for path in work.rglob("*") if path.is_file())
    if files != sorted(["b", "victim", str(source.relative_to(work))]) or "owned" in (work / "victim").read_text():
        return f"the patch touched other files: {files}"
    return checked(source)


def main() -> int:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kind", choices=list(COUNTS))
    parser.add_argument("--count", type=int, default=0, help=f"default: {COUNTS}")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", default="", metavar="FOLDER", help="keep the inputs that went wrong")
    options = parser.parse_args()
    kind, seed = options.kind, options.seed
    count = options.count or COUNTS[kind]
    with tempfile.TemporaryDirectory(prefix="streamsan-hostile-") as name:
        folder = Path(name)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")  # what is read of damaged code is not kept

        def one(number: int) -> str:
            if kind == "patches":
                return patched(number, seed, folder)
            path = damaged(kind, number, seed, folder)
            try:
                return checked(path)
            finally:
                path.unlink()
                shutil.rmtree(path.with_suffix(".code"), ignore_errors=True)

        work: Callable[[int], str] = one
        found = tried(range(count), work, options.jobs)
        for bad in found:
            print(f"{kind} {bad.number}: {bad.reason}")
            if options.keep and kind != "patches":
                Path(options.keep).mkdir(parents=True, exist_ok=True)
                damaged(kind, bad.number, seed, Path(options.keep))
    print(f"{count - len(found)} of {count} {kind} ended as they should (seed {seed})")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
