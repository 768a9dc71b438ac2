"""What each tool said of the litmus programs that ran on a GPU: verdicts, their file, and the table of the comparison.

Found means: of streamsan, a finding of the program's mark, at its line, or outside of the program's file where a thread
of a library made the access; of another tool, any error at all. In a right program any error or warning counts.
"""

from __future__ import annotations

import dataclasses
import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from expectations import Expectations, Mark

WAYS = {
    "plain": (),
    "host": ("--host-accesses",),
    "exact": ("--accesses",),
    "both": ("--accesses", "--host-accesses"),
}
"""name of a way to record -> options of `streamsan run`"""
OVER_LIMIT = 124
"""status of a run that took too long"""
UNAVAILABLE = 77
"""status of a tool that this version of it does not have"""


@dataclass
class Run:
    """How a program ended under one tool. `output`: a digest of what it printed; `errors`: what the tool counted."""

    status: int
    output: str
    seconds: float
    errors: int = 0
    numbers: tuple[int, int] | None = None
    """how many results the program found wrong, and of how many"""


@dataclass
class Recorded:
    """What a check of a recording says; findings by line and code, line 0 outside of the program's own file."""

    run: Run
    found: set[Mark] = field(default_factory=set)
    loud: set[Mark] = field(default_factory=set)
    """those at warning or above"""
    checked: bool = False


@dataclass
class Verdict:
    """What the tools say of one program."""

    name: str
    wrong: bool
    expected: Expectations
    plain: Run
    unseen: Mapping[str, str]
    """way -> why such a recording cannot show the mistake"""
    recorded: dict[str, Recorded] = field(default_factory=dict)
    others: dict[str, Run] = field(default_factory=dict)
    """tool -> the program's run under it; without those that had nothing to look at, or no time was left for"""

    @property
    def marks(self) -> frozenset[Mark]:
        """Return what the program is marked with."""
        return frozenset((*self.expected.loud, *self.expected.notes))

    def missing(self, way: str) -> list[Mark]:
        """Return the expected findings that a recording does not show."""
        found = self.recorded[way].found
        return sorted((line, code) for line, code in self.marks if not found & {(line, code), (0, code)})

    def is_loud(self, way: str) -> bool:
        """Return whether an expected finding is an error or a warning."""
        outside = {(0, code) for _, code in self.marks}
        return bool(self.recorded[way].loud & (self.marks | outside))

    def false(self, way: str) -> list[Mark]:
        """Return the findings at warning or above that nothing expects."""
        outside = {(0, code) for _, code in self.marks}
        return sorted(self.recorded[way].loud - self.marks - outside)

    def same(self, way: str) -> bool:
        """Return whether the program behaved as without a recorder."""
        recorded = self.recorded[way].run
        return (self.plain.status, self.plain.output) == (recorded.status, recorded.output)


def line_of(verdict: Verdict) -> str:
    """Return what is to be said of one program."""
    parts = [f"{verdict.plain.numbers[0]} of {verdict.plain.numbers[1]} wrong"] if verdict.plain.numbers else []
    for way in verdict.recorded:
        said = [] if verdict.recorded[way].checked else ["NOT CHECKED"]
        if missing := verdict.missing(way):
            said.append("missing " + ", ".join(f"{code}@{line}" for line, code in missing))
        if false := verdict.false(way):
            said.append("FALSE " + ", ".join(f"{code}@{line}" for line, code in false))
        if not verdict.same(way):
            said.append(f"DIFFERS: status {verdict.plain.status} and {verdict.recorded[way].run.status}")
        if way in verdict.unseen:
            said.append(f"not visible: {verdict.unseen[way]}")
        if said:
            parts.append(f"{way}: {', '.join(said)}")
    parts += [f"{tool.split(',')[0]} {_said(run)}" for tool, run in verdict.others.items()]
    return f"{verdict.name:<44} {'; '.join(parts)}"


def _said(run: Run) -> str | int:
    if run.status == UNAVAILABLE:
        return "not in this version"
    return "TOOK TOO LONG" if run.status == OVER_LIMIT else run.errors


