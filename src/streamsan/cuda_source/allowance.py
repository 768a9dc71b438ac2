"""What one file may take of the machine. Counts end its paths long before: this is for what no count foresees."""

from __future__ import annotations

import resource
import sys
import time

from streamsan.cuda_source.limits import Limits

_UNIT = 1 if sys.platform == "darwin" else 1024
"""bytes in which the system counts the most memory that a process had"""


class Allowance:
    """Time of this thread's processor, and memory of the process, from now on."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._seconds = time.thread_time() + limits.seconds
        self._memory = _most_memory() + limits.memory

    @property
    def spent(self) -> str:
        """What is spent, as the reason that ends a path; "" while there is something left."""
        if time.thread_time() > self._seconds:
            return f"the file takes more than {self._limits.seconds:g} s"
        if _most_memory() > self._memory:
            return f"the file takes more than {self._limits.memory >> 20:,} MiB of memory"
        return ""


def _most_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT
