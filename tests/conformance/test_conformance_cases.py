"""The cases: named once, with a statement, each covering a row or an open point, and every row covered."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from conformance.registry import OPEN_POINTS, Case, DuplicateError, all_cases

from conformance import registry

ROOT = Path(__file__).resolve().parents[2]
ROWS = re.findall(r"^\| ([A-Z]-\d\d) \|", (ROOT / "docs" / "facts.md").read_text(encoding="utf-8"), re.MULTILINE)
NO_CASE = {
    "Q-03": "advice for managed memory is no order and no status",
    "Q-04": "attributes of pointers are no order and no status",
    "Q-06": "checkpoints of other processes",
    "E-03": "ends the process: by probes/context_end.cu",
    "E-04": "breaks the process's use of CUDA: by probes/context_end.cu",
    "E-05": "ends the process: by probes/context_end.cu",
    "E-06": "of two processes: by probes/context_end.cu",
    "I-01": "what a tool's callbacks see",
    "I-04": "what a tool's callbacks see",
    "I-05": "what a tool's callbacks see",
    "I-09": "what a tool's callbacks cost",
    "I-10": "what a tool's callbacks cost",
    **{f"O-0{number}": "OpenCL on PoCL, which the simulated device does not model" for number in range(1, 7)},
}
"""rows that no program without a tool can show, or that are no behaviour of calls, with the reason"""


def test_there_are_many() -> None:
    assert len(all_cases()) >= 200


def test_a_name_is_given_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_CASES", {})
    registry.Family("a").row("b", "does something", ["F-01"], lambda lab: {})
    with pytest.raises(DuplicateError):
        registry.Family("a").row("b", "does something else", ["F-02"], lambda lab: {})


def test_each_has_a_statement_of_one_line_and_covers_something() -> None:
    known = {*ROWS, *OPEN_POINTS}
    for name, case in all_cases().items():
        assert "/" in name
        assert 10 < len(case.statement) < 200, name
        assert "\n" not in case.statement, name
        assert case.covers, name
        assert set(case.covers) <= known, name


@pytest.mark.parametrize("row", ROWS)
def test_every_row_is_covered_or_has_a_reason(row: str) -> None:
    covered = any(row in case.covers for case in all_cases().values())
    assert covered != (row in NO_CASE)


def test_every_open_point_is_covered() -> None:
    covered = {point for case in all_cases().values() for point in case.covers}
    assert set(OPEN_POINTS) <= covered


def _users(module: str) -> set[str]:
    """The attributes of the runtime (`rt`) or the driver (`cu`) that the cases and their lab name."""
    found = set()
    for path in (ROOT / "conformance").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                base = node.value
                name = base.id if isinstance(base, ast.Name) else getattr(base, "attr", "")
                if name == module:
                    found.add(node.attr)
    return found


def test_the_bindings_have_all_that_the_cases_name() -> None:
    runtime = pytest.importorskip("cuda.bindings.runtime")
    driver = pytest.importorskip("cuda.bindings.driver")
    assert [name for name in _users("rt") if not hasattr(runtime, name)] == []
    assert [name for name in _users("cu") if not hasattr(driver, name)] == []


def test_families_are_large_enough_to_mean_something() -> None:
    families: dict[str, list[Case]] = {}
    for case in all_cases().values():
        families.setdefault(case.family, []).append(case)
    assert {"free", "copy", "fill", "capture", "pool", "graph", "stream", "event", "ipc", "vmm", "peer"} <= set(
        families
    )
    assert len(families["capture"]) >= 60
    assert all(case.devices == 2 for case in families["peer"])