def table(verdicts: Sequence[Verdict]) -> list[str]:
    """Return the lines of the comparison."""
    wrong = [v for v in verdicts if v.wrong]
    right = [v for v in verdicts if not v.wrong]
    lines = [
        "| tool | wrong programs found | with its notes | right programs reported | median time of a run |",
        "|---|---|---|---|---|",
    ]
    for way in _names(verdict.recorded for verdict in verdicts):
        loud = sum(v.is_loud(way) for v in wrong if way in v.recorded)
        noted = sum(v.is_loud(way) or not v.missing(way) for v in wrong if way in v.recorded)
        false = sum(bool(v.recorded[way].loud) for v in right if way in v.recorded)
        name = " ".join(("streamsan run", *WAYS[way]))
        slower = _slower(verdicts, [v.recorded[way].run if way in v.recorded else None for v in verdicts])
        ran = [sum(way in v.recorded for v in side) for side in (wrong, right)]
        lines.append(f"| `{name}` | {loud} of {ran[0]} | {noted} | {false} of {ran[1]} | {slower} |")
    for tool in _names(verdict.others for verdict in verdicts):
        runs = [v.others[tool] if tool in v.others and _looked(v.others[tool]) else None for v in verdicts]
        ran = [
            [run for v, run in zip(verdicts, runs, strict=True) if run and v.wrong == side] for side in (True, False)
        ]
        if not any(ran):
            lines.append(f"| {tool} | not in this version | | | |")
            continue
        caught, false = (sum(run.errors > 0 for run in side) for side in ran)
        slower = _slower(verdicts, runs)
        lines.append(f"| {tool} | {caught} of {len(ran[0])} | | {false} of {len(ran[1])} | {slower} |")
    return lines


def _names(of_programs: Iterable[Mapping[str, object]]) -> list[str]:
    """Return the names of all that some program was tried with, in their order."""
    return list(dict.fromkeys(name for of_program in of_programs for name in of_program))


def _looked(run: Run) -> bool:
    return run.status != UNAVAILABLE and (run.status != OVER_LIMIT or run.errors > 0)


def _slower(verdicts: Sequence[Verdict], runs: Sequence[Run | None]) -> str:
    pairs = [(run, v.plain) for v, run in zip(verdicts, runs, strict=True) if run is not None]
    return f"{statistics.median(run.seconds / plain.seconds for run, plain in pairs):.2f}x"


def summary(verdicts: Sequence[Verdict]) -> list[str]:
    """Return the lines below those of the programs: the tables, and who behaved as without a recorder.

    What wrong programs print is often another thing in each run.
    """
    seen = [verdict for verdict in verdicts if "plain" not in verdict.unseen]
    lines = [f"{len(seen)} programs whose mistake a plain recording can show:", *table(seen)]
    lines += [f"all {len(verdicts)} programs:", *table(verdicts)]
    right = [verdict for verdict in verdicts if not verdict.wrong]
    for way in _names(verdict.recorded for verdict in right):
        same = [verdict.same(way) for verdict in right if way in verdict.recorded]
        lines.append(f"right programs with the same output and status, {way}: {sum(same)} of {len(same)}")
    for wrong in (True, False):
        counted = [v.plain.numbers for v in verdicts if v.wrong == wrong and v.plain.numbers]
        if counted:
            shown = sum(count > 0 for count, _ in counted)
            results = f"{sum(count for count, _ in counted)} of {sum(whole for _, whole in counted)}"
            lines.append(
                f"{'wrong' if wrong else 'right'} programs whose numbers were wrong: {shown} of {len(counted)}"
                f" ({results} results)"
            )
    return lines


def written(verdict: Verdict) -> str:
    """Return a verdict as one line of JSON."""
    return json.dumps(dataclasses.asdict(verdict), default=sorted, separators=(",", ":"))


def read(path: Path) -> list[Verdict]:
    """Return the verdicts that a file has, one a line, sorted by name; of several of a program the last one."""
    verdicts = map(_verdict, path.read_text(encoding="utf-8").splitlines())
    latest = {verdict.name: verdict for verdict in verdicts}
    return sorted(latest.values(), key=lambda verdict: verdict.name)


def _verdict(line: str) -> Verdict:
    members = json.loads(line)
    expected = members["expected"]
    return Verdict(
        members["name"],
        members["wrong"],
        Expectations(_marks(expected["loud"]), _marks(expected["notes"])),
        _run(members["plain"]),
        members["unseen"],
        {
            way: Recorded(_run(made["run"]), set(_marks(made["found"])), set(_marks(made["loud"])), made["checked"])
            for way, made in members["recorded"].items()
        },
        {tool: _run(run) for tool, run in members["others"].items()},
    )


def _run(members: dict[str, Any]) -> Run:
    numbers = members.get("numbers")
    return Run(**{**members, "numbers": tuple(numbers) if numbers else None})


def _marks(pairs: Iterable[Sequence[object]]) -> frozenset[Mark]:
    return frozenset((int(str(line)), str(code)) for line, code in pairs)
