"""A stream of any library as the number that a trace has for it."""

from __future__ import annotations

from typing import SupportsInt

DEFAULT_STREAM = 1
_HANDLES = ("cuda_stream", "ptr")
"""the attributes with a stream's handle: PyTorch's, CuPy's"""


def number_of(stream: object) -> int:
    """Return a stream's number, 0 for none. Raises TypeError for what is no stream."""
    if stream is None:
        return 0
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return _handle(protocol()[1] if callable(protocol) else protocol[1])
    for name in _HANDLES:
        handle = getattr(stream, name, None)
        if handle is not None:
            return _handle(handle)
    return _handle(stream)


def _handle(value: object) -> int:
    if not isinstance(value, SupportsInt) or isinstance(value, (str, bytes, float)):
        raise TypeError(f"{value!r} is no stream")
    return int(value) or DEFAULT_STREAM
