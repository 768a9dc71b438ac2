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


def platform_of_call(api: str, otherwise: str) -> Platform:
    """Return the platform whose function a name is; where it is none's, the one that is called `otherwise`.

    A program may use several: its trace names one, and each call tells its own. Raises UnknownPlatformError.
    """
    named = platform_of(otherwise)
    if not api or named.interface(api) is not None:
        return named
    return next((each for each in _PLATFORMS.values() if each.interface(api) is not None), named)


_PLATFORMS: dict[str, Platform] = {}
CUDA = register(Path(__file__).resolve().parent / "cuda")
OPENCL = register(Path(__file__).resolve().parent / "opencl")
