"""Patterns of paths: `*` and `?` within a folder, `**` over folders. A relative pattern matches from any folder on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase


def path_matches(pattern: str, path: str) -> bool:
    """Tell whether a path, as reported or as absolute path, matches a pattern. Takes at most their lengths' product."""
    parts = [part for part in pattern.removeprefix("./").split("/") if part]
    if not pattern.startswith("/"):
        parts.insert(0, "**")
    return _all_match(parts, os.path.abspath(path).replace(os.sep, "/").split("/")[1:])


def _all_match(parts: Sequence[str], folders: Sequence[str]) -> bool:
    """Match parts of a pattern against parts of a path. Only the last `**` is ever tried again: it can take up all
    that an earlier one could, so that no pattern takes long, whoever wrote it."""
    part = folder = 0
    last, taken = -1, 0
    while folder < len(folders):
        if part < len(parts) and parts[part] == "**":
            last, taken = part, folder
            part += 1
        elif part < len(parts) and _matches(parts[part], folders[folder]):
            part += 1
            folder += 1
        elif last >= 0:
            taken += 1
            part, folder = last + 1, taken
        else:
            return False
    return all(rest == "**" for rest in parts[part:])


def _matches(part: str, name: str) -> bool:
    # fnmatch takes no pattern back that it matched, and knows classes of characters, which paths do not have here.
    return fnmatchcase(name, part.replace("[", "[[]"))
