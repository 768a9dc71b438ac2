"""Exact mode: what kernels touch is seen on the device, with functions that NVIDIA's Sanitizer API puts into them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from streamsan.recorder.preconditions import RecordingError
from streamsan.recorder.sanitizer_places import LIBRARY, PACKAGE, sanitizer_places

PATCH = Path(__file__).resolve().with_name("access_patch.fatbin")
"""the functions, compiled for each kind of device: native/recorder/accesses/make_access_patch.sh"""


class Accesses(Struct, frozen=True):
    """What is asked of kernels in a recording."""

    places: tuple[str, ...]
    """files that are the Sanitizer API, best first"""
    kernels: str = ""
    """regular expression: those whose name it is found in; "": all"""
    first: int = 0
    """of launches of one kernel with the same arguments, but for addresses, so many are looked at; 0: all"""


def required_accesses(program: str, environment: Mapping[bytes, bytes], kernels: str, first: int) -> Accesses:
    """Return what a recording of a program needs for exact mode. Raises RecordingError where it is not there."""
    places = sanitizer_places(program, environment)
    if not places:
        raise RecordingError(
            f"--accesses needs NVIDIA's Sanitizer API ({LIBRARY}), which is not found: it comes with the CUDA toolkit, "
            f"beside compute-sanitizer, or as the package {PACKAGE}"
        )
    if not PATCH.is_file():
        raise RecordingError(f"this installation has no {PATCH.name}, which --accesses needs")
    return Accesses(tuple(places), kernels, first)
