"""What a copy or a fill makes the host wait for, from waits.toml."""

from __future__ import annotations

import tomllib
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any

from streamsan.vocabulary import MemoryKind, WaitClass


class Endpoint(StrEnum):
    """A side of a copy, as far as the host's wait depends on it."""

    DEVICE = "device"
    MANAGED = "managed"
    PINNED = "pinned"
    PAGEABLE = "pageable"
    UNKNOWN = "unknown"

    @property
    def is_host(self) -> bool:
        """Whether this is certainly host memory."""
        return self in (Endpoint.PINNED, Endpoint.PAGEABLE)


_OF_KIND = {
    MemoryKind.MANAGED: Endpoint.MANAGED,
    MemoryKind.PINNED: Endpoint.PINNED,
    MemoryKind.REGISTERED: Endpoint.PINNED,
    MemoryKind.HOST_HEAP: Endpoint.PAGEABLE,
    MemoryKind.HOST_STACK: Endpoint.PAGEABLE,
    MemoryKind.HOST_STATIC: Endpoint.PAGEABLE,
    MemoryKind.UNKNOWN: Endpoint.UNKNOWN,
}


def endpoint(kind: MemoryKind | None) -> Endpoint:
    """Return the side of a copy that memory of this kind is; None: not known."""
    return Endpoint.UNKNOWN if kind is None else _OF_KIND.get(kind, Endpoint.DEVICE)


def copy_wait(column: str, source: Endpoint, destination: Endpoint) -> WaitClass:
    """Return what a copy waits for; `column` is "synchronous" or "asynchronous".

    Direction and kinds must be joined before: a side that cudaMemcpyKind says is the device is DEVICE, the host's side
    its own kind. Two sides of which neither is known to be the device or the host fall to [copy_unknown].
    """
    table = _waits()
    if source.is_host and destination.is_host:
        word = table["copy"][column]["host_to_host"]
    else:
        word = table["copy"][column].get(f"{source}_to_{destination}", table["copy_unknown"][column])
    return WaitClass[word]


def memset_wait(column: str, target: Endpoint) -> WaitClass:
    """Return what a fill waits for; `column` is "synchronous" or "asynchronous"."""
    return WaitClass[_waits()["memset"][column][target]]


@lru_cache(maxsize=1)
def _waits() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).resolve().parent / "cuda" / "waits.toml").read_text(encoding="utf-8"))
