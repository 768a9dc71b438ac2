"""Runs of litmus programs on a GPU, and whether a fixed program does what its right twin does.

Runs differ by delays before the work on each stream. A right twin is run again, with other delays, only where the fixed
program did otherwise: what the right twin itself does differently from run to run is not compared. Work that the right
twin alone does is in fixed_litmus.toml, and not compared either; there each run of the fixed program must do the same.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from fixed_programs import last_line

LIMIT = 30.0
"""seconds that a run may take"""
NOT_LINKED = "compiles, but calls code that is elsewhere"
"""by design: what code nobody can see may do is the point of such a pair"""
AS_RIGHT = "as the right twin"
JUDGING = {"fixed": ("1", "2"), "right": ("1",)}
"""variant -> the delays of the runs that a verdict needs"""
AGAIN = {"right": ("2", "")}
"""those that tell, where the fixed program did otherwise, whether the right twin always does the same; "": no delays"""
SHOWING = {"wrong": ("1",)}
"""those that nothing but a column of the table needs"""


@dataclass(frozen=True)
class Pair:
    """A wrong program and its right twin; an edit, where one is proposed."""

    name: str
    code: str
    edit: str = ""
    """what the fix changed, in one line; "": no edit is proposed"""
    reasons: str = ""
    """what `check --fix` says on standard error"""
    left: tuple[str, ...] = ()
    """what is against the fixed source: findings at warning or above, CODE@LINE"""
    not_compiled: dict[str, str] = field(default_factory=dict)
    """variant -> the compiler's message"""
    two_devices: bool = False


@dataclass(frozen=True)
class Outcome:
    """What one run ended with."""

    status: str
    output: str = ""
    memory: tuple[str, ...] = ()
    """what each block held when it was given back, sorted"""
    ended: str = "not observed"
    """the device's status at the end of the program"""
    complaint: str = ""
    """the last line on standard error"""


ASPECTS = ("status", "output", "ended", "memory")


def source_of(folder: Path, variant: str, name: str) -> Path:
    """Return where a variant of a pair lies."""
    return folder / variant / f"{name}.cu"


@cache
def other_work() -> Mapping[str, Mapping[str, str]]:
    """Return pair -> aspect -> why its right twin does other work than the wrong program, in fixed order or not."""
    return tomllib.loads(Path(__file__).with_name("fixed_litmus.toml").read_text(encoding="utf-8"))["other_work"]


def digest_of(folder: Path, name: str) -> str:
    """Return a digest of the fixed and the right program, in which their places do not count."""
    both = b"\0".join(source_of(folder, variant, name).read_bytes() for variant in ("fixed", "right"))
    return hashlib.sha256(both).hexdigest()[:16]


def run_program(program: Path, folder: Path, delays: str, two_devices: bool) -> Outcome:
    """Run a compiled program once."""
    with tempfile.TemporaryDirectory() as name:
        seen = Path(name) / "observed"
        environment = {
            **os.environ,
            "LD_PRELOAD": str(folder / "observer.so"),
            "LD_LIBRARY_PATH": f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}",
            "OBSERVED": str(seen),
        }
        if delays:
            environment["DELAYS"] = delays
        if not two_devices:
            environment["CUDA_VISIBLE_DEVICES"] = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
        try:
            done = subprocess.run(
                # All variants have one name: some programs print it.
                [program.name],
                executable=str(program),
                capture_output=True,
                check=False,
                timeout=LIMIT,
                env=environment,
                cwd=name,
            )
        except subprocess.TimeoutExpired:
            return Outcome(f"no end within {LIMIT:.0f} s")
        lines = seen.read_text(encoding="utf-8").splitlines() if seen.exists() else []
    output, errors = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
    ended = lines.pop().partition(" ")[2] if lines else "not observed"
    return Outcome(f"status {done.returncode}", output, tuple(lines), ended, last_line(errors) if errors else "")


@dataclass(frozen=True)
class Measured:
    """The runs of a pair: variant -> outcomes."""

    pair: Pair
    outcomes: dict[str, list[Outcome]]

    @property
    def compared(self) -> list[str]:
        """What the right twin does alike in all its runs."""
        right, other = self.outcomes["right"], other_work().get(self.pair.name, {})
        return [each for each in ASPECTS if each not in other and len({getattr(run, each) for run in right}) == 1]

    def differences(self, variant: str) -> list[str]:
        """Return in what a variant's runs are not like those of the right twin."""
        right = self.outcomes["right"][0]
        found = []
        for aspect in self.compared:
            expected = getattr(right, aspect)
            other = [value for each in self.outcomes[variant] if (value := getattr(each, aspect)) != expected]
            if other:
                count = f"{len(other)} of {len(self.outcomes[variant])} runs"
                found.append(f"{aspect} in {count}: {_shown(aspect, other[0], expected)}")
        for aspect in other_work().get(self.pair.name, {}) if variant == "fixed" else ():
            first, *others = (getattr(each, aspect) for each in self.outcomes[variant])
            found += [f"{aspect} varies: {_shown(aspect, each, first)}" for each in others if each != first]
        return found

    @property
    def proof(self) -> str:
        """What the comparison rests on."""
        right = self.outcomes["right"][0]
        parts = []
        if "output" in self.compared and right.output:
            parts.append("output")
        if "memory" in self.compared and right.memory:
            parts.append(f"{len(right.memory)} blocks")
        return ", ".join(parts) or "status only"

    @property
    def complaints(self) -> list[str]:
        """What is against the fix."""
        if self.pair.not_compiled.get("fixed", NOT_LINKED) != NOT_LINKED:
            return [f"does not compile: {self.pair.not_compiled['fixed']}"]
        found = [f"still {each}" for each in self.pair.left]
        return found + (self.differences("fixed") if self.judged else [])

    @property
    def judged(self) -> bool:
        """Whether there are runs of the fixed and of the right program, and the right one ends well."""
        return bool(self.outcomes.get("fixed")) and bool(self.outcomes.get("right")) and not self.unfit

    @property
    def unfit(self) -> str:
        """Why the right twin cannot be held against anything here; "" where it can."""
        runs = self.outcomes.get("right")
        if not runs:
            return self.pair.not_compiled.get("right", "not run")
        bad = [each for each in runs if each.status != "status 0"]
        return f"the right twin ends with {bad[0].status} here: {bad[0].complaint}" if bad else ""


def _shown(aspect: str, got: object, expected: object) -> str:
    if aspect == "memory":
        assert isinstance(got, tuple)
        assert isinstance(expected, tuple)
        extra, missing = Counter(got) - Counter(expected), Counter(expected) - Counter(got)
        return f"{list(extra)[:3]} instead of {list(missing)[:3]}"
    return f"{str(got)[:160]!r} instead of {str(expected)[:160]!r}"


def measure(measured: Measured, folder: Path, runs: Mapping[str, tuple[str, ...]], deadline: float) -> None:
    """Run variants of a pair, each once for each of its delays."""
    pair = measured.pair
    for variant, delays in runs.items():
        program = source_of(folder, variant, pair.name).with_suffix("")
        if not program.exists():
            continue
        program.chmod(0o755)  # a copy from another machine may have lost it
        for each in delays:
            if time.monotonic() < deadline:
                outcome = run_program(program, folder, each, pair.two_devices)
                measured.outcomes.setdefault(variant, []).append(outcome)
