"""Who decides what only a schedule or the hardware knows: query results, the number of devices."""

from __future__ import annotations

from typing import Protocol

from streamsan.model.values import Symbol, Value


class Chooser(Protocol):
    """Decides the results of calls that depend on timing or on the machine."""

    def query(self, name: str, fresh: Symbol) -> Value:
        """Return the status of a stream or event query: 0, 600 (not ready), or `fresh`: not known."""

    def device_count(self, fresh: Symbol) -> Value:
        """Return the number of devices."""


class ReaderChooser:
    """Knows nothing of the machine: every result is a symbol."""

    def query(self, name: str, fresh: Symbol) -> Value:
        """Return the unknown."""
        return fresh

    def device_count(self, fresh: Symbol) -> Value:
        """Return the unknown."""
        return fresh
