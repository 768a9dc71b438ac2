"""`streamsan`, and `python -m streamsan`, which is the same."""

import sys


def main() -> int:
    """Run the command line and return its exit status."""
    try:
        # Imported here: it takes a good part of a second, in which Ctrl-C is to be a line, too.
        from streamsan.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("streamsan: interrupted\n")
        return 130
    return run()


if __name__ == "__main__":
    sys.exit(main())
