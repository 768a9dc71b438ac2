"""The patterns of memory that nobody has written."""

from __future__ import annotations

import numpy as np
import pytest

from streamsan.sim.executor import poison as poison_module
from streamsan.sim.executor.poison import Poison


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 511, 1 << 20])
def test_small_blocks_are_filled_whole(size):
    poison = Poison(3)
    target = np.zeros(size + 1, dtype=np.uint8)
    poison.fill(target[:size], poison.fresh)
    assert target[:size].tolist() == np.resize(poison.fresh, size).tolist()
    assert target[size] == 0


@pytest.mark.parametrize("size", [(65 << 20) + 3, (2 << 20) + 1])
def test_large_blocks_are_filled_at_their_ends_and_here_and_there(size, monkeypatch):
    monkeypatch.setattr(poison_module, "_BUDGET", 0)
    poison = Poison(3)
    target = np.zeros(size, dtype=np.uint8)
    poison.fill(target, poison.freed)
    assert target[: 512 << 10].all()
    assert target[-(64 << 10) :].all()
    assert target[:: 64 << 10].all()


def test_the_budget_is_spent_by_large_blocks_only(monkeypatch):
    monkeypatch.setattr(poison_module, "_BUDGET", 3 << 20)
    poison = Poison(3)
    target = np.zeros(2 << 20, dtype=np.uint8)
    filled = []
    for _ in range(3):
        target[:] = 0
        poison.fill(target, poison.freed)
        filled.append(bool(target.all()))
    assert filled == [True, True, False]
    small = np.zeros(1 << 20, dtype=np.uint8)
    poison.fill(small, poison.freed)
    assert small.all()


def test_seeds_have_patterns_of_their_own():
    patterns = {bytes(pattern) for seed in range(50) for pattern in (Poison(seed).fresh, Poison(seed).freed)}
    assert len(patterns) == 100
    assert bytes(Poison(7).fresh) == bytes(Poison(7).fresh)
