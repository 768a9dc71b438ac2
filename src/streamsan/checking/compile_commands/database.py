"""The entries of a `compile_commands.json`."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from streamsan.checking.compile_commands.bounded_text import bounded_text, words_of

NAME = "compile_commands.json"
LARGEST = 256 << 20
"""bytes of a file of entries"""


class Entry(Struct, frozen=True, dict=True):
    """One source, compiled in one way."""

    number: int
    """from 1, as messages count"""
    folder: str
    """where the compiler runs"""
    file: str
    """the source, as a person here would name it"""
    command: str | tuple[str, ...]

    @property
    def suffix(self) -> str:
        """What the source's name ends in, in small letters."""
        return Path(self.file).suffix.lower()

    @cached_property
    def real(self) -> str:
        """The source's real path."""
        return os.path.realpath(self.file)

    def words(self) -> Sequence[str]:
        """Return the command line. Raises ValueError where it is none: a quotation that nothing closes."""
        if isinstance(self.command, tuple):
            return self.command
        try:
            return words_of(self.command)
        except ValueError as error:
            raise ValueError(f"`command`: {str(error)[:1].lower()}{str(error)[1:]}") from error


def read_entries(path: str) -> list[Entry]:
    """Return the entries of a file. Raises ValueError with what is wrong with it."""
    try:
        document: Any = json.loads(bounded_text(path, LARGEST))
    except RecursionError as error:
        raise ValueError("not JSON: nested too deeply") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(document, list):
        raise ValueError("no list of entries")
    return [_entry(number, each) for number, each in enumerate(document, 1)]


def shown_path(folder: str, name: str) -> str:
    """Return a path of a compiler that ran in a folder as a person here would name it: below this folder, or whole."""
    return _shown_path(folder, name, os.path.abspath(os.curdir))


@lru_cache(maxsize=65536)
def _shown_path(folder: str, name: str, here: str) -> str:
    path = os.path.join(here, folder, name)
    short = os.path.normpath(path)
    if os.pardir in path and os.path.realpath(short) != os.path.realpath(path):  # `..` behind a link
        return path
    return os.path.relpath(short, here) if f"{short}/".startswith(here.rstrip("/") + "/") else short


def _entry(number: int, value: Any) -> Entry:
    if not isinstance(value, dict):
        raise ValueError(f"entry {number}: no object")
    folder, file = (_text(number, value, key) for key in ("directory", "file"))
    command: str | tuple[str, ...]
    if "arguments" in value:
        words = value["arguments"]
        if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
            raise ValueError(f"entry {number}: `arguments` is no list of strings")
        command = tuple(words)
    else:
        command = _text(number, value, "command")
    return Entry(number, folder, shown_path(folder, file), command)


def _text(number: int, value: dict[str, Any], key: str) -> str:
    text = value.get(key)
    if not isinstance(text, str) or not text or "\0" in text:
        raise ValueError(f"entry {number}: `{key}` is " + ("no text" if key in value else "missing"))
    return text
