"""Variables of which each host thread has its own: made when a thread first comes to them, ended with the thread."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import Cell
from streamsan.cuda_syntax.tree import Span

Variables = list[tuple[dict[Any, Any], Any, Cell]]
"""the tables of names that have them, the keys there, and the variables"""


class ThreadStorage:
    """The `thread_local` variables of the thread that runs, where the names of the program look for them."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._own: Variables = []

    def add(self, table: dict[Any, Any], key: Any) -> None:
        """A table of names has a variable of the thread that runs, under this key."""
        self._own.append((table, key, table[key]))

    def leave(self) -> Variables:
        """Take the variables of the thread that runs away: another one is to run, which has made none yet."""
        own, self._own = self._own, []
        for table, key, _ in own:
            del table[key]
        return own

    def enter(self, own: Variables) -> None:
        """Put the variables of a thread back: it runs again."""
        self._own = own
        for table, key, cell in own:
            table[key] = cell

    def end(self, span: Span) -> None:
        """The thread ends, and its variables with it, the last one first."""
        own, self._own = self._own, []
        for table, key, cell in reversed(own):
            del table[key]
            self.machine.objects.destroy(cell, span)
