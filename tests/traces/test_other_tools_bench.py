"""`bench/recorded_litmus.py` beside other tools: what is counted of them, and how the table says what was not tried."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from expectations import Expectations

BENCH = Path(__file__).parents[2] / "bench"
MARK = (7, "SS105")


def loaded(name: str) -> ModuleType:
    specification = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module  # its classes look their module up
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def verdicts() -> ModuleType:
    return loaded("litmus_verdicts")


@pytest.fixture(scope="module")
def tools(verdicts: ModuleType) -> Iterator[ModuleType]:
    sys.path.insert(0, str(BENCH))
    yield loaded("other_tools")
    sys.path.remove(str(BENCH))


@pytest.mark.parametrize(
    ("output", "errors", "count"),
    [
        ("========= ERROR SUMMARY: 3 errors\n", "", 3),
        ("RACECHECK SUMMARY: 2 hazards displayed", "", 2),
        ("LIVENESS SUMMARY: 1 error\n", "", 1),
        ("", "CSAN detected a possible data race on tensor with data pointer 7\n" * 2, 2),
        ("10 of 10 results wrong\n", "Traceback", 0),
    ],
)
def test_what_a_tool_counts(tools: ModuleType, output: str, errors: str, count: int) -> None:
    assert tools.errors_in(output, errors) == count


def test_a_program_says_how_many_of_its_results_are_wrong(tools: ModuleType) -> None:
    assert tools.numbers_in("loaded\n9 of 10 results wrong (4 pages)\n") == (9, 10)
    assert tools.numbers_in("13 of 16 wrong\n") == (13, 16)
    assert tools.numbers_in("ready\n") is None


def test_a_tool_looks_only_at_programs_that_it_is_for(tools: ModuleType, tmp_path: Path) -> None:
    eager, captured, cupy = (tmp_path / name for name in ("eager.py", "captured.py", "cupy.py"))
    eager.write_text("import torch\n")
    captured.write_text("import torch\nwith torch.cuda.graph(g):\n    pass\n")
    cupy.write_text("import cupy as cp\n")
    looks = [[tool.looks_at(path) for path in (eager, captured, cupy)] for tool in tools.pytorch_tools()]
    assert looks == [[True, True, False], [False, True, False]]
    memcheck = tools.sanitizer_tools("/bin/compute-sanitizer", ("racecheck",))
    assert [tool.looks_at(cupy) for tool in memcheck] == [True]
    assert tools.sanitizer_tools(None, ("racecheck",)) == []


def test_a_script_that_checks_runs_the_programs_script(tools: ModuleType) -> None:
    sanitizer, liveness = tools.pytorch_tools()
    program = [sys.executable, "/tmp/program.py"]
    assert tools.under(sanitizer, program) == program
    assert tools.under(liveness, program) == [sys.executable, str(BENCH / "checked_graphs.py"), "/tmp/program.py"]


def test_the_table_counts_what_was_tried(verdicts: ModuleType) -> None:
    run, unavailable, slow = (
        verdicts.Run(status, "", 2.0) for status in (0, verdicts.UNAVAILABLE, verdicts.OVER_LIMIT)
    )
    expected = Expectations(frozenset({MARK}), frozenset())
    plain = verdicts.Run(0, "", 1.0, numbers=(9, 10))
    found = verdicts.Recorded(run, {MARK}, {MARK}, True)
    wrong = verdicts.Verdict("a.wrong", True, expected, plain, {}, {"plain": found, "host": found})
    wrong.others = {"memcheck": verdicts.Run(1, "", 4.0, errors=2), "liveness": unavailable}
    right = verdicts.Verdict("a.right", False, Expectations(frozenset(), frozenset()), verdicts.Run(0, "", 1.0), {})
    right.recorded = {"plain": verdicts.Recorded(run, set(), set(), True)}
    right.others = {"memcheck": slow}
    assert verdicts.table([wrong, right])[2:] == [
        "| `streamsan run` | 1 of 1 | 1 | 0 of 1 | 2.00x |",
        "| `streamsan run --host-accesses` | 1 of 1 | 1 | 0 of 0 | 2.00x |",
        "| memcheck | 1 of 1 | | 0 of 0 | 4.00x |",
        "| liveness | not in this version | | | |",
    ]
    assert "liveness not in this version" in verdicts.line_of(wrong)
    assert "memcheck TOOK TOO LONG" in verdicts.line_of(right)
    assert "wrong programs whose numbers were wrong: 1 of 1 (9 of 10 results)" in verdicts.summary([wrong, right])


def test_of_several_verdicts_on_a_program_the_last_one_counts(verdicts: ModuleType, tmp_path: Path) -> None:
    place = tmp_path / "verdicts.jsonl"
    runs = [verdicts.Run(0, "", 1.0, numbers=numbers) for numbers in ((1, 2), (2, 2))]
    nothing = Expectations(frozenset(), frozenset())
    lines = [verdicts.written(verdicts.Verdict("a.right", False, nothing, run, {})) for run in runs]
    place.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert [verdict.plain.numbers for verdict in verdicts.read(place)] == [(2, 2)]
