"""Texts in place of files: a program runs with edits of its modules that were not written."""

from __future__ import annotations

import _io
import io
import json
import linecache
import os
from collections.abc import Callable, Mapping
from importlib.machinery import SourceFileLoader
from multiprocessing import spawn
from pathlib import Path
from typing import Any, BinaryIO

CONTENTS = "contents.json"
"""a file of this name in the folder of a run: real path of a module -> its bytes, as Latin-1"""

_texts: dict[str, bytes] = {}
"""real path -> what the program gets in place of the file"""
_installed: list[bool] = []


def give(folder: str, contents: Mapping[str, bytes]) -> None:
    """Let the program that is run with this folder get these bytes in place of its modules' files."""
    packed = {path: data.decode("latin-1") for path, data in contents.items()}
    Path(folder, CONTENTS).write_text(json.dumps(packed), encoding="utf-8")


def install(folder: str) -> bool:
    """Take the texts of a folder from here on, in imports, `runpy` and tracebacks. Returns whether it has any file."""
    try:
        packed = json.loads(Path(folder, CONTENTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    _texts.update((path, text.encode("latin-1")) for path, text in packed.items())
    if _texts and not _installed:
        _installed.append(True)
        _watch()
        _watch_spawn(folder)
    return True


def _text_of(path: object) -> bytes | None:
    if not isinstance(path, str | os.PathLike):
        return None
    return _texts.get(os.path.realpath(os.fsdecode(path)))


def _watch() -> None:
    """Come in where Python reads code: `open_code` is what imports and runpy read it with."""
    opened = io.open_code
    stats, update = SourceFileLoader.path_stats, linecache.updatecache

    def open_code(path: str) -> Any:
        text = _text_of(path)
        return opened(path) if text is None else io.BytesIO(text)

    def path_stats(self: SourceFileLoader, path: str) -> Mapping[str, Any]:
        # Without the times of a file, what was compiled of it before is neither taken nor written.
        if _text_of(path) is not None:
            raise OSError("edited in memory")
        return stats(self, path)

    def updatecache(filename: str, module_globals: dict[str, Any] | None = None) -> list[str]:
        text = _text_of(filename)
        if text is None:
            return update(filename, module_globals)
        lines = _lines(text)
        linecache.cache[filename] = (len(text), None, lines, filename)
        return lines

    _set(io, "open_code", open_code)
    _set(_io, "open_code", open_code)
    _set(SourceFileLoader, "path_stats", path_stats)
    _set(linecache, "updatecache", updatecache)


def _watch_spawn(folder: str) -> None:
    """Let processes that multiprocessing starts anew have the texts before they run the program's main module."""
    first = f"from streamsan.sim.overlay import install; install({folder!r}); "
    command_line = spawn.get_command_line

    def get_command_line(**named: Any) -> list[str]:
        command = list(command_line(**named))
        if "-c" in command:
            code = command.index("-c") + 1
            command[code] = first + command[code]
        return command

    _set(spawn, "get_command_line", get_command_line)


def _set(owner: object, name: str, value: Callable[..., Any]) -> None:
    setattr(owner, name, value)


def _lines(data: bytes) -> list[str]:
    import tokenize

    source: BinaryIO = io.BytesIO(data)
    try:
        encoding, _ = tokenize.detect_encoding(source.readline)
        lines = io.TextIOWrapper(io.BytesIO(data), encoding, line_buffering=True).readlines()
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return []
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return lines
