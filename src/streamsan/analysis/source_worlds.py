"""One path through a source: as it was read, and with what the rules found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from streamsan.findings.finding import Finding

if TYPE_CHECKING:
    from streamsan.cuda_source.world import World
    from streamsan.cuda_syntax.tree import Unit


class ReadWorld(Struct, frozen=True):
    """A path as the reader took it."""

    world: World
    entry: str
    """where it begins, with the number of the configuration"""
    title: str
    """what reports call it"""
    unit: Unit
    """the tree of the source itself"""


class JudgedWorld(Struct, frozen=True):
    """A path that was held against the rules."""

    read: ReadWorld
    found: tuple[Finding, ...]
    """also those that say the same"""
    needed_waits: frozenset[tuple[int, int]]
    """site and API of each wait that brought something"""
