"""What calls answer that only ask: devices, contexts, streams, pointers."""

from streamsan.model.queries import contexts, devices, pointers, streams, textures, unsupported

__all__ = ["contexts", "devices", "pointers", "streams", "textures", "unsupported"]
