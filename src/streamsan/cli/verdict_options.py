"""Where the report of a program that was run goes, and what its findings do to the exit status."""

from __future__ import annotations

from collections.abc import Callable

import click
from msgspec import Struct

from streamsan.cli.option_groups import option_group


class VerdictOptions(Struct, frozen=True):
    """The values of the options."""

    report_file: str
    """"": standard error"""
    error_exitcode: int | None

    def status(self, found: bool, otherwise: Callable[[], int]) -> int:
        """Return the exit status where there are findings or not: what `otherwise` gives, where none was asked for."""
        return self.error_exitcode if found and self.error_exitcode is not None else otherwise()


verdict_options = option_group(
    "verdict",
    VerdictOptions,
    click.option("--report", "report_file", default="", metavar="FILE", help="Write the report here, not to stderr."),
    click.option(
        "--error-exitcode", type=click.IntRange(0, 255), default=None, metavar="N", help="Exit with N on findings."
    ),
)
"""one argument `verdict: VerdictOptions`, for `run` and `sim`"""
