"""Reads the rows of the effects table. A row is parsed when it is first asked for."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, cast

from streamsan.effects.api import Api, Domain
from streamsan.effects.roles import Effect
from streamsan.effects.signature import TableError, parse_signature
from streamsan.vocabulary import FreeClass, MemoryKind

_SPELLING = re.compile(r"(_v\d+)?(_pt(?:sz|ds))?$")
_DEFAULTS = frozenset({"effect", "statuses", "since", "until", "api"})
_KEYS = frozenset({"effect", "versions", "memory", "free", "wait", "direction", "statuses", "since", "until"})


class Effects:
    """The table, looked up by API name."""

    def __init__(self, folder: Path, domain: Callable[[str], Domain]) -> None:
        self._domain = domain
        self._rows: dict[str, tuple[str, Mapping[str, Any], Mapping[str, Any] | list[str]]] = {}
        self._known: dict[str, Api] = {}
        for path in sorted(folder.glob("*.toml")):
            self._read(path)

    def _read(self, path: Path) -> None:
        family = tomllib.loads(path.read_text(encoding="utf-8"))
        if unknown := family.keys() - _DEFAULTS:
            raise TableError(f"{path.name}: unknown keys {sorted(unknown)}")
        for name, row in family["api"].items():
            if name in self._rows:
                raise TableError(f"{path.name}: {name} has a row in {self._rows[name][0]}.toml")
            self._rows[name] = (path.stem, family, row)

    def find(self, name: str) -> Api | None:
        """Return the API of a name as a program or a driver spells it (`cuMemAlloc_v2`, `cudaMemcpyAsync_ptsz`)."""
        api = self._known.get(name)
        if api is None:
            base = name if name in self._rows else _SPELLING.sub("", name)
            if base not in self._rows:
                return None
            api = self._known.get(base) or self._parse(base)
            self._known[base] = self._known[name] = api
        return api

    @staticmethod
    def per_thread(name: str) -> bool:
        """Return whether this spelling takes stream 0 for the per-thread default stream (`_ptsz`, `_ptds`)."""
        return name.endswith(("_ptsz", "_ptds"))

    def suggest(self, name: str) -> str | None:
        """Return the API that a misspelt name most likely means; None if nothing is near."""
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
        family, defaults, row = self._rows[name]
        own: Mapping[str, Any] = {"versions": row} if isinstance(row, list) else row
        where = f"{family}.toml: {name}"
        if unknown := own.keys() - _KEYS:
            raise TableError(f"{where}: unknown keys {sorted(unknown)}")
        if not own.get("versions"):
            raise TableError(f"{where}: no argument list")
        try:
            return Api(
                name=name,
                domain=self._domain(name),
                family=family,
                effect=Effect(own.get("effect", defaults.get("effect"))),
                versions=tuple(parse_signature(text, where) for text in own["versions"]),
                memory=MemoryKind[own["memory"]] if "memory" in own else None,
                free=FreeClass[own["free"]] if "free" in own else None,
                wait=cast(Literal["", "synchronous", "asynchronous"], own.get("wait", "")),
                direction=own.get("direction", ""),
                statuses=tuple(own.get("statuses", defaults.get("statuses", ()))),
                since=own.get("since", defaults.get("since", "")),
                until=own.get("until", defaults.get("until", "")),
            )
        except (KeyError, ValueError) as error:
            if isinstance(error, TableError):
                raise
            raise TableError(f"{where}: {error}") from None
