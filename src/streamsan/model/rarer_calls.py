"""The handlers of calls that a small program makes none of: imported for what they register.

Graphs, and with them captures, begin with one of these calls.
"""

from streamsan.model import batches as batches
from streamsan.model import peers as peers
from streamsan.model import queries as queries
from streamsan.model import registrations as registrations
from streamsan.model import stream_memory_ops as stream_memory_ops
from streamsan.model.graphs import capture_calls as capture_calls
from streamsan.model.graphs import device_memory as device_memory
from streamsan.model.graphs import executables as executables
from streamsan.model.graphs import node_calls as node_calls
from streamsan.model.graphs import structure as structure
