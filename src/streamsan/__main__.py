"""`streamsan`, and `python -m streamsan`, which is the same."""

import contextlib
import gc
import os
import sys
import threading
from typing import NoReturn

OBJECTS_BETWEEN_COLLECTIONS = 100_000
"""Nearly all that is imported and read stays to the end: to look through it for garbage takes a tenth of a short run"""
_RUNS_PROGRAMS = ("streamsan.cli.run", "streamsan.cli.sim")
"""verbs after which the process ends as Python ends one: a program may have left something to do"""


def main() -> int:
    """Run the command line and return its exit status."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    try:
        # Imported here: it takes a good part of a second, in which Ctrl-C is to be a line, too.
        from streamsan.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("streamsan: interrupted\n")
        return 130
    return run()


def command() -> NoReturn:
    """Run the command line and end the process. To take all that was read to pieces is a fifth of a short run."""
    status = main()
    if threading.active_count() == 1 and not any(name in sys.modules for name in _RUNS_PROGRAMS):
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                with contextlib.suppress(OSError, ValueError):  # whoever could say it has said it
                    stream.flush()
        os._exit(status)
    sys.exit(status)


if __name__ == "__main__":
    command()
