"""Steps that another process asks for, so that several processes take turns.

The process says "ready". For each number it reads from its input it runs that many steps and prints the milliseconds of
one. With STREAMSAN_BENCH_CUPTI, a library that stands in for CUPTI, it also reads what is to become of the calls that
follow (`MODES`), and `times`, which it answers with a line of JSON: the callbacks that were timed, and what the process
used since the last time. With EMPTY_TRACKER, the library of that path, PyTorch's allocator tells a tracker that does
nothing.
"""

import ctypes
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable

MODES = ("off", "on", "idle", "timed")


class StandIn:
    """The library that stands in for CUPTI, if there is one.

    It is made after PyTorch, which loads CUPTI, is imported, and before CUDA starts: of several the recorder takes the
    one that was loaded last.
    """

    def __init__(self) -> None:
        path = os.environ.get("STREAMSAN_BENCH_CUPTI")
        self._library = ctypes.CDLL(path) if path else None
        self._used = resource.getrusage(resource.RUSAGE_SELF)
        self._began = self._ticks_and_seconds()

    def switch(self, mode: str) -> None:
        """Say what becomes of the calls that follow."""
        if self._library is not None and self._library.streamsan_bench_switch(MODES.index(mode)) == 0:
            sys.exit("nothing is recorded: there is nothing to switch")

    def times(self) -> dict[str, object]:
        """Return the callbacks that were timed since the last time, and what the process used."""
        if self._library is None:
            return {}
        self._library.streamsan_bench_times.restype = ctypes.c_char_p
        callbacks = json.loads(self._library.streamsan_bench_times())
        self._library.streamsan_bench_kernels.restype = ctypes.c_char_p
        kernels = json.loads(self._library.streamsan_bench_kernels())
        used, before = resource.getrusage(resource.RUSAGE_SELF), self._used
        ticks, seconds = self._ticks_and_seconds()
        answer = {
            "callbacks": callbacks,
            "kernels": kernels,
            "page_faults": used.ru_minflt - before.ru_minflt,
            "switches": used.ru_nvcsw + used.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw,
            "processor_seconds": used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime,
            "ticks_per_second": (ticks - self._began[0]) / (seconds - self._began[1]),
        }
        self._used = used
        return answer

    def _ticks_and_seconds(self) -> tuple[int, float]:
        if self._library is None:
            return 0, time.monotonic()
        self._library.streamsan_bench_ticks.restype = ctypes.c_uint64
        return self._library.streamsan_bench_ticks(), time.monotonic()


def timed(step: Callable[[], None], wait: Callable[[], None]) -> Callable[[int], float]:
    """Return what runs so many steps, waits for the device, and says how many milliseconds one took."""

    def milliseconds(steps: int) -> float:
        wait()
        begin = time.perf_counter()
        for _ in range(steps):
            step()
        wait()
        return (time.perf_counter() - begin) / steps * 1e3

    return milliseconds


def workload(
    stand_in: StandIn,
    step: Callable[[], None],
    wait: Callable[[], None],
    first: int,
    steps: int,
    rounds: int = 5,
    warm_up: int = 3,
    in_a_step: int = 0,
) -> None:
    """Run the first steps, then what the command line asks for: `serve`, or so many steps in so many rounds, by itself.

    By itself it prints the milliseconds of a step, a median, or the microseconds of each of `in_a_step` things.
    """
    for _ in range(first):
        step()
    if tracker := os.environ.get("EMPTY_TRACKER"):
        ctypes.CDLL(tracker).attach()
    milliseconds = timed(step, wait)
    if sys.argv[-1:] == ["serve"]:
        serve(stand_in, milliseconds, wait, warm_up)
        return
    given = [int(word) for word in sys.argv[1:] if word.isdigit()]
    count, times = given or (steps, rounds)
    taken = statistics.median(milliseconds(count) for _ in range(times))
    print(f"{taken * 1e3 / in_a_step if in_a_step else taken:.4f}")


def serve(stand_in: StandIn, milliseconds: Callable[[int], float], wait: Callable[[], None], warm_up: int) -> None:
    """Run what standard input asks for; a few steps first, for what another process has pushed out of the caches."""
    print("ready", flush=True)
    for line in sys.stdin:
        if line.strip() in MODES:
            wait()
            stand_in.switch(line.strip())
            continue
        if line.strip() == "times":
            print(json.dumps(stand_in.times()), flush=True)
            continue
        milliseconds(warm_up)
        print(f"{milliseconds(int(line)):.4f}", flush=True)
