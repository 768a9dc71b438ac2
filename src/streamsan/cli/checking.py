"""Checks inputs, and shows on a terminal how far that is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from streamsan.analysis.checked import Checked
from streamsan.analysis.source_files import SourceOptions
from streamsan.analysis.traces import TRACE_SUFFIX
from streamsan.checking import every_input
from streamsan.checking.every_input import Watch, nobody_watches
from streamsan.checking.folders import Input
from streamsan.cli.progress import progress
from streamsan.evidence.proofs import Proofs
from streamsan.report import Problem
from streamsan.report.printable import printable


def check_all(
    inputs: Sequence[Input], options: SourceOptions, proofs: Proofs
) -> tuple[list[Checked], list[Problem], list[Problem]]:
    """Check the inputs in order. Returns the results, what could not be read, and what limits the results."""
    with _progress() as watch:
        return every_input.check_all(inputs, options, watch, proofs)


@contextmanager
def _progress() -> Iterator[Watch]:
    """Give a function that shows what is being checked: on a terminal only, and gone when done."""
    with progress() as show:
        if show is None:
            yield nobody_watches
            return

        def watch(path: str, number: int, total: int) -> Callable[[int, int], None] | None:
            description = f"{number + 1}/{total} {printable(path)[-60:]}"
            show(description, number, total)
            if Path(path).suffix.lower() != TRACE_SUFFIX:
                return None
            return lambda done, operations: show(description, done, operations)

        yield watch
