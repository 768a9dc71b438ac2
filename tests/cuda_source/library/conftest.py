"""Makes the interpreter tests' shorthand (`reading`) importable here."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
