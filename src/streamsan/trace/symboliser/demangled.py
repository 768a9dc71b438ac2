"""Names of native functions as programmers write them."""

from __future__ import annotations

from functools import lru_cache

from streamsan.trace.symboliser._demangle import demangle


@lru_cache(maxsize=65536)
def demangled(name: str) -> str:
    """Return a symbol's readable form, itself when it is no mangled C++ name. Versions (`f@@V1`) are cut off."""
    name = name.split("@", 1)[0]
    base, dot, rest = name.partition(".")
    # `.cold`, `.isra.0`, `.part.0`: a part of the function that the compiler moved.
    readable = demangle(base)
    if readable is None:
        return base if base and dot and rest.split(".")[0] in ("cold", "isra", "part", "constprop") else name
    return readable
