"""Prints what callbacks cost in a program that uses the caches.

Usage: cold_callbacks.py LIBRARY F.sst [SITES [MEGABYTES [STEPS]]].
"""

import ctypes
import sys
from collections.abc import Callable

LIBRARY = ctypes.CDLL(sys.argv[1])
SITES, MEGABYTES, STEPS = (*(int(text) for text in sys.argv[3:]), *(1, 4, 200)[len(sys.argv) - 3 :])


DEPTH = 10


def frames(depth: int) -> Callable[[], int]:
    """Return a function that calls the library through so many others, each of a file of its own."""
    if depth == 0:
        return lambda: int(LIBRARY.cold_callbacks(sys.argv[2].encode(), SITES, MEGABYTES, STEPS))
    scope = {"inner": frames(depth - 1)}
    text = "def outer(*given, **named):\n    value = 1\n    return inner()\n"
    exec(compile(text, f"/layers/{depth}.py", "exec"), scope)
    return scope["outer"]


sys.exit(frames(DEPTH)())
