"""The calls that operations are nested in: the helper's, the destructor's, the thread's."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from streamsan.findings.finding import Related
from streamsan.order.facts import Operation
from streamsan.rules.case import Case
from streamsan.rules.nouns import MADE_BY
from streamsan.vocabulary import RelatedRole

DEEPEST_CALLERS = 4
"""calls that a finding shows of one operation"""
MOST_CALLERS = 256
_LED_TO = {
    RelatedRole.FREE: "freed",
    RelatedRole.USE: "used",
}


def callers(case: Case) -> list[Related]:
    """Return the calls that lead to the operations of a case: to the reported one all, innermost first.

    To the others those that do not lead to the reported one as well; to the allocation only the outermost of these:
    the line that names what a helper made.
    """
    operation, allocation = case.operation, case.allocation
    chain = _chain(case, operation.site)
    own = {operation.site, *chain}
    related = _calls(case, chain[:DEEPEST_CALLERS], "reached", _told_apart(case, operation))
    if allocation is not None:
        made = calls_within(case, allocation.site, own)
        related += _calls(case, made[-1:], MADE_BY.get(allocation.kind, "allocated"))
    for role, other in case.fact.related:
        verb = _LED_TO.get(role)
        if verb is not None:
            inner = calls_within(case, other.site, own)[:DEEPEST_CALLERS]
            related += _calls(case, inner, verb, _told_apart(case, other))
    return related


def calls_within(case: Case, site: int, common: Collection[int]) -> list[int]:
    """Return the sites of the calls that a site is nested in, innermost first, up to one that is in `common`."""
    chain = _chain(case, site)
    return chain[: next((position for position, number in enumerate(chain) if number in common), len(chain))]


def common_calls(case: Case, operations: Sequence[Operation]) -> frozenset[int]:
    """Return the sites of the calls that all of some operations are nested in."""
    chains = [frozenset(_chain(case, operation.site)) for operation in operations]
    return frozenset.intersection(*chains) if chains else frozenset()


def _chain(case: Case, site: int) -> list[int]:
    """Return the sites of the calls that a site is nested in, innermost first."""
    chain: list[int] = []
    number, last = case.names.site(site).caller, site
    # A caller is a site that was known before: its id is smaller, whatever a file says.
    while 0 < number < last and len(chain) < MOST_CALLERS:
        chain.append(number)
        number, last = case.names.site(number).caller, number
    return chain


def _told_apart(case: Case, operation: Operation) -> str:
    """Return ": kernel `init`" where another operation is at the same place, which a helper's call is."""
    place = case.place(operation)
    others = [case.operation, *(other for role, other in case.fact.related if role in _LED_TO)]
    same = any(other.sequence != operation.sequence and case.place(other) == place for other in others)
    return f": {case.does(operation)}" if same else ""


def _calls(case: Case, chain: Sequence[int], verb: str, what: str = "") -> list[Related]:
    related: list[Related] = []
    for number in chain:
        site = case.names.site(number)
        if site.line:
            where = f" in `{site.function}`" if site.function else ""
            message = f"({verb} from here{where}{what})"
            related.append(Related("other", site.file or case.names.path, site.line, message))
    return related
