"""The engine's verdicts beside the oracle's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from execution_oracle.instances import instances, is_concrete
from execution_oracle.program import Program
from execution_oracle.traces import trace_of
from execution_oracle.verdicts import Oracle, Verdicts
from streamsan.order.engine import Analysis, analyse
from streamsan.order.facts import Fact
from streamsan.vocabulary import EdgeClass, SlotFlag

ORDERING = frozenset({101, 102, 103, 104, 106, 107, 108, 109, 205, 303, 304})
REDUNDANT = 504
STALE = 303
EXTENT_NOT_KNOWN = 109
"""what is doubted for another reason: nobody knows which bytes a kernel touches"""
T = TypeVar("T")


@dataclass
class Comparison:
    """What either says of one program; equal where `differences` is empty."""

    oracle: Verdicts
    differences: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    """how often each rule, and idle waits"""


def compare(program: Program) -> Comparison:
    """Ask both."""
    oracles = [Oracle(each) for each in instances(program)]
    expected = oracles[0].verdicts
    result = Comparison(expected)
    analysis = analyse(trace_of(program))
    if is_concrete(program):
        result.differences += differences(expected, analysis)
    else:
        result.differences += differences_if_unknown([oracle.verdicts for oracle in oracles], analysis)
        expected = result.oracle = in_all([oracle.verdicts for oracle in oracles])
    if not all(oracle.is_jointly_removable() for oracle in oracles):
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


def in_all(verdicts: Sequence[Verdicts]) -> Verdicts:
    """Return what is so in all programs that one may stand for."""

    def common(sets: Iterable[set[T]]) -> set[T]:
        return set.intersection(*sets)

    return Verdicts(
        wrong=common(each.wrong for each in verdicts),
        proven=common(each.proven for each in verdicts),
        sure=common(each.sure for each in verdicts),
        idle=common(each.idle for each in verdicts),
        nearly_idle=common(each.nearly_idle for each in verdicts),
    )


def differences_if_unknown(may_be: Sequence[Verdicts], analysis: Analysis) -> list[str]:
    """Say what the engine may not be sure of, must doubt, or must not doubt, by the programs that one may stand for."""
    result: list[str] = []
    if analysis.problems:
        result.append(f"the engine left out {analysis.problems} slots")
    ordering = [fact for fact in analysis.facts if fact.code in ORDERING]
    all_ = in_all(may_be)
    said = {_key(fact) for fact in ordering}
    sure = _worst({_key(fact) for fact in ordering if _is_sure(fact)})
    maybe = set.union(*(each.wrong | each.again | each.late for each in may_be))
    # Whether it is the free that comes too early or the use too late may depend on what is not known.
    # Of the same mistake the milder thing may be said: that only the driver's waits help.
    # What is wrong with a call is still wrong with it where its stream is gone, or its memory not there yet, as well.
    hidden = [{number for code, number in each.sure if code in (103, 205)} for each in may_be]
    surely = set.intersection(
        *(
            each.sure
            | each.again
            | each.late
            | {(107, number) for _, number in each.sure}
            | {key for key in sure if key[1] in worse}
            for each, worse in zip(may_be, hidden, strict=True)
        )
    )
    result += [f"sure to the engine only: SS{code} at {number}" for code, number in sorted(sure - surely)]
    result += [f"not even doubted by the engine: {key}" for key in sorted(_worst(all_.sure) - said)]
    somewhere = {number for _, number in maybe}
    result += [
        f"doubted by the engine only: {key}"
        for key in sorted(said - maybe)
        if key[0] != EXTENT_NOT_KNOWN and key[1] not in somewhere
    ]
    proven = {_key(fact) for fact in ordering if fact.code == 101 and fact.rests_on is EdgeClass.CONTRACT}
    provable = set.intersection(
        *(each.proven | {key for key in proven if key[1] in worse} for each, worse in zip(may_be, hidden, strict=True))
    )
    result += [f"proven by the engine alone: {key}" for key in sorted((proven & sure) - provable)]
    idle = {fact.operation.sequence for fact in analysis.facts if fact.code == REDUNDANT}
    result += [f"idle by the engine alone: {number}" for number in sorted(idle - all_.nearly_idle)]
    return result


def _is_sure(fact: Fact) -> bool:
    """Whether nothing has to be known yet. Of a pointer that went stale the node says whether it runs at all."""
    may_not_run = fact.code == STALE and any(node.flags & SlotFlag.CONDITIONAL for _, node in fact.related)
    return not fact.assumed and not fact.may_be_equal and not may_not_run


def _key(fact: Fact) -> tuple[int, int]:
    return fact.code, fact.operation.sequence


def _worst(found: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """The worst thing said of an operation is what counts: that only a wait nobody promised helps one use is not."""
    worse = {number for code, number in found if code in (102, 103, 104, 108)}
    return {(code, number) for code, number in found if code != 107 or number not in worse}
