"""The trace: operations as 64-byte slots, in memory and in .sst files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamsan.trace.builder import TraceBuilder as TraceBuilder
    from streamsan.trace.errors import TraceError as TraceError
    from streamsan.trace.references import Reference as Reference
    from streamsan.trace.site import Site as Site
    from streamsan.trace.trace import Thread as Thread
    from streamsan.trace.trace import Trace as Trace

_PLACES = {
    "Reference": "references",
    "Site": "site",
    "Thread": "trace",
    "Trace": "trace",
    "TraceBuilder": "builder",
    "TraceError": "errors",
}
"""the module that has each name"""


def __getattr__(name: str) -> Any:
    # Loaded when it is asked for: slots need NumPy, and a result that is remembered needs no slots.
    from importlib import import_module

    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    globals()[name] = found
    return found
