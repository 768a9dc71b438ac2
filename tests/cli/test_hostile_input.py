"""A part of `bench/hostile_input.py`: damaged inputs of each kind, patches in folders with hostile names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.deep
@pytest.mark.parametrize(
    ("kind", "count"), [("traces", 100), ("launches", 75), ("code", 40), ("sources", 40), ("patches", 12)]
)
def test_hostile_input_ends_as_it_should(kind: str, count: int) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "bench" / "hostile_input.py", kind, "--count", str(count), "--jobs", "1"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-1] == f"{count} of {count} {kind} ended as they should (seed 1)", done.stdout
