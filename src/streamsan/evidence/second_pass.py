"""Proves findings: the way into this room."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from streamsan.evidence.fix.reasons import like_the_first, unsought
from streamsan.evidence.fix.verified_fixes import with_verified_fixes
from streamsan.evidence.fix.wording import Wording
from streamsan.evidence.proofs import ALL, Proofs
from streamsan.evidence.witness.witness import with_witnesses
from streamsan.findings.finding import Finding
from streamsan.findings.same_site import by_site
from streamsan.trace import Trace


def prove(
    findings: Iterable[Finding],
    found: Mapping[Trace, Sequence[Finding]] | None = None,
    proofs: Proofs = ALL,
    wording: Wording | None = None,
) -> list[Finding]:
    """Return the findings with their witnesses and verified fixes, or with the reasons why they have none.

    Findings whose proofs nobody wants stay as they are. Of many at one site the first is proven: the others go wrong
    in the same way. `found` are all findings of each trace, where they are known
    before they were merged: an edit is held against them. `wording` says how the text of the program would have a fix.
    """
    every = list(findings)
    wanted = [finding for finding in every if proofs.wanted(finding)]
    told = {id(site.first) for site in by_site(wanted)}
    others = [finding for finding in wanted if id(finding) not in told]
    wanted = [finding for finding in wanted if id(finding) in told]
    proven = with_witnesses(wanted)
    proven = (
        with_verified_fixes(proven, found or {}, wording) if proofs.fixes else [unsought(finding) for finding in proven]
    )
    by_id = {id(finding): result for finding, result in zip(wanted, proven, strict=True)}
    by_id |= {id(finding): like_the_first(finding) for finding in others}
    return [by_id.get(id(finding), finding) for finding in every]
