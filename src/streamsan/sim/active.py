"""The simulated device that calls of the bindings go to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamsan.sim.session import Session

_sessions: list[Session] = []


def session() -> Session:
    """Return the session in use. Raises RuntimeError when there is none."""
    if not _sessions:
        raise RuntimeError("no simulated device: use `streamsan sim SCRIPT.py` or `with streamsan.testing.device():`")
    return _sessions[-1]


def current() -> Session | None:
    """Return the session in use, None when there is none."""
    return _sessions[-1] if _sessions else None


def push(session: Session) -> None:
    """Make a session the one in use."""
    _sessions.append(session)


def pop(session: Session) -> None:
    """End the use of a session. The one before it is in use again."""
    _sessions.remove(session)
