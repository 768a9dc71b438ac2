"""The trace: operations as 64-byte slots, in memory and in .sst files."""

from streamsan.trace.builder import TraceBuilder
from streamsan.trace.errors import TraceError
from streamsan.trace.references import Reference
from streamsan.trace.site import Site
from streamsan.trace.trace import Thread, Trace

__all__ = ["Reference", "Site", "Thread", "Trace", "TraceBuilder", "TraceError"]
