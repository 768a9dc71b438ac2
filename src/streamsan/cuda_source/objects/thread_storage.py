"""Variables of which each host thread has its own: made when a thread first comes to them, ended with the thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import Cell
from streamsan.cuda_syntax.tree import Span


class ThreadStorage:
    """The `thread_local` variables of the thread that runs, where the names of the program look for them."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._own: list[tuple[dict[Any, Any], Any, Cell]] = []

    def add(self, table: dict[Any, Any], key: Any) -> None:
        """A table of names has a variable of the thread that runs, under this key."""
        self._own.append((table, key, table[key]))

    @contextmanager
    def of_new_thread(self, span: Span) -> Iterator[None]:
        """Run as another thread for a while: it has made none of its variables yet, and they end with it."""
        others, self._own = self._own, []
        for table, key, _ in others:
            del table[key]
        try:
            yield
        finally:
            self.end(span)
            self._own = others
            for table, key, cell in others:
                table[key] = cell

    def end(self, span: Span) -> None:
        """The thread ends, and its variables with it, the last one first."""
        own, self._own = self._own, []
        for table, key, cell in reversed(own):
            del table[key]
            self.machine.objects.destroy(cell, span)
