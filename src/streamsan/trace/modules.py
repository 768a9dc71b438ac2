"""Executables and libraries that native frames of a recorded stack lie in."""

from __future__ import annotations

import struct

from msgspec import Struct

from streamsan.trace.errors import TraceError
from streamsan.trace.table_limits import MOST_MODULE_BYTES, MOST_MODULES

LENGTH = struct.Struct("<I")


class Module(Struct, frozen=True):
    """A file that was loaded: its path at that time, and its build id as lower-case hexadecimal text ("" for none)."""

    path: str
    build_id: str = ""

    @property
    def name(self) -> str:
        """The last component of the path."""
        return self.path.rsplit("/", 1)[-1]


UNKNOWN_MODULE = Module("")


def packed_module(module: Module) -> bytes:
    """Return one record of a MODULES segment. What is no valid Unicode is replaced; what is too long is cut."""
    record = b""
    for text in (module.path, module.build_id):
        raw = text.encode("utf-8", "replace")[:MOST_MODULE_BYTES]
        record += LENGTH.pack(len(raw)) + raw
    return record.ljust(-(-len(record) // 4) * 4, b"\0")


def unpacked_modules(path: str, payload: bytes, cut: bool) -> list[Module]:
    """Return the modules of one segment; in one that is cut off, the last may be missing. Raises TraceError."""
    modules: list[Module] = []
    at = 0
    while at < len(payload):
        texts = []
        for _ in range(2):
            size = LENGTH.unpack_from(payload, at)[0] if at + 4 <= len(payload) else 0
            if size > MOST_MODULE_BYTES:
                raise TraceError(path, f"damaged: a module with a text of {size} bytes")
            end = at + 4 + size
            if end > len(payload):
                if cut:
                    return modules
                raise TraceError(path, "damaged: a module runs over the end of its segment")
            texts.append(payload[at + 4 : end].decode("utf-8", "replace"))
            at = end
        at = -(-at // 4) * 4
        if len(modules) == MOST_MODULES:
            raise TraceError(path, f"damaged: more than {MOST_MODULES} modules")
        modules.append(Module(*texts))
    return modules
