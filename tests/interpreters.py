"""Other Pythons that this machine has."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest


def interpreter(version: str) -> str:
    """A Python of a version that can be read: this one, one that pyenv keeps, or one on the path."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [sys.executable, *map(str, sorted(kept.glob(f"{version}.*/bin/python"))), f"python{version}"]
    for path in filter(None, map(shutil.which, candidates)):
        if version_of(path) == [*version.split("."), "0"]:
            return path
    pytest.skip(f"no Python {version} here")


@cache
def version_of(path: str) -> list[str]:
    """The version of an interpreter, and whether it runs without the global lock."""
    question = "import sys, sysconfig; print(*sys.version_info[:2], sysconfig.get_config_var('Py_GIL_DISABLED') or 0)"
    return subprocess.run([path, "-c", question], capture_output=True, text=True, check=False).stdout.split()
