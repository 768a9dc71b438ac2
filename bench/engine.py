"""Order engine: operations a second on one core, all checks on; its ratio to one sequential read; peak memory.

    python bench/engine.py --operations 1000000 20000000
    python bench/engine.py --operations 3000000 --threads 1 8

The trace has 16 streams, 100,000 live allocations, launches with 1 to 3 references, stream-ordered allocations and
frees, event pairs, plain allocations with waits and blocking frees. Each size runs in a process of its own, so that
the peak memory is its own; the peak must not grow with the trace. With `--threads` the trace is a recording's, whose
threads take turns at every operation: the worst case for the order between threads that a recording has.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def read_seconds(path: str) -> float:
    """Return the seconds of one sequential read of the file, warm, into one buffer."""
    buffer = bytearray(1 << 20)
    start = time.perf_counter()
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
    return time.perf_counter() - start


def measure(path: str) -> dict[str, float]:
    """Analyse the file and return the numbers of this process."""
    from streamsan.order.engine import run
    from streamsan.trace import reader

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    read_seconds(path)
    reading = min(read_seconds(path) for _ in range(3))
    trace = reader.read(path)
    start, cpu_start = time.perf_counter(), time.process_time()
    analysis = run(trace.threads, trace.packed(), recording=trace.origin == "recording")
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    start = time.process_time()
    for _ in trace.packed():
        pass
    decoding = time.process_time() - start
    return {
        "operations": analysis.operations,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "read_seconds": reading,
        "reader_seconds": decoding,
        "facts": len(analysis.facts),
        "problems": analysis.problems,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "file_mib": os.path.getsize(path) / (1 << 20),
    }


def main() -> None:
    """Print one line for each size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--operations", type=int, nargs="+", default=[1_000_000, 20_000_000])
    parser.add_argument("--threads", type=int, nargs="+", default=[], help="threads of recordings that take turns")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure)))
        return
    import engine_trace

    kinds = [(threads, "recording") for threads in arguments.threads] or [(1, "synthetic")]
    for operations, (threads, origin) in itertools.product(arguments.operations, kinds):
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "engine.sst")
            engine_trace.write(path, operations, threads, origin)
            command = [sys.executable, __file__, "--measure", path]
            # NumPy's matrix library would start threads that spin on the one core that is measured.
            environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
            result = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment).stdout)
        count, cpu = result["operations"], result["cpu_seconds"]
        print(
            f"{count:>11,} operations, {origin}, threads: {threads}"
            f"  {count / cpu / 1e6:5.2f} M per CPU second, reading the file included"
            f" ({count / max(1e-9, cpu - result['reader_seconds']) / 1e6:.2f} M without;"
            f" {count / result['seconds'] / 1e6:.2f} M per second of wall time)"
            f"  {result['seconds'] / result['read_seconds']:5.1f} x one sequential read of {result['file_mib']:.0f} MiB"
            f"  peak {result['peak_mib']:.0f} MiB  facts {result['facts']}  problems {result['problems']}"
        )


if __name__ == "__main__":
    main()
