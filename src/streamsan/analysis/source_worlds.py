"""One path through a source: as it was read, and with what the rules found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamsan.findings.finding import Finding

if TYPE_CHECKING:
    from streamsan.cuda_source.world import World
    from streamsan.cuda_syntax.tree import Unit


@dataclass(frozen=True, slots=True)
class ReadWorld:
    """A path as the reader took it."""

    world: World
    entry: str
    """where it begins, with the number of the configuration"""
    title: str
    """what reports call it"""
    unit: Unit
    """the tree of the source itself"""


@dataclass(frozen=True, slots=True)
class JudgedWorld:
    """A path that was held against the rules."""

    read: ReadWorld
    found: tuple[Finding, ...]
    """also those that say the same"""
    needed_waits: frozenset[tuple[int, int]]
    """site and API of each wait that brought something"""
