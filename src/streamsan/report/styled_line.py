"""A line of a report, with the styles of its parts. What paints it is loaded only for a terminal, or on demand."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import IO, Self

from msgspec import Struct, field

Part = str | tuple[str, str]
"""words, or words and their style ("bold red")"""


class StyledLine(Struct):
    """Words, each with a style, "" for none."""

    parts: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def of(cls, *parts: Part) -> Self:
        """Return a line of parts that follow each other."""
        return cls([(part, "") if isinstance(part, str) else part for part in parts])

    def append(self, words: str, style: str = "") -> None:
        """Add words at the end."""
        self.parts.append((words, style))

    @property
    def plain(self) -> str:
        """The words alone."""
        return "".join(words for words, _ in self.parts)


def painted(stream: IO[str], lines_for: Callable[[int | None], Iterable[StyledLine]]) -> str:
    """Return lines as text for a stream; `lines_for` takes the width of a terminal, None where there is none."""
    terminal = stream.isatty()
    # These are about what a person looks at in the end, a log for example, not about files.
    asked = any(os.environ.get(name) for name in ("FORCE_COLOR", "TTY_COMPATIBLE")) and _has_descriptor(stream)
    if not terminal and not asked:
        return "".join(f"{line.plain}\n" for line in lines_for(None))
    # Loaded late, for the time that it takes: mostly a report goes to a program, or to a file.
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    with console.capture() as capture:
        for line in lines_for(console.width if terminal else None):
            text = Text.assemble(*line.parts)
            console.print(text, no_wrap=True, overflow="ignore", crop=False, soft_wrap=True)
    return capture.get()


def cells(words: str) -> int:
    """Return how many columns of a terminal words take."""
    if words.isascii():
        return len(words)
    # Loaded late: nearly all sources are ASCII.
    from rich.cells import cell_len

    return cell_len(words)


def cut(words: str, columns: int) -> str:
    """Return as much of words as takes so many columns, filled up with spaces."""
    if words.isascii():
        return words[:columns].ljust(columns)
    from rich.cells import set_cell_size

    return set_cell_size(words, columns)


def _has_descriptor(stream: IO[str]) -> bool:
    try:
        stream.fileno()
    except (OSError, ValueError):
        return False
    return True
