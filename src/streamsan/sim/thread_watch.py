"""Starts and joins of Python threads, seen as they happen: `threading.Thread` is patched while a program runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from streamsan.sim import active
from streamsan.sim.program_threads import joining

_originals: list[tuple[Callable[..., Any], Callable[..., Any]]] = []


def watch() -> None:
    """Follow Thread.start and Thread.join from here on. May be nested; `unwatch` ends it."""
    start, join = threading.Thread.start, threading.Thread.join
    _originals.append((start, join))
    if len(_originals) > 1:
        return

    def watched_start(self: threading.Thread) -> None:
        session = active.current()
        if session is not None:
            session.thread_starting(self)
        start(self)

    def watched_join(self: threading.Thread, timeout: float | None = None) -> None:
        session = active.current()
        if session is not None and session.driver.is_here and self.is_alive():
            with session.driver.waiting(lambda: not self.is_alive(), alone=timeout is not None):
                join(self, timeout)
            return
        if timeout is None:
            joining.add(threading.get_ident())
        try:
            join(self, timeout)
        finally:
            joining.discard(threading.get_ident())
        session = active.current()
        if session is not None and not self.is_alive():
            session.thread_joined(self)

    threading.Thread.start = watched_start  # type: ignore[method-assign]
    threading.Thread.join = watched_join  # type: ignore[method-assign]


def unwatch() -> None:
    """End one `watch`."""
    start, join = _originals.pop()
    if not _originals:
        threading.Thread.start, threading.Thread.join = start, join  # type: ignore[method-assign]
