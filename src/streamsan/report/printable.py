"""Text of others on a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return text that cannot command a terminal: control, format and direction characters become U+FFFD."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\t" else _visible(c) for c in text)


def _visible(character: str) -> str:
    # Other kinds of space are not "printable" for Python, but they are blanks to a reader.
    return " " if character.isspace() and character not in "\n\r\v\f\x1c\x1d\x1e\x1f\x85\u2028\u2029" else "\ufffd"
