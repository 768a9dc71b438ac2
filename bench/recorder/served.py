"""Steps that another process asks for, so that several processes take turns.

The process says "ready". For each number it reads from its input it runs that many steps and prints the milliseconds of
one. With STREAMSAN_BENCH_CUPTI, a library that stands in for CUPTI, it also reads `on` and `off`: recorded, or not.
"""

import ctypes
import os
import sys
from collections.abc import Callable


class StandIn:
    """The library that stands in for CUPTI, if there is one.

    It is made after PyTorch, which loads CUPTI, is imported, and before CUDA starts: of several the recorder takes the
    one that was loaded last.
    """

    def __init__(self) -> None:
        path = os.environ.get("STREAMSAN_BENCH_CUPTI")
        self._library = ctypes.CDLL(path) if path else None

    def switch(self, on: bool) -> None:
        """Have what follows recorded, or not."""
        if self._library is not None and self._library.streamsan_bench_switch(int(on)) == 0:
            sys.exit("nothing is recorded: there is nothing to switch")


def serve(stand_in: StandIn, milliseconds: Callable[[int], float], wait: Callable[[], None], warm_up: int) -> None:
    """Run what standard input asks for; a few steps first, for what another process has pushed out of the caches."""
    print("ready", flush=True)
    for line in sys.stdin:
        if line.strip() in ("on", "off"):
            wait()
            stand_in.switch(line.strip() == "on")
            continue
        milliseconds(warm_up)
        print(f"{milliseconds(int(line)):.4f}", flush=True)
