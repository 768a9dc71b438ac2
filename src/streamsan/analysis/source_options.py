"""How sources are read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from streamsan.analysis.source_roots import SourceRoots
from streamsan.cuda_syntax.compiler_options import CompilerOptions

Configurations = Callable[[str], Sequence[CompilerOptions]]
"""path of a source -> how it is compiled; in several ways where several programs are built of it, never in none"""


def plain(path: str) -> Sequence[CompilerOptions]:
    """Read a source as it stands, without options of a compiler."""
    return (CompilerOptions(),)


class AllAlike(Struct, frozen=True):
    """Read every source with the same options of a compiler."""

    compiler: CompilerOptions

    def __call__(self, path: str) -> Sequence[CompilerOptions]:
        """Return how a source is compiled."""
        return (self.compiler,)


class SourceOptions(Struct, frozen=True):
    """How sources are read, and where those of traces are."""

    configurations: Configurations = plain
    roots: SourceRoots = field(default_factory=SourceRoots)
    """where the sources are that traces name"""
    contents: Mapping[str, bytes] = field(default_factory=dict)
    """real path -> what to take a file for, in place of what is in it: edits that were not written, standard input"""
    partners: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """real path of a source -> the other sources of its program"""

    def program_of(self, path: str) -> tuple[str, ...]:
        """Return the sources of the program that a source stands for: mostly it alone."""
        return (path, *self.partners.get(os.path.realpath(path), ())) if self.partners else (path,)

    def compiled(self, paths: Sequence[str]) -> Iterator[list[tuple[Path, CompilerOptions]]]:
        """Yield the ways in which a program's sources are compiled; of a source with fewer ways, its last one again."""
        ways = [self.configurations(path) for path in paths]
        for number in range(max(map(len, ways))):
            yield [(Path(path), way[min(number, len(way) - 1)]) for path, way in zip(paths, ways, strict=True)]
