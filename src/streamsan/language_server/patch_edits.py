"""From a patch (a unified diff of `streamsan check --diff`) to edits of the text that it is for."""

from __future__ import annotations

import re

from msgspec import Struct, field

from streamsan.findings.finding import Edit

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")


def edits_of_patch(patch: bytes, file: str, text: str) -> list[Edit]:
    """Return the edits of a file's whole lines. A patch of several files gives none: it is right as a whole only.

    Lines of a patch end with a newline only: a text in which a carriage return alone ends a line counts other lines,
    and gets no edits either.
    """
    if re.search(r"\r(?!\n)", text):
        return []
    reader = _Reader(file, text)
    for line in patch.split(b"\n"):
        reader.take(line)
    reader.flush()
    return reader.edits if reader.files == 1 else []


class _Reader(Struct):
    """Reads a patch line by line. Lines that go, and those that come in their place, wait until a line that stays."""

    file: str
    text: str
    edits: list[Edit] = field(default_factory=list)
    files: int = 0
    old_left: int = 0
    new_left: int = 0
    """lines of the hunk that are still to come, of the old text and of the new one"""
    line: int = 0
    """the next line of the old text"""
    gone: int = 0
    come: list[bytes] = field(default_factory=list)

    def take(self, line: bytes) -> None:
        """Read one line."""
        if line.startswith(b"\\"):  # no newline at the end of the line before
            if self.come:
                self.come[-1] = self.come[-1].removesuffix(b"\n")
        elif self.old_left or self.new_left:
            self._take_of_hunk(line)
        elif match := _HUNK.match(line):
            self.flush()
            self.old_left = int(match[2] or 1)
            self.new_left = int(match[3] or 1)
            # A hunk without old lines stands behind the line that it names.
            self.line = int(match[1]) + (self.old_left == 0)
        elif line.startswith(b"--- "):
            self.files += 1

    def _take_of_hunk(self, line: bytes) -> None:
        if line.startswith(b"-"):
            self.gone += 1
            self.old_left -= 1
        elif line.startswith(b"+"):
            self.come.append(line[1:] + b"\n")
            self.new_left -= 1
        else:
            self.flush()
            self.line += 1
            self.old_left -= 1
            self.new_left -= 1

    def flush(self) -> None:
        """Make an edit of what waits."""
        if not self.gone and not self.come:
            return
        end_line, end_column = self.line + self.gone, 1
        if end_line > self.text.count("\n") + 1:  # the last line has no newline
            end_line, end_column = end_line - 1, len(self.text.rpartition("\n")[2]) + 1
        new = b"".join(self.come).decode("utf-8", "surrogateescape")
        self.edits.append(Edit(self.file, self.line, 1, end_line, end_column, new))
        self.line += self.gone
        self.gone = 0
        self.come.clear()
