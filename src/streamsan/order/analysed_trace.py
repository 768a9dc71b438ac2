"""What the analysis asks of a trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from streamsan.trace.site import Site
from streamsan.trace.store import Slots
from streamsan.trace.trace import Thread


class AnalysedTrace(Protocol):
    """A trace (see `streamsan.trace.Trace`), or one that is edited in memory."""

    @property
    def origin(self) -> str:
        """How it came about: "source", "recording", ..."""

    @property
    def threads(self) -> Sequence[Thread]:
        """Host threads by index."""

    @property
    def apis(self) -> Sequence[str]:
        """API index to name."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What else its file says of it."""

    def site(self, number: int) -> Site:
        """Return the site with this number."""

    def chunks(self) -> Iterable[Slots]:
        """Slots in global sequence order; a slot is never cut from its continuations."""
