"""What waits cost, as text says it."""

from __future__ import annotations

from streamsan.findings.finding import Location
from streamsan.findings.wait_cost import RunCosts, WaitCost
from streamsan.report.cost_lines import MOST_RUNS, cost_lines


def cost(saves: int, code: str = "", adds: bool | None = True, line: int = 7) -> WaitCost:
    return WaitCost(
        "run.sst", Location("a.cu", line), "cudaStreamSynchronize", 20, 5_000_000, saves, 40_000, adds, code
    )


def text(*runs: RunCosts) -> list[str]:
    return [line.plain for line in cost_lines(runs)]


def test_a_table_says_what_saves_most_and_whether_it_can_go() -> None:
    waits = (cost(4_000_000, "SS504", False), cost(1_000_000, line=9), cost(1_000, line=11))
    lines = text(RunCosts("run.sst", 10_000_000, waits, 4_000_000, 40_000))
    assert lines == [
        "waits of run.sst (the run took 10.00 ms; without all that can go 4.00 ms (+- 40.0 us) less):",
        "  4.00 ms (+- 40.0 us) less without  cudaStreamSynchronize  a.cu:7"
        "  20 times, 5.00 ms in all; nothing needs it (SS504)",
        "  1.00 ms (+- 40.0 us) less without  cudaStreamSynchronize  a.cu:9  20 times, 5.00 ms in all; it adds order",
        "  the other 1 place saves next to nothing",
    ]


def test_a_run_without_waits_has_its_time() -> None:
    assert text(RunCosts("run.sst", 2_000, ())) == ["waits of run.sst (the run took 2.0 us):"]


def test_of_many_runs_those_have_a_table_that_would_save_most() -> None:
    runs = [RunCosts(f"{number}.sst", 10_000_000, (cost(number * 1_000_000),)) for number in range(1, 9)]
    lines = text(*runs)
    assert [line.split()[2] for line in lines if line.startswith("waits of")] == ["8.sst", "7.sst", "6.sst"]
    assert lines[-1] == f"{8 - MOST_RUNS} more recordings have times (--format json has all)"
    assert text() == []
