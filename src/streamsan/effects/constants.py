"""The numbers behind the API's named constants: enumerators and flags that programs pass by name."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType


def _load() -> Mapping[str, int]:
    path = Path(__file__).resolve().parent / "cuda" / "constants.toml"
    groups = tomllib.loads(path.read_text(encoding="utf-8"))
    return MappingProxyType({name: value for group in groups.values() for name, value in group.items()})


CONSTANTS: Mapping[str, int] = _load()
"""`CONSTANTS["cudaMemcpyHostToDevice"] == 1`. Streams: `cudaStreamLegacy` is 1, `cudaStreamPerThread` is 2."""
