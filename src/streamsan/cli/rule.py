"""`streamsan rule`: list the rules, or explain one, or a fact that findings name."""

from __future__ import annotations

import sys

import click

from streamsan.cli.rule_codes import complete_codes
from streamsan.rules.every_rule import RULES
from streamsan.rules.rule_pages import fact, page

EPILOG = """\b
Examples:
  streamsan rule
  streamsan rule SS102
  streamsan rule F-05
"""


@click.command(epilog=EPILOG)
@click.argument("code", required=False, shell_complete=complete_codes)
def rule(code: str | None) -> int:
    """Explain a rule or a fact that a finding names, or list all rules with their severity."""
    if code is None:
        width = max(len(known.name) for known in RULES.values())
        for known in RULES.values():
            click.echo(f"{known.id}  {known.name:<{width}}  {known.definition}")
            click.echo(f"{'':<{width + 9}}{known.severities}")
        return 0
    name = code.strip().upper()
    found, measured = RULES.get(name), fact(name)
    if found is None and measured is None:
        raise click.UsageError(f"unknown code '{code}' (`streamsan rule` lists all)")
    text = page(found.id) if found is not None else measured
    # Imported late: every verb loads this file, and only this one shows Markdown.
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(file=sys.stdout, highlight=False)
    if found is not None and text is None:
        click.echo(f"{found.id} {found.name}\n\n{found.definition}\nSeverity: {found.severities}.")
    elif text and console.is_terminal:
        console.print(Markdown(text))
    elif text:
        click.echo(text.rstrip("\n"))
    return 0
