"""What goes wrong with a trace file."""

from __future__ import annotations


class TraceError(Exception):
    """A trace cannot be read or written. `str()` of it is one line that names the file and the reason."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason

    def __reduce__(self) -> tuple[type[TraceError], tuple[str, str]]:
        return TraceError, (self.path, self.reason)
