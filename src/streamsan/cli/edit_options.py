"""`--diff` and `--fix`: what is to come of edits."""

from __future__ import annotations

import click
from msgspec import Struct

from streamsan.cli.option_groups import Decorator, option_group


class EditOptions(Struct, frozen=True):
    """The values of the options."""

    diff: bool = False
    """edits are shown: as a patch, or in a report that is no text"""
    fix: bool = False
    """they are written"""

    @property
    def are_wanted(self) -> bool:
        """Whether edits are sought at all."""
        return self.diff or self.fix

    def are_patch(self, form: str) -> bool:
        """Tell whether a patch takes the place of a report in this format."""
        return self.diff and form == "text"

    def are_in_report(self, form: str) -> bool:
        """Tell whether a report in this format has the edits."""
        return self.diff and form != "text"

    def require_one(self) -> None:
        """Raise click.UsageError where both are asked for."""
        if self.diff and self.fix:
            raise click.UsageError("--diff shows what --fix writes: give one of them")

    def require_fixes(self, left_out_by: str) -> None:
        """Raise click.UsageError where an option that was given, "" for none, leaves out what these are about."""
        if self.are_wanted and left_out_by:
            option = "--diff" if self.diff else "--fix"
            raise click.UsageError(f"{option} is about fixes, and {left_out_by} leaves them out")


def edit_options(*, diff: str, fix: str) -> Decorator:
    """Return what gives a command one argument `edits: EditOptions`, with these texts for its help."""
    return option_group(
        "edits",
        EditOptions,
        click.option("--diff", "diff", is_flag=True, help=diff),
        click.option("--fix", "fix", is_flag=True, help=fix),
    )
