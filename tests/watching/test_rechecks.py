"""When a growing trace is checked again: so that all checks together take a share of the time, however it grows."""

from __future__ import annotations

from typing import Any, BinaryIO

import pytest

from streamsan.watching.rechecks import RATIO, Rechecks

EMPTY = b'{"version": 1, "findings": [], "summary": {"operations": 1, "problems": []}}'
FOUND = EMPTY.replace(
    b"[]",
    b'[{"code": "SS501", "name": "n", "severity": "note", "confidence": "proven", "message": "m", "location":'
    b' {"file": "f", "line": 1, "column": 1, "function": ""}, "related": [], "contract": null, "observed": null,'
    b' "witness": [], "fix": null}]',
    1,
)


class Machine:
    """A clock, and checks that take as long as they are told to."""

    def __init__(self) -> None:
        self.now = 0.0
        self.began: list[float] = []
        self.takes = 1.0
        self.says = FOUND

    def start(self, path: str, output: BinaryIO) -> Any:
        output.write(self.says)
        self.began.append(self.now)
        return _Process(self, self.now + self.takes)


class _Process:
    def __init__(self, machine: Machine, ends: float) -> None:
        self._machine, self._ends = machine, ends
        self.killed = False

    def poll(self) -> int | None:
        return 0 if self._machine.now >= self._ends else None

    def kill(self) -> None:
        self._ends = self._machine.now

    def wait(self) -> None:
        assert self.poll() == 0


def test_a_run_is_checked_when_it_has_grown_or_is_quiet() -> None:
    machine = Machine()
    checks = Rechecks(lambda: machine.now, machine.start)
    checks.look("a.sst", 0, True)
    assert not checks.running
    checks.look("a.sst", 100, False)
    assert checks.running
    machine.now = 1
    checks.look("a.sst", 120, True)
    assert [each.code for each in checks.findings] == ["SS501"]
    assert checks.checked == 100
    assert not checks.running  # it rests
    machine.now = 1 + RATIO
    checks.look("a.sst", 120, False)
    assert not checks.running  # a fifth more is not enough
    checks.look("a.sst", 120, True)
    assert checks.running
    machine.now += 1
    machine.says = EMPTY
    checks.look("a.sst", 120, True)
    machine.now += RATIO
    checks.look("a.sst", 120, True)
    assert not checks.running  # nothing is new
    checks.look("a.sst", 180, False)
    machine.now += 1
    checks.look("a.sst", 180, False)
    assert checks.findings == ()
    assert machine.began == [0, 1 + RATIO, 2 + 2 * RATIO]


@pytest.mark.parametrize("quiet", [True, False])
def test_checks_take_a_share_of_a_long_run(quiet: bool) -> None:
    machine = Machine()
    checks = Rechecks(lambda: machine.now, machine.start)
    spent = 0.0
    for second in range(2000):
        machine.now = float(second)
        operations = 10 * (second + 1)
        machine.takes = operations / 1000  # a check takes as long as the trace is
        before = len(machine.began)
        checks.look("a.sst", operations, quiet)
        spent += machine.takes * (len(machine.began) - before)
    assert spent <= machine.now / RATIO + 20
    assert len(machine.began) > 10


def test_a_check_that_fails_leaves_what_was_known() -> None:
    machine = Machine()
    checks = Rechecks(lambda: machine.now, machine.start)
    checks.look("a.sst", 1, True)
    machine.now, machine.says = 100, b"no report"
    checks.look("a.sst", 2, True)
    machine.now = 200
    checks.look("a.sst", 2, True)
    assert [each.code for each in checks.findings] == ["SS501"]
    machine.now = 1000
    checks.look("a.sst", 4, True)
    assert checks.running
    checks.stop()
    assert not checks.running
