"""The engine's verdicts beside the oracle's."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from execution_oracle.program import Program
from execution_oracle.traces import trace_of
from execution_oracle.verdicts import Oracle, Verdicts
from streamsan.order.engine import Analysis, analyse
from streamsan.order.facts import Fact
from streamsan.vocabulary import EdgeClass

ORDERING = frozenset({101, 102, 103, 104, 107, 108, 109, 303, 304})
REDUNDANT = 504


@dataclass
class Comparison:
    """What either says of one program; equal where `differences` is empty."""

    oracle: Verdicts
    differences: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    """how often each rule, and idle waits"""


def compare(program: Program) -> Comparison:
    """Ask both."""
    oracle = Oracle(program)
    expected = oracle.verdicts
    result = Comparison(expected)
    result.differences += differences(expected, analyse(trace_of(program)))
    if not oracle.is_jointly_removable():
        result.differences.append("the idle waits are not jointly removable")
    result.kinds.update(f"SS{code}" for code, _ in expected.wrong)
    if expected.idle:
        result.kinds["SS504"] = len(expected.idle)
    return result


def differences(expected: Verdicts, analysis: Analysis) -> list[str]:
    """Say what the two verdicts on a program do not agree on."""
    result: list[str] = []
    if analysis.problems:
        result.append(f"the engine left out {analysis.problems} slots")
    ordering = [fact for fact in analysis.facts if fact.code in ORDERING]
    sure = {_key(fact) for fact in ordering if not fact.assumed and not fact.may_be_equal}
    sure = _worst(sure)
    may = _worst(expected.sure) | (sure & expected.again)
    for what, oracle, engine in (("the oracle", _worst(expected.sure), sure), ("the engine", sure, may)):
        result += [f"wrong by {what} alone: SS{code} at {number}" for code, number in sorted(oracle - engine)]
    for key in sorted(_worst(expected.wrong) - {_key(fact) for fact in ordering}):
        result.append(f"not even doubted by the engine: {key}")
    proven = {_key(fact) for fact in ordering if fact.code == 101 and fact.rests_on is EdgeClass.CONTRACT}
    for key in sorted(proven - expected.proven):
        result.append(f"proven by the engine alone: {key}")
    idle = {fact.operation.sequence for fact in analysis.facts if fact.code == REDUNDANT}
    result += [f"idle by the oracle alone: {number}" for number in sorted(expected.idle - idle)]
    result += [f"idle by the engine alone: {number}" for number in sorted(idle - expected.nearly_idle)]
    return result


def _key(fact: Fact) -> tuple[int, int]:
    return fact.code, fact.operation.sequence


def _worst(found: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """The worst thing said of an operation is what counts: that only a wait nobody promised helps one use is not."""
    worse = {number for code, number in found if code in (102, 103, 104, 108)}
    return {(code, number) for code, number in found if code != 107 or number not in worse}
