"""The bench's pairs under a few schedules: wrong programs go wrong under one of them, right ones under none."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCHEDULES: list[int | str] = [*range(8), "eager", "lazy"]


def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_schedules", ROOT / "bench" / "schedules.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BENCH = bench()
PAIRS = {name: (wrong, right) for name, wrong, right in BENCH.pairs()}


@pytest.fixture(autouse=True)
def shared_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH.PROGRAMS))
    monkeypatch.delitem(sys.modules, "gpu", raising=False)


@pytest.mark.parametrize("name", PAIRS)
def test_a_wrong_program_goes_wrong_and_its_right_twin_never(name: str) -> None:
    wrong, right = PAIRS[name]
    assert BENCH.wrong_schedules(wrong, SCHEDULES) != []
    assert BENCH.wrong_schedules(right, SCHEDULES) == []


def test_there_are_pairs() -> None:
    assert len(PAIRS) >= 7
