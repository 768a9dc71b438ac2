"""What a copy or a fill makes the host wait for, from waits.toml."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from streamsan.vocabulary import WaitClass


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


class Waits:
    """The table of a platform's waits.toml."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._table = table

    def of_copy(self, column: str, source: Endpoint, destination: Endpoint) -> WaitClass:
        """Return what a copy waits for; `column` is "synchronous" or "asynchronous".

        Direction and kinds must be joined before: a side that the call itself says is the device is DEVICE, the host's
        side its own kind. Two sides of which neither is known to be the device or the host fall to [copy_unknown].
        """
        row = self._table["copy"][column]
        if source.is_host and destination.is_host:
            word = row["host_to_host"]
        else:
            word = row.get(f"{source}_to_{destination}", self._table["copy_unknown"][column])
        return WaitClass[word]

    def of_memset(self, column: str, target: Endpoint) -> WaitClass:
        """Return what a fill waits for; `column` is "synchronous" or "asynchronous"."""
        return WaitClass[self._table["memset"][column][target]]
