"""SS503: waits for more than what follows needs."""

from __future__ import annotations

from collections.abc import Sequence

from streamsan.order.facts import Operation
from streamsan.rules.case import Case
from streamsan.rules.fix_steps import FixStep, Remedy
from streamsan.rules.rule import CostRule, Wording
from streamsan.vocabulary import OperationKind, RelatedRole, RuleCode


class WaitTooWide(CostRule):
    """SS503. Reported at the wait."""

    code = RuleCode.WAIT_TOO_WIDE
    definition = "A wait covers pending work that nothing after it needs; a narrower one would do."
    after_edits = "the wait of line {lines} is wider than needed then"

    def fix_steps(self, case: Case) -> tuple[FixStep, ...]:
        """A narrower wait."""
        needed = tuple(case.all_of(RelatedRole.USE))
        exact = case.fact.extra.get("exact", 0)
        return (FixStep(Remedy.WAIT_FOR_STREAMS if exact else Remedy.WAIT_FOR_WORK, case.operation, needed),)

    def wording(self, case: Case) -> Wording:
        wait = case.operation
        needless = case.all_of(RelatedRole.OTHER)
        needed = case.all_of(RelatedRole.USE, RelatedRole.FREE, RelatedRole.RECORD)
        call, line = case.call(wait), case.line(wait)
        covers = _listed([case.does(operation) for operation in needless])
        related = [
            case.related(RelatedRole.OTHER, operation, f"pending, in the order of {case.stream(operation)}: not needed")
            for operation in needless
        ]
        related += [
            case.related(
                RelatedRole.USE, operation, f"what follows needs this, in the order of {case.stream(operation)}"
            )
            for operation in needed
        ]
        waiter = case.stream(wait) if wait.kind is OperationKind.STREAM_WAIT_EVENT else "the host"
        related.append(case.related(RelatedRole.SYNC, wait, f"{waiter} waits here for all of it"))
        return Wording(
            message=f"{call} also waits for {covers or 'work'}, which nothing after it needs",
            related=tuple(related),
            contract=case.contract("wide"),
            observed=case.observed("wide"),
            witness=(
                f"{covers or 'the other work'} takes long",
                f"{waiter} waits for it",
                "what follows could have gone on",
            ),
            fix=_narrower(case, wait, needed, line),
        )


def _listed(names: list[str]) -> str:
    distinct = list(dict.fromkeys(names))
    if len(distinct) <= 1:
        return "".join(distinct)
    return f"{', '.join(distinct[:-1])} and {distinct[-1]}" if len(distinct) < 4 else f"{distinct[0]} and other work"


def _narrower(case: Case, wait: Operation, needed: Sequence[Operation], line: int) -> str:
    at = f"line {line}: " if line else ""
    if not needed:
        return f"{at}wait for the stream or the event that what follows needs"
    if case.fact.extra.get("exact", int(wait.kind is OperationKind.CONTEXT_SYNCHRONIZE)):
        waits = dict.fromkeys(f"{case.phrase('stream_wait', stream=case.stream_argument(each))};" for each in needed)
        return f"{at}{' '.join(waits)}"
    after = case.line(needed[0])
    where = f"after line {after}" if after else "after the work that is needed"
    record = case.phrase("record_event", stream=case.stream_argument(needed[0]))
    return f"{where}: {record} {at}{case.phrase('event_wait')}"
