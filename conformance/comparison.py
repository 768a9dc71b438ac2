"""What two runs observed, side by side, and which differences are known, with their reasons."""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from conformance.registry import Observation, Observations, all_cases
from conformance.results import Results
from conformance.worker import UNCLEAR

KNOWN = Path(__file__).resolve().parent / "known_differences.toml"


@dataclass(frozen=True, slots=True)
class Known:
    """Differences that are meant, or that nobody can mend."""

    driver: str
    """of the simulated device, "any" for both"""
    cases: tuple[str, ...]
    """patterns of names"""
    observations: tuple[str, ...]
    """patterns of names; ("*",) where none are given"""
    reason: str
    simulated: tuple[str, ...] = ("*",)
    """patterns of what the simulated device says there"""

    def covers(self, driver: str, case: str, observation: str, simulated: Observation | None) -> bool:
        """Return whether a difference is among these."""
        return (
            self.is_for(driver)
            and any(fnmatchcase(case, pattern) for pattern in self.cases)
            and any(fnmatchcase(observation, pattern) for pattern in self.observations)
            and any(fnmatchcase(_shown(simulated), pattern) for pattern in self.simulated)
        )

    def is_for(self, driver: str) -> bool:
        """Return whether these are differences of a driver of the simulated device."""
        return self.driver in ("any", driver)


@dataclass(frozen=True, slots=True)
class Difference:
    """One observation that differs."""

    case: str
    observation: str
    recorded: Observation | None
    simulated: Observation | None
    reason: str = ""
    """why it is known, "" if it is not"""

    def __str__(self) -> str:
        said = f"{self.case}: {self.observation}: recorded {_shown(self.recorded)}, simulated {_shown(self.simulated)}"
        return f"{said} (known: {self.reason})" if self.reason else said


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs."""

    compared: int
    """cases that both have, with a clear answer"""
    agreeing: int
    differences: tuple[Difference, ...]
    not_compared: tuple[str, ...]
    """cases that were asked for and have no recorded answer, or no clear one"""
    undefined: int = 0
    """cases that are not compared because what happens is undefined"""
    needless: tuple[str, ...] = ()
    """patterns of known differences whose cases were all compared, and none of them differs"""

    @property
    def unexplained(self) -> tuple[Difference, ...]:
        """Differences that nobody has given a reason for."""
        return tuple(difference for difference in self.differences if not difference.reason)


def known_differences(path: Path = KNOWN) -> list[Known]:
    """Read the list. Raises OSError, ValueError, KeyError: it is part of the sources."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    return [
        Known(
            row["driver"],
            tuple(row["cases"]),
            tuple(row.get("observations", ["*"])),
            row["reason"],
            tuple(row.get("simulated", ["*"])),
        )
        for row in content.get("difference", [])
    ]


def compare(
    recorded: Mapping[str, Observations],
    simulated: Mapping[str, Observations],
    driver: str,
    known: Iterable[Known],
    undefined: Collection[str] = (),
) -> Comparison:
    """Compare the cases that were simulated with what was recorded of them, but for those that are undefined."""
    rows = list(known)
    differences: list[Difference] = []
    missing: list[str] = []
    compared = agreeing = 0
    agreed: set[str] = set()
    for name, here in simulated.items():
        there = recorded.get(name)
        if name in undefined:
            continue
        if there is None or UNCLEAR in there:
            missing.append(name)
            continue
        compared += 1
        found = list(_differences(name, there, here, driver, rows))
        agreeing += not found
        if not found:
            agreed.add(name)
        differences += found
    left_out = sum(name in undefined and name in recorded for name in simulated)
    needless = (
        pattern
        for row in rows
        if row.is_for(driver)
        for pattern in row.cases
        if (meant := fnmatch.filter(recorded, pattern)) and agreed.issuperset(meant)
    )
    return Comparison(compared, agreeing, tuple(differences), tuple(missing), left_out, tuple(needless))


def _differences(
    name: str, there: Observations, here: Observations, driver: str, rows: list[Known]
) -> Iterable[Difference]:
    for key in sorted({*there, *here}):
        recorded, simulated = there.get(key), here.get(key)
        if recorded != simulated or type(recorded) is not type(simulated):
            reason = next((row.reason for row in rows if row.covers(driver, name, key, simulated)), "")
            yield Difference(name, key, recorded, simulated, reason)


def _shown(value: Observation | None) -> str:
    return "nothing" if value is None else f"{value}"


def of_results(recorded: Results, simulated: Mapping[str, Observations], driver: str) -> Comparison:
    """Compare with a file of results."""
    undefined = {name for name, case in all_cases().items() if case.undefined}
    return compare(recorded.cases, simulated, driver, known_differences(), undefined)
