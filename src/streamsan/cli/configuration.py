"""`streamsan.toml`, or `[tool.streamsan]` of `pyproject.toml`: options that a project gives once.

The nearest file from the current folder upwards counts. An option of the command line takes the place of the file's.
Folders and files stand relative to the file, and may not lie outside its folder: who checks a repository of somebody
else has not chosen what its file names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from streamsan.analysis.checked import reason_of
from streamsan.report.printable import printable

OWN_FILE = "streamsan.toml"
SHARED_FILE = "pyproject.toml"
LARGEST = 1 << 20
"""bytes of a file of options"""


class _Key(Struct, frozen=True):
    """One key: which parameter of which verbs it gives, and how its value is read."""

    parameter: str
    read: Callable[[Path, str, Any], Any]
    verbs: tuple[str, ...] = ("check", "run", "sim")


def options(file: str | None = None) -> dict[str, dict[str, Any]]:
    """Return default values by verb and parameter, of a file or of the nearest one. Raises click.UsageError."""
    path, table = _load(Path(file)) if file is not None else _nearest()
    result: dict[str, dict[str, Any]] = {"check": {}, "run": {}, "sim": {}}
    for name, value in table.items():
        key = _KEYS.get(name)
        if key is None:
            raise _refused(path, f"unknown key `{name}`; known are {', '.join(_KEYS)}")
        read = key.read(path, name, value)
        for verb in key.verbs:
            result[verb][key.parameter] = read
    return result


def _nearest() -> tuple[Path, Mapping[str, Any]]:
    try:
        here = Path.cwd()
    except OSError:  # the current folder is gone
        return Path(), {}
    for folder in (here, *here.parents):
        for name in (OWN_FILE, SHARED_FILE):
            if (folder / name).is_file():
                path, table = _load(folder / name)
                if table or name == OWN_FILE:
                    return path, table
    return Path(), {}


def _load(path: Path) -> tuple[Path, Mapping[str, Any]]:
    """Return a file of options, and what it says. Raises click.UsageError."""
    # Imported late: most projects have no such file.
    import tomllib

    try:
        if path.stat().st_size > LARGEST:
            raise _refused(path, "too large for a file of options")
        document: Any = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _refused(path, reason_of(error)) from error
    except (ValueError, RecursionError) as error:
        raise _refused(path, f"not TOML: {error}") from error
    if path.name != OWN_FILE:
        tool = document.get("tool", {})
        document = tool.get("streamsan", {}) if isinstance(tool, Mapping) else {}
    if not isinstance(document, Mapping):
        raise _refused(path, "`tool.streamsan` is no table")
    return path, document


def _refused(path: Path, reason: str) -> click.UsageError:
    return click.UsageError(printable(f"{os.path.relpath(path)}: {reason}"))


def _words(path: Path, name: str, value: Any) -> Sequence[str]:
    """Return a list of strings; one string is a list of it."""
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise _refused(path, f"`{name}` is no list of strings")
    return words


def _flag(path: Path, name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _refused(path, f"`{name}` is neither true nor false")
    return value


def _opposite(path: Path, name: str, value: Any) -> bool:
    """Return the value of an option that the key takes away."""
    return not _flag(path, name, value)


def _roots(path: Path, name: str, value: Any) -> list[str]:
    """Return `OLD=NEW` and folders; OLD is a folder of another machine."""
    roots = []
    for word in _words(path, name, value):
        old, equals, new = word.rpartition("=")
        roots.append(old + equals + _place(path, name, new))
    return roots


def _places(path: Path, name: str, value: Any) -> list[str]:
    """Return files and folders below the file's own folder, as seen from the current one."""
    folder = os.path.realpath(path.parent)
    places = []
    for word in _words(path, name, value):
        real = os.path.realpath(os.path.join(folder, word))
        if real != folder and not real.startswith(folder.rstrip("/") + "/"):
            raise _refused(path, f"`{name}` names {word}, which lies outside the file's folder")
        places.append(os.path.relpath(os.path.join(path.parent, word)))
    return places


def _place(path: Path, name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _refused(path, f"`{name}` is no string")
    return _places(path, name, [value])[0]


def _pairs(path: Path, name: str, value: Any) -> list[str]:
    """Return a table of words or lists of words as the command line writes it: `key=word,word`."""
    if not isinstance(value, Mapping):
        raise _refused(path, f"`{name}` is no table")
    return [f"{key}={','.join(_words(path, f'{name}.{key}', words))}" for key, words in value.items()]


def _macros(path: Path, name: str, value: Any) -> list[str]:
    """Return macros as `-D` gives them: a list of `NAME=VALUE`, or a table of them."""
    if not isinstance(value, Mapping):
        return list(_words(path, name, value))
    if not all(isinstance(text, str | int) for text in value.values()):
        raise _refused(path, f"`{name}`: a macro's value is a string or a number")
    return [f"{macro}={int(text) if isinstance(text, bool) else text}" for macro, text in value.items()]


_KEYS = {
    "paths": _Key("paths", _places, ("check",)),
    "exclude": _Key("exclude", _words, ("check",)),
    "compile-commands": _Key("compile_commands", _place, ("check",)),
    "include-dirs": _Key("include_dirs", _places, ("check",)),
    "system-include-dirs": _Key("system_dirs", _places, ("check",)),
    "quote-include-dirs": _Key("quote_dirs", _places, ("check",)),
    "forced-includes": _Key("forced_includes", _places, ("check",)),
    "define": _Key("defines", _macros, ("check",)),
    "undefine": _Key("undefines", _words, ("check",)),
    "source-root": _Key("source_roots", _roots, ("check",)),
    "select": _Key("select", _words),
    "ignore": _Key("ignore", _words),
    "per-path-ignores": _Key("per_path_ignores", _pairs),
    "severity": _Key("severity", _pairs),
    "notes": _Key("notes", _flag),
    "strict": _Key("strict", _flag),
    "no-fixes": _Key("fixes", _opposite),
    "suppressions": _Key("suppressions", _places),
    "baseline": _Key("baseline", _place),
}
