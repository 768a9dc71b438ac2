"""What recording OpenCL costs, and what a killed program leaves: plain and recorded in turns, in one run, on PoCL.

`python bench/opencl.py` prints the ratio of a loop of 100,000 tiny enqueues with call sites, and of how many kills left
a trace that can be read. It needs `pyopencl[pocl]` or a loader with a runtime, and a C compiler.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from opencl_runtime import OpenclMachine, build, compile_program  # noqa: E402
from streamsan.recorder.environment import own_environment  # noqa: E402
from streamsan.recorder.launch import Recording, Wanted, recording  # noqa: E402
from streamsan.trace import family  # noqa: E402

MOST_RATIO = 1.15


def run(program: str, rounds: int, environment: dict[bytes, bytes]) -> float:
    """Run the loop once; return nanoseconds of an enqueue."""
    done = subprocess.run([program, str(rounds)], env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def recorded(folder: Path, program: str, given: dict[bytes, bytes], use: Callable[[Recording], float]) -> float:
    """Make a recording for one process, and return what `use` does of it."""
    from streamsan.recorder.preconditions import required_library

    with recording(str(required_library()), str(folder / "run.sst"), program, given, Wanted()) as made:
        return use(made)


def times(
    machine: OpenclMachine, folder: Path, program: str, rounds: int, turns: int
) -> tuple[list[float], list[float]]:
    """Return the times of the plain loop and of the recorded one, which ran in turns."""
    given = environment_of(machine)
    run(program, 100, given)  # the kernel is compiled
    plain, with_recorder = [], []
    for _ in range(turns):
        plain.append(run(program, rounds, given))
        with_recorder.append(
            recorded(folder, program, given, lambda made: run(program, rounds, made.environment(given, 0)))
        )
    return plain, with_recorder


def kill(program: str, given: dict[bytes, bytes], seconds: float, made: Recording) -> float:
    """Kill a recorded program; return 1 where what it leaves can be read to its end."""
    process = subprocess.Popen(
        [program, "100000000"], env=made.environment(given, 0), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
    files = made.files()
    return float(bool(files) and sum(len(chunk) for chunk in family.read(files[0]).chunks()) > 0)


def environment_of(machine: OpenclMachine) -> dict[bytes, bytes]:
    """Return the environment of programs on this machine's runtime."""
    own = {os.fsdecode(name): os.fsdecode(value) for name, value in own_environment().items()}
    return {os.fsencode(name): os.fsencode(value) for name, value in {**own, **machine.environment()}.items()}


def main() -> int:
    """Measure and print; return 1 where a bound is not held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--kills", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        machine = build(folder / "machine")
        if machine is None:
            print("no OpenCL runtime: pip install 'pyopencl[pocl]'", file=sys.stderr)
            return 2
        program = str(folder / "storm")
        compile_program(machine, ROOT / "bench" / "recorder" / "opencl_storm.c", program)
        plain, with_recorder = times(machine, folder, program, options.rounds, options.turns)
        ratio = statistics.median(with_recorder) / statistics.median(plain)
        least = min(with_recorder) / min(plain)
        print(f"{options.rounds} tiny enqueues: {ratio:.3f}x of medians, {least:.3f}x of the least times")
        given, random_ = environment_of(machine), random.Random(1)
        readable = 0
        for _ in range(options.kills):
            seconds = random_.uniform(0.3, 0.8)
            readable += int(recorded(folder, program, given, partial(kill, program, given, seconds)))
        print(f"{options.kills} kills: {readable} readable traces")
    return int(ratio > MOST_RATIO or readable != options.kills)


if __name__ == "__main__":
    raise SystemExit(main())
