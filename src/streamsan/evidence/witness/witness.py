"""Witnesses: for each finding about order, an execution that the contract allows and in which it goes wrong.

The engine says which calls and works are before the operation that goes ahead (`known_order`). None of them is the
one that should have been complete: so there is an execution in which they alone have happened, and it comes behind.
Nothing else is in it. The replay (`streamsan.replay`) runs the same execution on the simulated device.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from streamsan.evidence.witness.account import moves_of
from streamsan.evidence.witness.known_order import Before, Order, order_before
from streamsan.evidence.witness.narration import Narrator
from streamsan.findings.finding import Finding
from streamsan.findings.move import Move
from streamsan.rules.case import Case, case_of
from streamsan.rules.every_rule import RULES
from streamsan.rules.wrong_execution import WrongExecution
from streamsan.trace import Trace, TraceError


class Witness(Struct, frozen=True):
    """An execution that goes wrong. All operations by their sequence numbers."""

    case: Case
    trace: Trace
    plan: WrongExecution
    ahead: Before
    """what happens before the operation that goes ahead: the first part of the execution, and all of it"""
    behind: Before
    """what the operation behind needs before it runs; of this, what the first part has not done is the second part"""
    moves: tuple[Move, ...]
    """step by step"""

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps in words."""
        return tuple(move.text for move in self.moves)


def with_witnesses(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings, each with its witness or with the reason why it has none."""
    every = list(findings)
    return [_with(finding, answer) for finding, answer in zip(every, witnesses(every), strict=True)]


def _with(finding: Finding, answer: Witness | str) -> Finding:
    if isinstance(answer, Witness):
        # What the driver itself said of the call stays with the steps.
        answers = tuple(step for step in finding.witness if step.startswith("the driver says: "))
        case = case_of(finding)
        moves = answer.moves
        if case is not None:
            moves = tuple(replace(move, text=case.in_own_words(move.text)) for move in moves)
        steps = (move.text for move in moves)
        return replace(finding, witness=(*steps, *answers), moves=moves, no_witness="")
    if finding.witness:
        return replace(finding, no_witness="")
    return replace(finding, no_witness=answer)


def witnesses(findings: Sequence[Finding]) -> list[Witness | str]:
    """Return for each finding its witness, or a clause that says why there is none. One pass for each trace."""
    plans = [_planned(finding) for finding in findings]
    wanted: dict[int, _Question] = {}
    for plan in plans:
        if not isinstance(plan, str):
            _, trace, order = plan
            question = wanted.setdefault(id(trace), _Question(trace))
            question.sequences.update((order.ahead.sequence, order.behind.sequence))
            question.sites.update((order.ahead.site, order.behind.site))
            if order.overtakes:
                question.early.add(order.ahead.sequence)
    orders = {key: _order(each.trace, each.sequences, sites=each.sites) for key, each in wanted.items()}
    # What is before a kernel's first accesses, and before all that it does after a wait, are two answers.
    first = {key: _order(each.trace, each.early, each.early) for key, each in wanted.items() if each.early}
    answers: list[Witness | str] = []
    for plan in plans:
        if isinstance(plan, str):
            answers.append(plan)
        else:
            case, trace, order = plan
            answers.append(_witness(case, trace, order, orders[id(trace)], first.get(id(trace))))
    return answers


class _Question(Struct):
    """What is asked of one trace."""

    trace: Trace
    sequences: set[int] = field(default_factory=set)
    early: set[int] = field(default_factory=set)
    """of these, kernels that begin at once, what is before their first accesses"""
    sites: set[int] = field(default_factory=set)
    """sites of the operations"""


def _order(trace: Trace, sequences: set[int], early: Collection[int] = (), sites: Collection[int] = ()) -> Order | str:
    try:
        return order_before(trace, sequences, early, sites)
    except (TraceError, OSError):
        return "the trace can no longer be read"


def _planned(finding: Finding) -> tuple[Case, Trace, WrongExecution] | str:
    rule, case = RULES[finding.code], case_of(finding)
    if not rule.is_about_order:
        return rule.without_witness
    if case is None or not isinstance(case.names, Trace):
        return "the trace is not at hand"
    plan = rule.wrong_execution(case)
    return plan if isinstance(plan, str) else (case, case.names, plan)


def _witness(
    case: Case, trace: Trace, plan: WrongExecution, order: Order | str, first: Order | str | None
) -> Witness | str:
    if isinstance(order, str):
        return order
    early = first if plan.overtakes and isinstance(first, Order) else order
    ahead = early.before.get(plan.ahead.sequence)
    behind = order.before.get(plan.behind.sequence, Before())
    if ahead is None:
        return "the operation that goes ahead is not in the part of the trace that can be read"
    if not plan.certain and ahead.has_work(plan.behind.sequence):
        return "by what the engine knows of the whole trace, the two are ordered"
    narrator = Narrator(case, order, plan)
    return Witness(case, trace, plan, ahead, behind, moves_of(plan, narrator))
