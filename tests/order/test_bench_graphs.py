"""The comparison of graph launches with plain ones says what it claims to compare. Times are not looked at."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest


@pytest.mark.parametrize(("order", "between"), [("stream", 4 * 3), ("events", 2 * 200), ("shared", 4)])
def test_launches_are_one_operation_each(order: str, between: int) -> None:
    path = Path(__file__).parents[2] / "bench" / "graphs.py"
    specification = importlib.util.spec_from_file_location("bench_graphs", path)
    assert specification is not None
    assert specification.loader is not None
    bench = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(bench)
    graph, plain, ratio = bench.compare(200, 10, repeats=1, order=order)
    beginning, body = 3 + 10, 1 + 10 + 9
    assert graph.operations == plain.operations == beginning + body + 200 + between
    assert graph.facts == plain.facts == []
    assert graph.problems == plain.problems == 0
    assert ratio > 0
