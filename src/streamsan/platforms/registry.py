"""Which platforms there are."""

from __future__ import annotations

from pathlib import Path

from streamsan.platforms.platform import Platform


class UnknownPlatformError(ValueError):
    """No platform of this name is known; the message names those that are."""


def register(folder: Path) -> Platform:
    """Make the platform in a folder known by the folder's name, and return it."""
    _PLATFORMS[folder.name] = Platform(folder)
    return _PLATFORMS[folder.name]


def platform_of(name: str) -> Platform:
    """Return the platform that a trace calls so. Raises UnknownPlatformError."""
    try:
        return _PLATFORMS[name]
    except KeyError:
        raise UnknownPlatformError(f"platform {name!r} is not known (known: {', '.join(_PLATFORMS)})") from None


_PLATFORMS: dict[str, Platform] = {}
CUDA = register(Path(__file__).resolve().parent / "cuda")
