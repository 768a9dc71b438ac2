"""Reads the rows of the effects table. A section of a file, and a row, is parsed when it is first asked for."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

from streamsan.effects.api import Api, Domain
from streamsan.effects.roles import Effect
from streamsan.effects.signature import TableError, parse_signature
from streamsan.patterns.late_pattern import late_pattern
from streamsan.vocabulary import FreeClass, MemoryKind

_SPELLING = late_pattern(r"(_v\d+)?(_pt(?:sz|ds))?$")
_SECTION = late_pattern(r"^(?=\[\[)", re.MULTILINE)
_KEY = late_pattern(r"^(\w+) =", re.MULTILINE)
"""what stands in lines of their own: a file of the table has no quoted keys, and longer texts are indented"""
_SETTINGS = frozenset({"memory", "free", "wait", "direction", "statuses", "returns", "since", "until"})
"""keys of a section that hold for all its rows; every other key is an API"""


class _Section:
    """Rows with one effect. Few sources use many of them, and TOML takes long to parse."""

    def __init__(self, family: str, text: str) -> None:
        self.family = family
        self._text = text

    @cached_property
    def content(self) -> tuple[str, Mapping[str, Any]]:
        """The effect, and what stands below it."""
        ((effect, (section,)),) = tomllib.loads(self._text).items()
        return effect, section


class Effects:
    """The table, looked up by API name."""

    def __init__(self, folder: Path, domain: Callable[[str], Domain]) -> None:
        self._domain = domain
        self._rows: dict[str, _Section] = {}
        self._known: dict[str, Api | None] = {}
        """spelling -> the API; None: it is none, as most names in a source"""
        for path in sorted(folder.glob("*.toml")):
            self._read(path)

    def _read(self, path: Path) -> None:
        for text in _SECTION.split(path.read_text(encoding="utf-8"))[1:]:
            section = _Section(path.stem, text)
            for name in _KEY.findall(text):
                if name in _SETTINGS:
                    continue
                if name in self._rows:
                    raise TableError(f"{path.name}: {name} has a row in {self._rows[name].family}.toml")
                self._rows[name] = section

    def find(self, name: str) -> Api | None:
        """Return the API of a name as a program or a driver spells it (`cuMemAlloc_v2`, `cudaMemcpyAsync_ptsz`)."""
        if name not in self._known:
            base = name if name in self._rows else _SPELLING.sub("", name)
            if base in self._rows and base not in self._known:
                self._known[base] = self._parse(base)
            self._known[name] = self._known.get(base)
        return self._known[name]

    @staticmethod
    def per_thread(name: str) -> bool:
        """Return whether this spelling takes stream 0 for the per-thread default stream (`_ptsz`, `_ptds`)."""
        return name.endswith(("_ptsz", "_ptds"))

    def suggest(self, name: str) -> str | None:
        """Return the API that a misspelt name most likely means; None if nothing is near."""
        # Imported late: few programs misspell an API.
        import difflib

        near = difflib.get_close_matches(name, self._rows, n=1, cutoff=0.85)
        return near[0] if near else None

    def __iter__(self) -> Iterator[Api]:
        for name in self._rows:
            api = self.find(name)
            assert api is not None
            yield api

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None

    def _parse(self, name: str) -> Api:
        family = self._rows[name].family
        effect, section = self._rows[name].content
        row = section[name]
        where = f"{family}.toml: {name}"
        if not row and row != "":
            raise TableError(f"{where}: no argument list")
        if not isinstance(row, str | list):
            raise TableError(f"{where}: neither a setting nor an argument list")
        try:
            return Api(
                name=name,
                domain=self._domain(name),
                family=family,
                effect=Effect(effect),
                versions=tuple(parse_signature(text, where) for text in ([row] if isinstance(row, str) else row)),
                memory=MemoryKind[section["memory"]] if "memory" in section else None,
                free=FreeClass[section["free"]] if "free" in section else None,
                wait=cast(Literal["", "synchronous", "asynchronous"], section.get("wait", "")),
                direction=section.get("direction", ""),
                statuses=tuple(section.get("statuses", ())),
                returns=section.get("returns", ""),
                since=section.get("since", ""),
                until=section.get("until", ""),
            )
        except (KeyError, ValueError) as error:
            if isinstance(error, TableError):
                raise
            raise TableError(f"{where}: {error}") from None
