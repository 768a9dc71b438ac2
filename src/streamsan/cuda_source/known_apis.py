"""The functions, constants and types of every platform that a source may use."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from functools import lru_cache

from streamsan.effects import Api, Effect
from streamsan.patterns.late_pattern import late_pattern
from streamsan.platforms import CUDA, OPENCL

CONSTANTS: Mapping[str, int] = ChainMap({}, dict(CUDA.constants), dict(OPENCL.constants))
"""The numbers of enumerators and flags, by name."""
LAUNCH = "<<<"
"""what a launch in the language is called, where others have the name of a function"""
WORK = frozenset(
    {Effect.LAUNCH, Effect.COPY, Effect.COPY_BATCH, Effect.MEMSET, Effect.GRAPH_LAUNCH, Effect.HOST_FUNCTION}
)
"""what calls do that issue work"""
_ASKS = frozenset(
    {
        Effect.PURE,
        Effect.STREAM_QUERY,
        Effect.EVENT_QUERY,
        Effect.EVENT_ELAPSED,
        Effect.GET_DEVICE,
        Effect.DEVICE_COUNT,
        Effect.CONTEXT_GET,
    }
)
"""what calls do that change nothing"""
_PLATFORMS = (CUDA, OPENCL)
_OPENCL_WORD = late_pattern(r"\bcl_[a-z]|\bcl[A-Z]\w+\s*\(|\bcl::[A-Z]|<(?:CL|OpenCL)/")
_CUDA_WORD = late_pattern(r"\bcuda[A-Z_]|\bcu[A-Z]\w+\s*\(|<<<|\b__global__\b")


def find(name: str) -> Api | None:
    """Return the function of this name; None if no platform has it."""
    return CUDA.effects.find(name) or OPENCL.effects.find(name)


def issues_work(name: str) -> bool:
    """Return whether a function of this name, or a launch, issues work."""
    if name == LAUNCH:
        return True
    api = find(name)
    return api is not None and api.effect in WORK


def only_asks(name: str) -> bool:
    """Return whether a function of this name changes nothing: it tells a state, a time, or the text of an error."""
    api = find(name)
    return api is not None and changes_nothing(api)


def changes_nothing(api: Api) -> bool:
    """Return whether a function only tells a state, a time, or the text of an error."""
    return api.effect in _ASKS


def is_opencl(api: Api) -> bool:
    """Return whether a function is OpenCL's."""
    return OPENCL.interface(api.name) is not None


def is_function(name: str) -> bool:
    """Return whether a name is written as a platform's functions are, known or not."""
    return any(platform.is_function(name) for platform in _PLATFORMS)


def is_type(name: str) -> bool:
    """Return whether a name is written as a platform's types are: they have no constructors."""
    return any(platform.is_type(name) for platform in _PLATFORMS)


@lru_cache(maxsize=1024)
def suggest(name: str) -> str | None:
    """Return the function that a misspelt name most likely means."""
    return next((near for each in _PLATFORMS if (near := each.effects.suggest(name)) is not None), None)


def platform_of_texts(texts: Iterable[str]) -> str:
    """Return the platform that a program's files use; CUDA where nothing tells, or both are used."""
    opencl = False
    for text in texts:
        if _CUDA_WORD.search(text):
            return CUDA.name
        opencl = opencl or _OPENCL_WORD.search(text) is not None
    return OPENCL.name if opencl else CUDA.name
