"""Writes docs/rules/README.md: the list of the rules, as their modules know them."""

from __future__ import annotations

NOTICE = "<!-- Generated from the rules by `python -m streamsan.generate`. Do not edit. -->"


def rules_page_text() -> str:
    """Return the page as text."""
    from streamsan.rules.every_rule import RULES

    cells = [(f"[{rule.id}]({rule.id}.md)", rule.name, rule.definition, rule.severities) for rule in RULES.values()]
    rows = [f"| {' | '.join(row)} |" for row in cells]
    lead = "`streamsan rule` lists them too, and `streamsan rule SS102` shows the page of one."
    heads = ["| rule | name | what it reports | severity |", "|---|---|---|---|"]
    return "\n".join([NOTICE, "", "# Rules", "", lead, "", *heads, *rows, ""])
