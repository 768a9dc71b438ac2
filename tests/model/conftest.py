"""Puts this folder on the import path, so that tests share `program`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
