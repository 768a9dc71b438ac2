"""`run --host-accesses` on a GPU: what is found in right and wrong programs, and what it costs; all in one run.

`python bench/host_accesses.py` needs nvcc; with PyTorch it measures a step with a pinned loader, too. Two minutes.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent / "host_accesses"
STREAMSAN = [sys.executable, "-m", "streamsan"]
SECONDS = 120
AT_ONCE = 4
FACTS = ("closed_rights_host", "closed_rights_device", "closed_key_host", "closed_key_device")
LOOPS = ("loop_4k", "loop_256k", "loop_16m")
OPTION = "--host-accesses"


def ran(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)


def recorded(folder: Path, command: Sequence[str], *options: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Run a command under `streamsan run`; return how it ended and `CODE line` of each warning and error."""
    folder.mkdir(exist_ok=True)
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    done = ran([*STREAMSAN, "run", *options, "--format", "json", "--report", str(report), "--", *command])
    if not report.exists():
        return done, [f"no report: {done.stderr.strip()}"]
    document = json.loads(report.read_text())
    said = [
        f"{each['code']} line {each['location']['line']}"
        for each in document["findings"]
        if each["severity"] != "note" or each["code"] == "SS603"
    ]
    said += [problem["message"] for problem in document["summary"]["problems"]]
    return done, said


def find(folder: Path, program: str, names: Sequence[str]) -> int:
    """Print what is found in each program with the option; return how many are not as they should be."""
    bad = 0
    print(f"{'program':<28} {'plain':<22} {'with the option':<22} found")

    def run(name: str) -> tuple[subprocess.CompletedProcess[str], subprocess.CompletedProcess[str], list[str]]:
        return ran([program, name]), *recorded(folder / name, [program, name], OPTION)

    with ThreadPoolExecutor(AT_ONCE) as beside:
        results = list(beside.map(run, names))
    for name, (alone, done, said) in zip(names, results, strict=True):
        same = (done.returncode, done.stdout) == (alone.returncode, alone.stdout)
        found = any(each.startswith("SS108") for each in said)
        loud = [each for each in said if each.startswith("SS") and not each.startswith("SS603")]
        ok = same and (found if name.endswith("_wrong") else not loud)
        bad += not ok
        shown = [f"{each.returncode}: {' '.join(each.stdout.split())}"[:22] for each in (alone, done)]
        print(f"{name:<28} {shown[0]:<22} {shown[1]:<22} {'ok ' if ok else 'BAD'} {'; '.join(said)}", flush=True)
        if not same:
            print("    " + "\n    ".join(done.stderr.splitlines()[-8:]))
    return bad


def value(command: Sequence[str], *options: str, record: bool = True) -> float:
    """Run a command that prints a number last, plain or recorded without a check."""
    with tempfile.TemporaryDirectory() as folder:
        words = [*STREAMSAN, "run", "--no-check", "-o", f"{folder}/b.sst", *options, "--"] if record else []
        done = ran([*words, *command])
    lines = done.stdout.split()
    if done.returncode != 0 or not lines:
        print(f"    {' '.join(command)} ended with {done.returncode}: {done.stderr[-2000:]}")
        return float("nan")
    return float(lines[-1])


def cost(title: str, unit: str, command: Sequence[str], rounds: int) -> None:
    """Print what a workload takes plain, recorded, and with the option: the least of some rounds, in turns."""
    taken: list[list[float]] = [[], [], []]
    for _ in range(rounds):
        taken[0].append(value(command, record=False))
        taken[1].append(value(command))
        taken[2].append(value(command, OPTION))
    plain, bare, with_option = (min(each) for each in taken)
    ratios = f"recorded {bare / plain:6.3f}x; with the option {with_option / plain:6.3f}x"
    print(f"{title:<28} {plain:9.3f} {unit} plain; {ratios} ({with_option / bare:6.3f}x of recorded)", flush=True)


def main() -> int:
    """Build, check, measure; exit with 1 where a program is not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="programs to check; all where none is named, and then what it costs")
    names = parser.parse_args().names
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = str(folder / "programs")
        source = str(HERE / "programs.cu")
        subprocess.run(["nvcc", "-O2", "-g", "-std=c++17", "-o", program, source], check=True)
        known = ran([program]).stdout.split()
        judged = [each for each in known if each.endswith(("_wrong", "_right"))]
        bad = find(folder, program, names or judged)
        if names:
            return bool(bad)
        print(f"{bad} of {len(judged)} are not as they should be\n\na kernel on managed memory whose pages are closed:")
        for fact in FACTS:
            print(f"    {fact:<24} {ran([program, fact]).stdout.strip()}")
        print()
        for loop in LOOPS:
            cost(loop, "us", [program, loop], 2)
        if importlib.util.find_spec("torch") is not None:
            os.environ.setdefault("OMP_NUM_THREADS", "4")
            loader = [sys.executable, str(HERE.parent / "recorder" / "loader.py")]
            _, said = recorded(folder, [*loader, "64", "2"], OPTION)
            print("found in the loader's program:", "; ".join(said) or "nothing")
            for workers, rounds in (("0", 2), ("2", 1)):
                cost(f"pinned loader, {workers} workers", "ms", [*loader, "600", workers], rounds)
        return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
