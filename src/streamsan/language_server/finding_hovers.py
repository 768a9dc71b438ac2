"""What is shown of a finding, or of a rule that a comment names, when the pointer rests on it: Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable

from streamsan.findings.finding import Finding
from streamsan.rules.rule_pages import page

_MARK = re.compile(r"streamsan:\s*ignore\s*\[([^\]\n]*)\]")
_SPECIAL = re.compile(r"([\\*_\[\]<>#|~!&])")


def hover_of_findings(findings: Iterable[Finding]) -> str:
    """Return what is known of findings at one place, "" where there are none."""
    return "\n\n---\n\n".join(map(_finding, findings))


def hover_of_comment(line: str, column: int) -> str:
    """Return the rules that a suppression in a line names, where it has the column (from 1); "" where there is none."""
    for match in _MARK.finditer(line):
        if match.start() < column <= match.end() + 1:
            pages = (_beginning(code.strip()) for code in match[1].split(","))
            return "\n\n---\n\n".join(filter(None, pages))
    return ""


def _finding(finding: Finding) -> str:
    parts = [f"**{finding.code} {finding.name}** ({finding.severity}, {finding.confidence})"]
    parts.append(_plain(finding.headline))
    if contract := finding.contract:
        parts.append(f"**Contract:** {_plain(contract.text)} ({_plain(contract.source)})")
    if observed := finding.observed:
        parts.append(f"**Observed:** {_plain(observed.text)} ({observed.fact}: {_plain(observed.on)})")
    if finding.witness:
        steps = (f"{number}. {_plain(step)}" for number, step in enumerate(finding.witness, 1))
        parts.append("**Witness:**\n\n" + "\n".join(steps))
    if fix := finding.fix:
        parts.append(f"**Fix{' (verified)' if fix.verified else ''}:** {_plain(fix.summary)}")
    if beginning := _beginning(finding.code):
        parts += ["---", beginning]
    return "\n\n".join(parts)


def _beginning(code: str) -> str:
    """Return a rule's page up to its contract, which findings tell, "" where there is no such rule."""
    text = page(code) if re.fullmatch(r"SS\d{3}", code) else None
    return (text or "").partition("\n## Contract")[0].strip().replace("\n## ", "\n### ").replace("# ", "### ", 1)


def _plain(text: str) -> str:
    """Return a text as Markdown that shows it as it is. What stands between backquotes, names mostly, stays code."""
    words = text.split("`")
    if len(words) % 2 == 0:
        return _SPECIAL.sub(r"\\\1", text.replace("`", "'"))
    return "`".join(word if number % 2 else _SPECIAL.sub(r"\\\1", word) for number, word in enumerate(words))
