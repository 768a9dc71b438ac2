"""Kill a recorded program at random moments: every trace must be readable, and a prefix of the whole one.

`python bench/kills.py` needs a GPU and nvcc; tests/recorder does the same on a fake device.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from streamsan.trace import reader

HERE = Path(__file__).resolve().parent / "recorder"


def shape(path: Path) -> tuple[np.ndarray, bool]:
    """Return kind and API name of each operation of a trace, and whether it is complete."""
    trace = reader.read(str(path))
    slots = list(trace.chunks())
    rows = np.concatenate(slots) if slots else np.empty(0, dtype=[("kind", "u1"), ("api", "u2")])
    rows = rows[rows["kind"] < 240]
    names = np.array([hash(name) for name in trace.apis], dtype=np.int64)
    return np.stack([rows["kind"].astype(np.int64), names[rows["api"]]]), trace.complete


def record(program: Path, trace: Path) -> subprocess.Popen[bytes]:
    """Start the recorded program in a process group of its own."""
    words = [
        sys.executable,
        "-m",
        "streamsan",
        "run",
        "--no-check",
        "-o",
        str(trace),
        "--",
        str(program),
        "200000",
        "1",
    ]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def killed(program: Path, trace: Path, moment: float) -> np.ndarray | None:
    """Kill a recording `moment` seconds after its trace is there; return its operations, None if it cannot be read.

    One that ends before it is killed is run again, and killed in half the time.
    """
    while True:
        process = record(program, trace)
        deadline = time.monotonic() + 20
        while not trace.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(moment)
        subprocess.run(["pkill", "-KILL", "-x", "-g", str(process.pid), program.name], check=False)
        process.wait()
        if process.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL):
            break
        moment /= 2
        trace.unlink(missing_ok=True)
    try:
        part, _ = shape(trace)
    except Exception as error:
        print(f"{trace.name}: not readable: {error}")
        return None
    trace.unlink()
    return part


def main() -> int:
    """Run; return 1 if a trace cannot be read or is no prefix."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=8, help="programs that run at a time")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="streamsan-kills-") as name:
        folder = Path(name)
        program = folder / "storm"
        subprocess.run(["nvcc", "-O2", "-o", str(program), str(HERE / "storm.cu")], check=True)
        begin = time.perf_counter()
        record(program, folder / "whole.sst").wait()
        whole, complete = shape(folder / "whole.sst")
        took = time.perf_counter() - begin
        print(
            f"the whole trace: {whole.shape[1]} operations, {'complete' if complete else 'NOT COMPLETE'}, {took:.2f} s"
        )
        with ThreadPoolExecutor(options.jobs) as pool:
            parts = list(
                pool.map(
                    lambda number: killed(program, folder / f"killed{number}.sst", chance.random() * took),
                    range(options.kills),
                )
            )
    read = [part for part in parts if part is not None]
    prefixes = [part for part in read if np.array_equal(part, whole[:, : part.shape[1]])]
    lengths = [part.shape[1] for part in prefixes]
    print(f"{options.kills} kills: {len(read)} readable traces, {len(prefixes)} of them prefixes of the whole one")
    print(f"  {min(lengths, default=0)} to {max(lengths, default=0)} operations, {lengths.count(0)} of them empty")
    return 0 if len(prefixes) == options.kills else 1


if __name__ == "__main__":
    raise SystemExit(main())
