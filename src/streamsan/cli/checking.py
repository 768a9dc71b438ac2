"""Checks inputs, and shows on a terminal how far that is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from streamsan.analysis.suffixes import TRACE_SUFFIX
from streamsan.checking import every_input
from streamsan.checking.every_input import CheckedInputs, Results, Workers
from streamsan.checking.request import Request
from streamsan.cli.progress import Step, progress
from streamsan.evidence.proofs import Proofs
from streamsan.report.printable import printable

if TYPE_CHECKING:
    from streamsan.checking.remembered.results import RememberedResults


def check_all(
    request: Request,
    proofs: Proofs,
    workers: Workers | None = None,
    remembered: RememberedResults | None = None,
    results: Results | None = None,
) -> CheckedInputs:
    """Check the inputs of a request, as `every_input.check_all` does, and show how far that is."""
    with progress() as show:
        watch = _Shown(show) if show is not None else None
        inputs, options = request.expanded.inputs, request.options
        return every_input.check_all(inputs, options, watch, proofs, workers, remembered, results)


class _Shown:
    """Shows what is checked, how many inputs are done, and how many findings there are up to now."""

    def __init__(self, show: Step) -> None:
        self._show = show

    def begins(self, path: str, number: int, total: int) -> Callable[[int, int], None] | None:
        """Show an input that this process begins with, and of a trace how far it is."""
        description = f"{number + 1}/{total} {printable(path)[-60:]}"
        self._show(description, number, total)
        if Path(path).suffix.lower() != TRACE_SUFFIX:
            return None
        return lambda done, operations: self._show(description, done, operations)

    def done(self, count: int, total: int, findings: int) -> None:
        """Show how many inputs are done."""
        found = "1 finding" if findings == 1 else f"{findings:,} findings"
        self._show(f"{count}/{total} checked, {found}", count, total)
