"""What calls answer that only ask: devices, contexts, streams, pointers."""

from streamsan.model.queries import contexts as contexts
from streamsan.model.queries import devices as devices
from streamsan.model.queries import pointers as pointers
from streamsan.model.queries import streams as streams
from streamsan.model.queries import textures as textures
from streamsan.model.queries import unsupported as unsupported
