"""Texture and surface objects of CUDA C++: their types, and the functions that access the memory behind them."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from streamsan.cuda_syntax import tree
from streamsan.patterns.late_pattern import late_pattern
from streamsan.vocabulary import AccessMode

_TEXTURES: Final = frozenset(("cudaTextureObject_t", "CUtexObject"))
_SURFACES: Final = frozenset(("cudaSurfaceObject_t", "CUsurfObject"))
_ACCESS = late_pattern(r"(?P<texture>tex)?(?(texture)|surf)(?:(?P<axes>[123])D|Cubemap)(?P<how>\w*)")
_PLAIN = late_pattern(r"(?:fetch|Layered|(?:Layered)?(?:read|write))?")


class ImageAccess(Struct, frozen=True):
    """What a function does with the memory behind an object that it is given."""

    mode: AccessMode
    """READ or WRITE"""
    coordinates: int
    """How many arguments behind the object say where; 0: where is not all that they say (levels, gradients, faces)."""


def is_image(of: tree.Type) -> bool:
    """Tell whether a type is that of an object that leads to a texture's or a surface's memory."""
    return not of.pointers and not of.array and of.name in _TEXTURES | _SURFACES


def is_texture(of: tree.Type) -> bool:
    """Tell whether a type is that of a texture's object: nobody writes through it."""
    return is_image(of) and of.name in _TEXTURES


def image_access(name: str) -> ImageAccess | None:
    """Return what a function of this name does with an image; None: it is none that accesses images."""
    found = _ACCESS.fullmatch(name)
    if found is None:
        return None
    mode = AccessMode.WRITE if not found["texture"] and found["how"].endswith("write") else AccessMode.READ
    plain = found["axes"] and _PLAIN.fullmatch(found["how"])
    return ImageAccess(mode, int(found["axes"]) + ("Layered" in found["how"]) if plain else 0)
