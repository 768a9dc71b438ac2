"""SS109: two uses of the same memory, one of them a write, that nothing orders."""

from __future__ import annotations

import re

from streamsan.findings.finding import Observed, Severity
from streamsan.order.facts import Fact, Operation
from streamsan.rules.case import Case
from streamsan.rules.catalogue.lifetime import event_between, host_wait, short
from streamsan.rules.fix_steps import FixStep, Remedy, step
from streamsan.rules.race_sides import RaceSides, with_words
from streamsan.rules.rule import Rule, Wording
from streamsan.rules.wrong_execution import NODES as NODE_KINDS
from streamsan.rules.wrong_execution import Harm, WrongExecution, wrong_order
from streamsan.vocabulary import AccessMode, FactVariant, MemoryKind, OperationKind, RelatedRole, RuleCode, SlotFlag

_EARLIER = (RelatedRole.USE, RelatedRole.OTHER)


class UnorderedConflict(Rule):
    """SS109. An error needs both accesses to be known, and to touch the same bytes for sure.

    It is a warning that what touches all that a kernel can reach is beside the kernel, which reads or writes there.
    """

    code = RuleCode.UNORDERED_CONFLICT
    definition = "Two uses of the same memory, at least one of them a write, are not ordered."
    severity = Severity.ERROR
    comes_with_edits = True
    varies = "error when both accesses and their overlap are known, warning when one of them takes all, else note"

    def severity_of(self, case: Case) -> Severity:
        """An overlap that is likely is a warning; one that is merely possible is a note."""
        if overlap_is_sure(case.fact):
            return self.severity
        return Severity.WARNING if case.fact.likely else Severity.NOTE

    def weak(self, fact: Fact) -> bool:
        """Accesses that may be to different bytes are no more than possible."""
        return super().weak(fact) or not overlap_is_sure(fact)

    def decided_by_caller(self, fact: Fact) -> bool:
        """Tell whether a caller decides. An overlap that is not sure says so in words of its own."""
        return fact.may_be_equal or fact.unseen or fact.polled or (fact.assumed and overlap_is_sure(fact))

    def doubt(self, case: Case) -> str:
        """A word that a kernel polls may give the order."""
        if not case.fact.polled:
            return super().doubt(case)
        poller = case.first(RelatedRole.SYNC)
        return f"unless a word that {case.does(poller) if poller else 'one of them'} polls orders them"

    def wrong_execution(self, case: Case) -> WrongExecution | str:
        """The later access overtakes the earlier one."""
        later, earlier = case.operation, case.first(*_EARLIER)
        overtakes = case.fact.variant is FactVariant.CONFLICT_OVERTAKES
        return wrong_order(later, earlier, Harm.CONFLICT, inside=later.kind in NODE_KINDS, overtakes=overtakes)

    def fix_steps(self, case: Case) -> tuple[FixStep, ...]:
        """The later access waits for the earlier one."""
        later, earlier = case.operation, case.first(*_EARLIER)
        if later.kind is OperationKind.GRAPH_NODE:
            use = case.first(RelatedRole.USE, RelatedRole.CREATE, RelatedRole.OTHER)
            return (step(Remedy.EDGE, later, use),)
        if case.fact.variant is FactVariant.CONFLICT_OVERTAKES:
            return (step(Remedy.KERNEL_WAIT, later),)
        return (step(Remedy.ORDER, later, earlier),)

    def wording(self, case: Case) -> Wording:
        later, earlier = case.operation, case.first(*_EARLIER)
        memory, work, before = case.memory(), case.does(later), case.does(earlier)
        if case.allocation is None:
            memory = "the host's memory"
        nodes = later.kind is OperationKind.GRAPH_NODE
        line = case.line(later)
        sure = overlap_is_sure(case.fact)
        known = all(_mode(use) is not AccessMode.OPAQUE for use in (later, earlier) if use is not None)
        writes = any(
            _mode(use) in (AccessMode.WRITE, AccessMode.READ_WRITE) for use in (later, earlier) if use is not None
        )
        where_they_write = "" if known or writes else " and one of them writes"
        may = "" if sure or case.fact.likely else f", if they touch the same bytes{where_they_write}"
        if nodes and case.fact.likely and any(use and use.flags & SlotFlag.CONDITIONAL for use in (later, earlier)):
            may = ", if the conditional node runs that body"
        overtakes = case.fact.variant is FactVariant.CONFLICT_OVERTAKES
        if overtakes:
            reason = f"it may begin before {short(case, earlier)} has ended, and does not wait for that"
            fix = f"cudaGridDependencySynchronize() at the start of {work}, or a launch without the attribute"
        elif nodes:
            reason = f"no path of edges connects it with {short(case, earlier)}"
            fix = f"make the node of line {line} depend on the other" if line else "add an edge between the two nodes"
        elif later.stream:
            reason = f"nothing orders {case.stream(later)} after {short(case, earlier)}"
            fix = event_between(case, earlier, later, line)
        else:
            reason = f"nothing makes the host wait for {short(case, earlier)}"
            fix = host_wait(case, earlier, line)
        sides = RaceSides(case)
        does = sides.later_words()
        reason = f"{does}; {reason}" if does else reason
        order = "on" if overtakes else "in the order of"
        where = "" if nodes or not later.stream else f", {order} {case.stream(later)}"
        uses = [case.used(use) for use in case.all_of(*_EARLIER)]
        if uses:
            uses[0] = with_words(uses[0], sides.earlier_words())
        verb, gerund = sides.later_verb(), sides.earlier_gerund()
        if before == work:
            before = re.sub(r"^the ", "an earlier ", before)
        return Wording(
            message=f"{work} {verb} {memory} while {before} may still be {gerund} it{may}",
            related=(
                *case.allocated(),
                *uses,
                *case.others(RelatedRole.SYNC, RelatedRole.RECORD),
                case.related(RelatedRole.USE, later, f"used here{where}: {reason}"),
            ),
            contract=case.contract(
                "programmatic" if overtakes else "nodes" if nodes else "streams" if later.stream else "host"
            ),
            observed=_observed(case),
            fix=fix,
            sides=sides,
        )


def overlap_is_sure(fact: Fact) -> bool:
    """Tell whether both modes are known, and both accesses surely touch a byte in common."""
    uses = [operation for role, operation in fact.related if role in _EARLIER]
    return bool(uses) and all(_is_sure(operation) for operation in (fact.operation, uses[0]))


def _is_sure(operation: Operation) -> bool:
    return _mode(operation) is not AccessMode.OPAQUE and bool(operation.flags & SlotFlag.TOUCHES)


def _mode(operation: Operation) -> AccessMode:
    return AccessMode(operation.flags & 3)


def _observed(case: Case) -> Observed | None:
    if case.fact.variant is FactVariant.CONFLICT_OVERTAKES:
        return case.observed("programmatic")
    if case.allocation is None or case.allocation.kind is not MemoryKind.GRAPH:
        return None
    if case.fact.variant is not FactVariant.CONFLICT_READ_WRITE:
        return None
    return case.observed("graph")
