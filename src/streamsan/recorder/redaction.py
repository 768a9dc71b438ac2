"""What `--redact` leaves out of the texts of a recording: folders, and the names of user and host."""

from __future__ import annotations

import os
import pwd
import re
import socket
from collections.abc import Iterable, Mapping

from streamsan.trace.own_code import is_own_module, is_own_source

REMOVED = "*"
"""stands for a name of a user or a host"""
COMMON_NAMES = frozenset(
    {"root", "main", "user", "users", "admin", "test", "cuda", "gpu", "python", "ubuntu", "localhost", "nobody"}
)
"""names of accounts and machines that identify nobody, and that code has too"""
SHORTEST_NAME = 3
_PART = r"""[^/\s"'`<>|:;,()\[\]{}]+/"""
_INSTALLED_SOURCES = ("bits/", "/usr/lib/")
_INSTALLED_MODULES = ("/lib/",)


class Redaction:
    """Changes texts; the same path is the same everywhere, in all files of a run."""

    def __init__(self, names: Iterable[str], folders: Iterable[str]) -> None:
        """`names` of users and hosts; `folders` that are taken off also where a text around them has blanks."""
        words = sorted({name for name in names if _identifies(name)}, key=len, reverse=True)
        pattern = "|".join(map(re.escape, words))
        self._names = re.compile(rf"(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])", re.IGNORECASE) if words else None
        known = sorted({folder.rstrip("/") for folder in folders if folder.strip("/")}, reverse=True)
        begins = "".join(f"{re.escape(folder)}/|" for folder in known)
        self._folders = re.compile(rf"(?<![\w/.*~-])(?:{begins}~?/{_PART})(?:{_PART})*")
        self._paths: dict[str, str] = {}
        self._taken: set[str] = set()

    def text(self, text: str) -> str:
        """Return a text, or the path of a source, without what identifies people and machines."""
        if text.startswith("/"):
            return self._path(text, _source(text))
        return self._nameless(self._folders.sub("", text))

    def module(self, path: str) -> str:
        """Return the path of an executable or a library without its folder."""
        return self._path(path, _module(path)) if path.startswith("/") else self.text(path)

    def _nameless(self, text: str) -> str:
        return text if self._names is None else self._names.sub(REMOVED, text)

    def _path(self, path: str, shown: str) -> str:
        if path not in self._paths:
            shown = self._nameless(shown)
            stem, suffix = os.path.splitext(shown)
            number = 1
            # Two files of one name stay two: findings tell places apart by them.
            while shown in self._taken:
                number += 1
                shown = f"{stem}~{number}{suffix}"
            self._taken.add(shown)
            self._paths[path] = shown
        return self._paths[path]


def _identifies(name: str) -> bool:
    return len(name) >= SHORTEST_NAME and name.lower() not in COMMON_NAMES


def _last_part(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _source(path: str) -> str:
    """Return a source's last part, behind a folder that says that it is installed where that would be lost."""
    name = _last_part(path)
    own = is_own_source(path)
    return next(
        (f"{place}{name}" for place in ("", *_INSTALLED_SOURCES) if is_own_source(f"{place}{name}") == own), name
    )


def _module(path: str) -> str:
    name = _last_part(path)
    own = is_own_module(path)
    return next(
        (f"{place}{name}" for place in ("", *_INSTALLED_MODULES) if is_own_module(f"{place}{name}") == own), name
    )


def redaction_of_this_run(environment: Mapping[bytes, bytes], folders: Iterable[str]) -> Redaction:
    """Return a redaction that knows this user and this host; `folders` are those of the program and its output."""
    names = [os.fsdecode(environment.get(key, b"")) for key in (b"USER", b"LOGNAME", b"SUDO_USER", b"USERNAME")]
    homes = [os.fsdecode(environment.get(b"HOME", b""))]
    try:
        account = pwd.getpwuid(os.getuid())
    except KeyError:
        pass
    else:
        names += [account.pw_name, account.pw_gecos.partition(",")[0]]
        homes.append(account.pw_dir)
    host = socket.gethostname()
    names += [host, host.partition(".")[0]]
    return Redaction(names, [*homes, os.getcwd(), *folders])
