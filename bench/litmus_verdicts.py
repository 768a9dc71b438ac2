"""What each tool said of the litmus programs that ran on a GPU: verdicts, their file, and the table of the comparison.

Found means: of streamsan, a finding of the program's mark, at its line, or outside of the program's file where a thread
of a library made the access; of compute-sanitizer, any error at all. In a right program any error or warning counts.
"""

from __future__ import annotations

import dataclasses
import json
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

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
_ERRORS = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+) (?:error|hazard)")


@dataclass
class Run:
    """How a program ended under one tool. `output`: a digest of what it printed; `errors`: what the tool counted."""

    status: int
    output: str
    seconds: float
    errors: int = 0


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
    sanitizer: dict[str, Run] = field(default_factory=dict)

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


def errors_in(output: str) -> int:
    """Return how many errors compute-sanitizer says that it counted."""
    return sum(int(count) for count in _ERRORS.findall(output))


def line_of(verdict: Verdict) -> str:
    """Return what is to be said of one program."""
    parts = []
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
    counts = [
        f"{tool.split(',')[0]} {'TOOK TOO LONG' if run.status == OVER_LIMIT else run.errors}"
        for tool, run in verdict.sanitizer.items()
    ]
    if counts:
        parts.append(f"compute-sanitizer: {', '.join(counts)}")
    return f"{verdict.name:<44} {'; '.join(parts)}"


def table(verdicts: Sequence[Verdict]) -> list[str]:
    """Return the lines of the comparison."""
    wrong = [v for v in verdicts if v.wrong]
    right = [v for v in verdicts if not v.wrong]
    lines = [
        "| tool | wrong programs found | with its notes | right programs reported | median time of a run |",
        "|---|---|---|---|---|",
    ]
    for way in verdicts[0].recorded if verdicts else ():
        loud = sum(v.is_loud(way) for v in wrong)
        noted = sum(v.is_loud(way) or not v.missing(way) for v in wrong)
        false = sum(bool(v.recorded[way].loud) for v in right)
        name = " ".join(("streamsan run", *WAYS[way]))
        slower = _slower(verdicts, [v.recorded[way].run for v in verdicts])
        lines.append(f"| `{name}` | {loud} of {len(wrong)} | {noted} | {false} of {len(right)} | {slower} |")
    for tool in verdicts[0].sanitizer if verdicts else ():
        caught, false = (sum(v.sanitizer[tool].errors > 0 for v in side) for side in (wrong, right))
        slower = _slower(verdicts, [v.sanitizer[tool] for v in verdicts])
        lines.append(f"| compute-sanitizer {tool} | {caught} of {len(wrong)} | | {false} of {len(right)} | {slower} |")
    return lines


def _slower(verdicts: Sequence[Verdict], runs: Sequence[Run]) -> str:
    return f"{statistics.median(run.seconds / v.plain.seconds for v, run in zip(verdicts, runs, strict=True)):.2f}x"


def summary(verdicts: Sequence[Verdict]) -> list[str]:
    """Return the lines below those of the programs: the tables, and who behaved as without a recorder.

    What wrong programs print is often another thing in each run.
    """
    seen = [verdict for verdict in verdicts if "plain" not in verdict.unseen]
    lines = [f"{len(seen)} programs whose mistake a plain recording can show:", *table(seen)]
    lines += [f"all {len(verdicts)} programs:", *table(verdicts)]
    right = [verdict for verdict in verdicts if not verdict.wrong]
    for way in right[0].recorded if right else ():
        same = sum(verdict.same(way) for verdict in right)
        lines.append(f"right programs with the same output and status, {way}: {same} of {len(right)}")
    return lines


def written(verdict: Verdict) -> str:
    """Return a verdict as one line of JSON."""
    return json.dumps(dataclasses.asdict(verdict), default=sorted, separators=(",", ":"))


def read(path: Path) -> list[Verdict]:
    """Return the verdicts that a file has, one a line, sorted by name."""
    verdicts = map(_verdict, path.read_text(encoding="utf-8").splitlines())
    return sorted(verdicts, key=lambda verdict: verdict.name)


def _verdict(line: str) -> Verdict:
    members = json.loads(line)
    expected = members["expected"]
    return Verdict(
        members["name"],
        members["wrong"],
        Expectations(_marks(expected["loud"]), _marks(expected["notes"])),
        Run(**members["plain"]),
        members["unseen"],
        {
            way: Recorded(Run(**made["run"]), set(_marks(made["found"])), set(_marks(made["loud"])), made["checked"])
            for way, made in members["recorded"].items()
        },
        {tool: Run(**run) for tool, run in members["sanitizer"].items()},
    )


def _marks(pairs: Iterable[Sequence[object]]) -> frozenset[Mark]:
    return frozenset((int(str(line)), str(code)) for line, code in pairs)
