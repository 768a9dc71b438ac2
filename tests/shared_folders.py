"""Folders that all processes of a test run have in common: what takes long to make is made once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def shared_folder(folders: pytest.TempPathFactory, name: str) -> Path:
    """Return the folder of this name, which may be there; whoever writes to it must expect the others to do so."""
    base = folders.getbasetemp()
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / name
    folder.mkdir(exist_ok=True)
    return folder
