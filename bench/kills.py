"""Kill a recorded program at random moments: every trace must be readable, and a prefix of the whole one.

`python bench/kills.py` needs a GPU and nvcc; tests/recorder does the same on a fake device.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
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


def main() -> int:
    """Run; return 1 if a trace cannot be read or is no prefix."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    bad = empty = 0
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
        lengths = []
        for number in range(options.kills):
            trace = folder / f"killed{number}.sst"
            process = record(program, trace)
            deadline = time.monotonic() + 20
            while not trace.exists() and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.001)
            time.sleep(chance.random() * took * 0.7)
            subprocess.run(["pkill", "-KILL", "-x", "-g", str(process.pid), "storm"], check=False)
            process.wait()
            if process.returncode != -signal.SIGKILL and process.returncode != 128 + signal.SIGKILL:
                print(f"kill {number} came too late (status {process.returncode})")
            try:
                part, _ = shape(trace)
            except Exception as error:
                print(f"kill {number}: not readable: {error}")
                bad += 1
                continue
            lengths.append(part.shape[1])
            empty += part.shape[1] == 0
            if not np.array_equal(part, whole[:, : part.shape[1]]):
                print(f"kill {number}: {part.shape[1]} operations that are no prefix")
                bad += 1
            for path in folder.glob(f"killed{number}*"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
    print(
        f"{options.kills} kills: {options.kills - bad} readable prefixes, {min(lengths)} to {max(lengths)} operations"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
