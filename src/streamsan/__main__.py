"""`streamsan`, and `python -m streamsan`, which is the same."""

import gc
import sys

OBJECTS_BETWEEN_COLLECTIONS = 100_000
"""Nearly all that is imported and read stays to the end: to look through it for garbage takes a tenth of a short run"""


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


if __name__ == "__main__":
    sys.exit(main())
