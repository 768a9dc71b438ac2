"""How the programs beside run their operations: each once, the device waited for, until the time is up.

The time is `KERNEL_TRUTH_SECONDS` (default: no end); on its end the program ends as if it were through.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import time
from collections.abc import Callable, Iterable

Operation = tuple[str, Callable[[], object]]
_GRACE = 20.0
"""seconds that one operation may take beyond the end"""


def run_all(operations: Iterable[Operation], wait: Callable[[], object]) -> None:
    """Run all, and say how many went through: some operations do not have every type, or need a library."""
    seconds = float(os.environ.get("KERNEL_TRUTH_SECONDS", "inf"))
    end = time.monotonic() + seconds
    if seconds < float("inf"):
        faulthandler.dump_traceback_later(seconds + _GRACE, exit=True)
    done = tried = 0
    for name, operation in operations:
        if time.monotonic() > end:
            print(f"the time is up before {name}", file=sys.stderr)
            break
        tried += 1
        try:
            operation()
            wait()
            done += 1
        except Exception as error:  # compilers and libraries have exceptions of their own
            print(f"{name}: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}", file=sys.stderr)
    print(f"{done} of {tried} operations ran")
