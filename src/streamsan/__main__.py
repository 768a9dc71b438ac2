"""`python -m streamsan` is `streamsan`."""

import sys

from streamsan.cli import main

if __name__ == "__main__":
    sys.exit(main())
