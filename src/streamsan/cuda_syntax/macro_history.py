"""Which definition of a macro is in force where: the directives of a unit in order."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

from msgspec import Struct

from streamsan.cuda_syntax.preprocess import MacroText, PreprocessedFile


class MacrosInForce(Struct, frozen=True, dict=True):
    """The macros of a unit as they are at a place of one of its files."""

    history: dict[str, list[tuple[int, MacroText | None]]]
    file: PreprocessedFile

    @cached_property
    def offsets(self) -> list[int]:
        """Where in the file the directives are, in order."""
        return [offset for offset, _ in self.file.moments]

    def at(self, name: str, offset: int) -> MacroText | None:
        """Return the definition of a name at an offset of the file; None where it is no macro."""
        changes = self.history.get(name)
        if not changes:
            return None
        moment = self.file.moments[max(0, bisect_right(self.offsets, offset) - 1)][1]
        return next((text for change, text in reversed(changes) if change <= moment), None)
