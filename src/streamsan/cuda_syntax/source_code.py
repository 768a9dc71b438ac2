"""Text of a file, and the code handed to the grammar, with a way back from the one to the other."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct, field
from tree_sitter import Node

from streamsan.cuda_syntax.file_content import content_of, decode
from streamsan.cuda_syntax.files_seen import FilesSeen
from streamsan.cuda_syntax.tree import Span
from streamsan.patterns.late_pattern import late_pattern

_NON_ASCII = late_pattern(r"[^\x00-\x7f]")


class SourceFile:
    """The text of one file; newlines are `\\n`, a byte order mark is dropped, NUL bytes are spaces."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self._starts: list[int] | None = None

    @property
    def line_starts(self) -> list[int]:
        """Offset of the first character of each line."""
        if self._starts is None:
            self._starts = [0, *(m.end() for m in re.finditer("\n", self.text))]
        return self._starts

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, from 1, of a character offset."""
        starts = self.line_starts
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def span(self, start: int, end: int) -> Span:
        """The span of a range of offsets."""
        return Span(self.name, *self.place(start), *self.place(end))


def read_source(
    path: Path, contents: Mapping[str, bytes] = MappingProxyType({}), seen: FilesSeen | None = None
) -> tuple[SourceFile, list[str]]:
    """Reads a file, or takes what `contents` says is in it, by its real path, and notes in `seen` what was in it.

    Raises OSError if it cannot be read.
    """
    given = contents.get(os.path.realpath(path)) if contents else None
    data = content_of(path) if given is None else given
    if seen is not None:
        seen.read(str(path), data)
    text, complaints = decode(data)
    return SourceFile(str(path), text), complaints


def _ascii_stand_in(match: re.Match[str]) -> str:
    character = match[0]
    if character.isidentifier() or ("a" + character).isidentifier():
        return "u"
    return " " if character.isspace() or not character.isprintable() else "?"


def to_ascii(text: str) -> str:
    """One ASCII character for each character, so that byte offsets in the grammar are character offsets."""
    return text if text.isascii() else _NON_ASCII.sub(_ascii_stand_in, text)


class Code(Struct):
    """Text for the grammar: a whole file, or pieces of one with other text between them.

    `shown[i]` is the character that the byte `data[i]` stands for. `starts[k]`..`starts[k + 1]` in `data` is the piece
    that begins at `origins[k]` in the file; a piece with `fixed[k]` is inserted text, all of it at that one place:
    from there to `ends[k]`, which is further on where the text stands for some other.
    """

    source: SourceFile
    shown: str
    data: bytes
    starts: list[int] = field(default_factory=list)
    origins: list[int] = field(default_factory=list)
    fixed: list[bool] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    @classmethod
    def whole(cls, source: SourceFile, text: str) -> Code:
        """The file's own text, blanked here and there, every character at its own offset."""
        return cls(source, text, to_ascii(text).encode("ascii"))

    @classmethod
    def pieces(cls, source: SourceFile, parts: list[tuple[int, str, bool]]) -> Code:
        """Text made of (offset in the file, text, inserted) parts."""
        starts, origins, fixed = [], [], []
        at = 0
        for origin, text, inserted in parts:
            starts.append(at)
            origins.append(origin)
            fixed.append(inserted)
            at += len(text)
        shown = "".join(text for _, text, _ in parts)
        return cls(source, shown, to_ascii(shown).encode("ascii"), starts, origins, fixed, list(origins))

    @property
    def ascii(self) -> str:
        """What the grammar gets, as text: offsets are those of `data`."""
        return self.data.decode("ascii")

    def cut(self, parts: list[tuple[int, int, str | None]]) -> Code:
        """Other code made of parts of this one: (start, end, None) is kept, (start, end, text) put in its place."""
        shown: list[str] = []
        data: list[bytes] = []
        starts: list[int] = []
        origins: list[int] = []
        fixed: list[bool] = []
        ends: list[int] = []
        at = 0
        for start, end, text in parts:
            if text is not None:
                starts.append(at)
                origins.append(self.origin(start))
                fixed.append(True)
                ends.append(self._after(end - 1) if end > start else self._end_of_place(start))
                shown.append(text)
                data.append(to_ascii(text).encode("ascii"))
                at += len(text)
                continue
            shown.append(self.shown[start:end])
            data.append(self.data[start:end])
            piece = bisect_right(self.starts, start) - 1 if self.starts else -1
            here = start
            while here < end:
                following = self.starts[piece + 1] if 0 <= piece < len(self.starts) - 1 else end
                starts.append(at + here - start)
                origins.append(self.origin(here))
                fixed.append(self.fixed[piece] if piece >= 0 else False)
                ends.append(self.ends[piece] if piece >= 0 else 0)
                here = min(end, following)
                piece += 1
            at += end - start
        if not starts:
            starts, origins, fixed, ends = [0], [0], [True], [0]
        return Code(self.source, "".join(shown), b"".join(data), starts, origins, fixed, ends)

    def same_length(self, data: bytes) -> Code:
        """The same code with other bytes for the grammar, character for character."""
        return Code(self.source, self.shown, data, self.starts, self.origins, self.fixed, self.ends)

    def origin(self, offset: int) -> int:
        """The offset in the file of an offset in the code."""
        if not self.starts:
            return offset
        piece = bisect_right(self.starts, offset) - 1
        return self.origins[piece] + (0 if self.fixed[piece] else offset - self.starts[piece])

    def span(self, node: Node) -> Span:
        """Where a node of the parsed code is in the file."""
        if not self.starts:
            line, column = node.start_point
            end_line, end_column = node.end_point
            return Span(self.source.name, line + 1, column + 1, end_line + 1, end_column + 1)
        return self.span_of(node.start_byte, node.end_byte)

    def span_of(self, start: int, end: int) -> Span:
        """Where a range of the code is in the file."""
        first = self.origin(start)
        last = self._after(end - 1) if end > start else first
        return self.source.span(first, max(first, last))

    def _after(self, offset: int) -> int:
        """The offset in the file just after a character of the code, or after what inserted text stands for."""
        if not self.starts:
            return offset + 1
        piece = bisect_right(self.starts, offset) - 1
        return self.ends[piece] if self.fixed[piece] else self.origins[piece] + offset - self.starts[piece] + 1

    def _end_of_place(self, offset: int) -> int:
        """The offset in the file where the place of an offset in the code ends: for all of an inserted text one."""
        if not self.starts:
            return offset
        piece = bisect_right(self.starts, offset) - 1
        return self.ends[piece] if self.fixed[piece] else self.origin(offset)

    def text(self, node: Node) -> str:
        """The text of a node."""
        return self.shown[node.start_byte : node.end_byte]
