"""Forks of the program, and ends that Python does not see: each process of the family writes its part of the trace."""

from __future__ import annotations

import atexit
import functools
import multiprocessing
import os
from collections.abc import Callable
from typing import Any, NoReturn

from streamsan.sim import active
from streamsan.vocabulary import ExitKind

_exits: list[Callable[[int], NoReturn]] = []
"""os._exit as it was, once for each `watch`"""
_registered: list[int] = []
_watched: list[type] = []
"""multiprocessing's Connection, once it is watched"""


def watch() -> None:
    """Follow os.fork and os._exit from here on. May be nested; `unwatch` ends it."""
    if not _registered:
        _registered.append(os.getpid())
        os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)
        atexit.register(_at_exit)
    _exits.append(os._exit)
    if len(_exits) == 1:
        os._exit = _exit
    if multiprocessing.parent_process() is not None or getattr(multiprocessing.current_process(), "_inheriting", False):
        _watch_connections()


def unwatch() -> None:
    """End one `watch`."""
    original = _exits.pop()
    if not _exits:
        os._exit = original  # type: ignore[assignment]


def _exit(status: int) -> NoReturn:
    """End the process at once, as os._exit does; what it did is written first."""
    session = active.current()
    if session is not None:
        # A child that multiprocessing started ends so in the normal case. Any other has not come to its end.
        ended = multiprocessing.parent_process() is not None and not status
        session.end_process(None if ended else ExitKind.ABORTED)
    _exits[0](status)


def _at_exit() -> None:
    """End a forked child of a session that another process owns: it leaves by sys.exit or at its end."""
    session = active.current()
    if session is not None and session.is_forked:
        session.end_process()


def _before_fork() -> None:
    session = active.current()
    if session is not None:
        session.before_fork()


def _after_fork() -> None:
    session = active.current()
    if session is not None:
        session.after_fork()


def _in_child() -> None:
    session = active.current()
    if session is not None:
        session.become_child()
        _watch_connections()


def _watch_connections() -> None:
    """In a child: what it sends through a pipe or a queue of multiprocessing, it sends after its part is written."""
    from multiprocessing.connection import Connection  # only here: most programs have no use for it

    if Connection not in _watched:
        _watched.append(Connection)
        for name in ("send", "send_bytes"):
            setattr(Connection, name, _telling(getattr(Connection, name)))


def _telling(send: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(send)
    def watched(*arguments: Any, **named: Any) -> Any:
        session = active.current()
        if session is not None:
            session.before_telling()
        return send(*arguments, **named)

    return watched
