"""What a compiler is told about a source, as far as it decides which text the source is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from msgspec import Struct

COMMAND_LINE = "<command-line>"
"""the file that macros of options stand in, as compilers call it"""


class CompilerOptions(Struct, frozen=True):
    """Macros, folders and files of a compiler's command line. Two that are equal read a source alike."""

    macros: tuple[tuple[str, str | None], ...] = ()
    """`-D` and `-U` in their order: a name, with its parameters if it has some, and its text; None takes it away"""
    quote_dirs: tuple[Path, ...] = ()
    """`-iquote`: for `#include "name"` only"""
    include_dirs: tuple[Path, ...] = ()
    """`-I`"""
    system_dirs: tuple[Path, ...] = ()
    """`-isystem`: searched last; what stands there is not the user's to mend"""
    forced_includes: tuple[str, ...] = ()
    """`-include`: read before the source; sought in the current folder first"""

    @classmethod
    def of(cls, defines: Mapping[str, str], include_dirs: Sequence[Path] = ()) -> Self:
        """Make them from macros that are defined, and folders of `-I`."""
        return cls(tuple(defines.items()), include_dirs=tuple(include_dirs))

    @property
    def undefined(self) -> frozenset[str]:
        """Names that are no macros in the end, whether a compiler defines them by itself or not."""
        return frozenset(name for name, text in self._last.items() if text is None)

    @property
    def directives(self) -> str:
        """The macros that are left in the end, as text of a source."""
        lines = (f"#define {self._written[name]} {text}" for name, text in self._last.items() if text is not None)
        return "".join(" ".join(line.split("\n")) + "\n" for line in lines)

    @property
    def _last(self) -> dict[str, str | None]:
        """The last word on each name."""
        return {_bare(name): text for name, text in self.macros}

    @property
    def _written(self) -> dict[str, str]:
        return {_bare(name): name for name, _ in self.macros}


def _bare(name: str) -> str:
    return name.partition("(")[0].strip()
