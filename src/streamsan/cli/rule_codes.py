"""Rule codes for a shell that completes words."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem


def complete_codes(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete codes for a shell, the last of several that commas separate."""
    # Imported late: only a shell that completes asks.
    from streamsan.rules.every_rule import RULES

    before, comma, word = incomplete.rpartition(",")
    found = [rule for rule in RULES.values() if rule.id.startswith(word.upper())]
    return [CompletionItem(f"{before}{comma}{rule.id}", help=rule.definition) for rule in found]
