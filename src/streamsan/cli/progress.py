"""Progress bars: on a terminal only, on standard error, and gone when done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Step = Callable[[str, int, int | None], None]
"""called with what is being done, how much of it is done, and the whole, None when not known"""


@contextmanager
def progress() -> Iterator[Step | None]:
    """Give a function that shows how far something is; None where nobody would see it."""
    if not sys.stderr.isatty():
        yield None
        return
    # Loaded late, for the time that it takes: mostly nobody looks.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task("", total=None)
        yield lambda what, done, total: bars.update(task, description=what, completed=done, total=total)
