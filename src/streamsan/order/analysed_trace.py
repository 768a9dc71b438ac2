"""What the analysis asks of a trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from streamsan.trace.site import Site
from streamsan.trace.source_lines import SourceLines
from streamsan.trace.trace import Thread

if TYPE_CHECKING:
    from streamsan.trace.packed_slots import Packed
    from streamsan.trace.store import Slots


class AnalysedTrace(Protocol):
    """A trace (see `streamsan.trace.Trace`), or one that is edited in memory."""

    @property
    def origin(self) -> str:
        """How it came about: "source", "recording", ..."""

    @property
    def platform(self) -> str:
        """Whose API it is about: "cuda", "opencl"."""

    @property
    def threads(self) -> Sequence[Thread]:
        """Host threads by index."""

    @property
    def apis(self) -> Sequence[str]:
        """API index to name."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What else its file says of it."""

    @property
    def source_lines(self) -> SourceLines:
        """Lines of sources that a recording carries."""

    @property
    def judged_from(self) -> int:
        """Number of the first operation that is judged; those before it are the past. 0: all are."""

    def site(self, number: int) -> Site:
        """Return the site with this number."""

    def library_of(self, number: int) -> str:
        """Return the installed library that made the call of this site by itself, "" where none did."""

    def library_call(self, number: int) -> Site:
        """Return the frame of a Python library that the program's line called; a site with no file: no such."""

    def chunks(self) -> Iterable[Slots]:
        """Slots in global sequence order; a slot is never cut from its continuations."""

    def packed(self) -> Iterable[Packed]:
        """The same as bytes."""
