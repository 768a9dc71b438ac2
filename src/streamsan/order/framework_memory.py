"""Memory that a framework keeps for itself until the process ends: its caches of pinned memory, workspaces."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from streamsan.order.facts import Fact
from streamsan.patterns.late_pattern import late_pattern
from streamsan.trace.own_code import is_own_source
from streamsan.trace.site import Site
from streamsan.trace.source_lines import SourceLines
from streamsan.vocabulary import FactVariant, MemoryKind, RuleCode

PYTORCH = "PyTorch"
_TELLS = "CUDACachingAllocator::"
"""begins what PyTorch's allocator of device memory says of its blocks"""
_ALLOCATES = late_pattern(r"alloc|register|import|open", re.IGNORECASE)
"""in a line of Python that asks for memory of CUDA itself"""


class NamedPlaces(Protocol):
    """What a trace knows of places and calls by name."""

    @property
    def origin(self) -> str:
        """How it came about: "source", "recording", ..."""

    @property
    def apis(self) -> Sequence[str]:
        """API index to name."""

    @property
    def source_lines(self) -> SourceLines:
        """Lines of sources that a recording carries."""

    def site(self, number: int) -> Site:
        """Return the site with this number."""

    def library_of(self, number: int) -> str:
        """Return the installed library that made the call of this site by itself, "" where none did."""


def keeper_of(trace: NamedPlaces, fact: Fact) -> str:
    """Return the framework that keeps what a fact says was never freed, "" where it is the program's own.

    In a program that uses PyTorch it is what lines of Python got that do not ask for memory of CUDA: pinned memory,
    which PyTorch never gives back, and workspaces of the libraries that it uses.
    """
    made = fact.allocation
    if fact.code is not RuleCode.LEAK or fact.variant is not FactVariant.LEAK_AT_EXIT or made is None:
        return ""
    if made.kind not in (MemoryKind.PLAIN, MemoryKind.PINNED) or trace.origin != "recording":
        return ""
    site = trace.site(made.site)
    if not any(api.startswith(_TELLS) for api in trace.apis):
        return ""
    if not site.file or not is_own_source(site.file) or trace.library_of(made.site):
        return PYTORCH  # the call was made by a thread of its own, or in a module of it
    text = trace.source_lines.get(site.file, {}).get(site.line, "")
    return PYTORCH if site.file.endswith(".py") and text and not _ALLOCATES.search(text) else ""
