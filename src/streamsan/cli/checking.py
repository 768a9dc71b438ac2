"""Checks inputs, and shows on a terminal how far that is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from streamsan.analysis.checked import Checked
from streamsan.analysis.source_options import SourceOptions
from streamsan.analysis.suffixes import TRACE_SUFFIX
from streamsan.checking import every_input
from streamsan.checking.every_input import Watch, nobody_watches
from streamsan.checking.folders import Input
from streamsan.cli.progress import progress
from streamsan.evidence.proofs import Proofs
from streamsan.report import Problem
from streamsan.report.printable import printable

if TYPE_CHECKING:
    from streamsan.checking.remembered.results import RememberedResults


def available_cores() -> int:
    """Return how many cores this process may use: a container or a batch system may leave it few of the machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_all(
    inputs: Sequence[Input],
    options: SourceOptions,
    proofs: Proofs,
    jobs: int = 1,
    remembered: RememberedResults | None = None,
) -> tuple[list[Checked], list[Problem], list[Problem]]:
    """Check the inputs, in up to `jobs` processes. Returns the results, what could not be read, what limits them."""
    with _progress() as watch:
        return every_input.check_all(inputs, options, watch, proofs, jobs, remembered)


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
