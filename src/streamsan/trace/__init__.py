"""The trace: operations as 64-byte slots, in memory and in .sst files."""

from streamsan.trace.builder import TraceBuilder as TraceBuilder
from streamsan.trace.errors import TraceError as TraceError
from streamsan.trace.references import Reference as Reference
from streamsan.trace.site import Site as Site
from streamsan.trace.trace import Thread as Thread
from streamsan.trace.trace import Trace as Trace
