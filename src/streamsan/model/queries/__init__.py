"""What calls answer that only ask: devices, contexts, streams, pointers."""

from streamsan.model.queries import context_settings as context_settings
from streamsan.model.queries import devices as devices
from streamsan.model.queries import pointers as pointers
from streamsan.model.queries import stream_attributes as stream_attributes
from streamsan.model.queries import textures as textures
from streamsan.model.queries import unsupported as unsupported
