"""SS105: a pool hands out bytes that work of their last owner may still use."""

from __future__ import annotations

from collections.abc import Iterable

from streamsan.findings.finding import Related, Severity
from streamsan.order.facts import Operation
from streamsan.rules.case import Case
from streamsan.rules.catalogue.lifetime import event_between, short
from streamsan.rules.collective_names import collective_noun
from streamsan.rules.fix_steps import FixStep, Remedy, step
from streamsan.rules.rule import Rule, Wording
from streamsan.rules.torch_words import is_of_torch, stream_waits
from streamsan.rules.wrong_execution import Harm, WrongExecution, wrong_order
from streamsan.vocabulary import OperationKind, RelatedRole, RuleCode


class ReuseRacesUse(Rule):
    """SS105."""

    code = RuleCode.REUSE_RACES_USE
    definition = "A pool hands out a block again, and its new owner's first use is not ordered after a use before."
    severity = Severity.ERROR
    outranks = (RuleCode.USE_AFTER_FREE, RuleCode.USE_RACES_FREE)
    outranks_for_use = (RuleCode.UNORDERED_CONFLICT,)
    comes_with_edits = True

    def wrong_execution(self, case: Case) -> WrongExecution | str:
        """The new owner's work overtakes the old one's."""
        if case.first(RelatedRole.RECORD) is not None:
            return "nobody sees which work of the stream uses the block"
        return wrong_order(case.first(RelatedRole.OTHER), case.first(RelatedRole.USE), Harm.CONFLICT)

    def fix_steps(self, case: Case) -> tuple[FixStep, ...]:
        """The pool is told of the old owner's stream, where it can be; or the new owner's work waits for the old."""
        order = step(Remedy.ORDER, _new_use(case), case.first(RelatedRole.USE))
        if not _stream_not_told(case):
            return (order,)
        return step(Remedy.TELL_POOL, case.operation, case.first(RelatedRole.USE)), order

    def wording(self, case: Case) -> Wording:
        release, use, new = case.operation, case.first(RelatedRole.USE), _new_use(case)
        owner = case.first(RelatedRole.OWNER)
        memory = case.memory()
        reason = f"nothing orders {case.stream(new)} after {short(case, use)}"
        told = case.first(RelatedRole.RECORD)
        related = [*case.allocated(), *(_used(case, each, told) for each in case.all_of(RelatedRole.USE))]
        if told is not None:
            by = f"the pool was told here that what {case.stream(use)} had until then uses the block"
            related.append(case.related(RelatedRole.RECORD, told, by))
        if release.kind is OperationKind.FREE:
            untold = f": no record_stream has told it of {case.stream(use)}" if _stream_not_told(case) else ""
            within = f", in the order of {case.stream(release)}" if release.stream else ""
            related.append(case.related(RelatedRole.FREE, release, f"taken back here, by the pool{within}{untold}"))
        if owner is not None:
            related.append(case.related(RelatedRole.OWNER, owner, "the same bytes are handed out again here"))
        related += _streams_made(case, (use, new))
        place = f"used here by the new owner, in the order of {case.stream(new)}: {reason}"
        related.append(case.related(RelatedRole.OTHER, new, place))
        still = f"{case.does(use)} may still be {case.verb(use)} {memory}"
        if told is not None:
            still = f"{case.stream(use)}, of which the pool was told, may still be using {memory}"
        return Wording(
            message=f"{still} when the pool gives its bytes to another owner",
            related=tuple(related),
            contract=case.contract("pytorch" if is_of_torch(case) else "streams"),
            fix=_order(case, use, new),
        )


def _used(case: Case, use: Operation, told: Operation | None) -> Related:
    """Return the line of a use; of a stream's latest work, where the pool was told of the stream."""
    if told is None:
        return case.used(use)
    return case.related(RelatedRole.USE, use, f"the latest work of {case.stream(use)} then: {case.does(use)}")


def _streams_made(case: Case, operations: Iterable[Operation | None]) -> list[Related]:
    """Return the lines where the streams of operations were made, as far as known."""
    found: dict[int, Related] = {}
    for operation in operations:
        if operation is None or operation.stream_assumed or not operation.stream_site:
            continue
        site = case.names.site(operation.stream_site)
        if site.line and operation.stream not in found:
            # PyTorch makes a number of streams at the first one, and hands them out in turn.
            among = ", among those that PyTorch hands out in turn" if is_of_torch(case) else ""
            words = f"{case.stream(operation)} is made here{among}"
            found[operation.stream] = Related(RelatedRole.CREATE.name.lower(), site.file, site.line, words)
    return list(found.values())


def _order(case: Case, use: Operation | None, new: Operation) -> str:
    """Return the fix that lets the new owner's work wait."""
    line = case.line(new)
    if is_of_torch(case) and line:
        return f"before line {line}: {stream_waits(case, use, new)}"
    return event_between(case, use, new, line)


def _new_use(case: Case) -> Operation:
    found = case.first(RelatedRole.OTHER)
    return case.operation if found is None else found


def _stream_not_told(case: Case) -> bool:
    """Tell whether a use was on another stream than the one of the block, of which PyTorch's pool could be told.

    The streams of its process groups the program does not have.
    """
    made, use = case.first(RelatedRole.ALLOC), case.first(RelatedRole.USE)
    if made is None or use is None or case.operation.kind is not OperationKind.FREE or not is_of_torch(case):
        return False
    named = bool(use.stream) and not collective_noun(case.names.site(use.site).label)
    return named and bool(made.stream) and made.stream != use.stream
