"""What a GPU said of fixed litmus programs: verdicts, the file that keeps them, the table and the totals."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from fixed_litmus_runs import AS_RIGHT, Measured

NOT_RUN = "not run"


@dataclass(frozen=True)
class Verdict:
    """What came of one pair."""

    pair: str
    rule: str
    sources: str
    """a digest of the fixed and the right program: with others it has to be judged again"""
    on: str
    """the GPU; "": it was not judged"""
    wrong: str
    fixed: str
    """AS_RIGHT, or what is against the fixed program, or why it was not judged"""
    compared: str

    @classmethod
    def of(cls, measured: Measured, sources: str, device: str) -> Verdict:
        """Return the verdict of runs."""
        pair = measured.pair
        if not measured.judged:
            why = "; ".join(measured.complaints) or measured.unfit or NOT_RUN
            return cls(pair.name, pair.code, sources, "", NOT_RUN, why, "")
        wrong = NOT_RUN
        if measured.outcomes.get("wrong"):
            wrong = "differs" if measured.differences("wrong") else AS_RIGHT
        return cls(
            pair.name, pair.code, sources, device, wrong, "; ".join(measured.complaints) or AS_RIGHT, measured.proof
        )

    @property
    def is_right(self) -> bool:
        """Whether the fixed program did what the right one did."""
        return bool(self.on) and self.fixed == AS_RIGHT

    @property
    def row(self) -> str:
        """The line of the table."""
        return f"| {self.pair} | {self.rule} | {self.wrong} | {self.fixed} | {self.compared} | {self.on} |"


def read_verdicts(path: Path) -> list[Verdict]:
    """Return the verdicts of a file. Raises OSError."""
    return [Verdict(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def write_verdicts(path: Path, verdicts: Iterable[Verdict]) -> None:
    """Keep those that were judged, one a line, sorted by pair."""
    judged = sorted((each for each in verdicts if each.on), key=lambda each: each.pair)
    path.write_text("".join(json.dumps(asdict(each)) + "\n" for each in judged), encoding="utf-8")


def totals(verdicts: Sequence[Verdict]) -> str:
    """Return what the verdicts come to."""
    judged = [each for each in verdicts if each.on]
    lines = [f"{len(verdicts)} wrong programs with an edit; {len(judged)} judged"]
    for words, found in (
        ("not judged", [each for each in verdicts if not each.on]),
        ("compared by their status only", [each for each in judged if each.compared == "status only"]),
        ("the fix is not right", [each for each in judged if not each.is_right]),
    ):
        lines.append(f"{words}: {len(found)}" + (f": {', '.join(each.pair for each in found)}" if found else ""))
    shown = sum(each.wrong == "differs" for each in judged)
    lines.append(f"{shown} of the wrong programs ran otherwise than their right twins, without the fix")
    lines.append(
        f"{sum(each.is_right for each in judged)} of {len(judged)} fixed programs do what their right twins do"
    )
    return "\n".join(lines)
