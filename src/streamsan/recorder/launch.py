"""One recording: where its files go while the program runs, and what they come to when it has ended."""

from __future__ import annotations

import os
import secrets
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from msgspec import Struct

from streamsan.recorder.accesses import PATCH, Accesses
from streamsan.recorder.code_folder import code_folder, make_code_folder, remove_images
from streamsan.recorder.cupti_places import cupti_places
from streamsan.recorder.environment import Settings, other_tool, recording_environment
from streamsan.recorder.opencl_layer import layer_library
from streamsan.recorder.run_files import settle
from streamsan.trace import family
from streamsan.trace.private_file import make_private_file

COUNTER_BYTES = 4096
MOST_OMISSIONS = 1 << 16


class Wanted(Struct, frozen=True):
    """What of a program is recorded, and how."""

    max_bytes: int = 0
    """of a long run the end is kept; 0: all of it"""
    sites: bool = True
    """where calls come from"""
    redact: bool = False
    """the arguments of processes and kernels are never written, nor machine code"""
    code: bool = True
    """the machine code of kernels is kept beside the trace"""
    host_accesses: bool = False
    """memory that work uses is protected, so that the host's accesses to it are recorded"""
    accesses: Accesses | None = None
    """what kernels touch is seen on the device"""
    driver_pools: bool = False
    """frameworks take the driver's pools instead of their own"""
    poison: bool = False
    """what was given back is overwritten"""
    times: bool = False
    """it is recorded when the device did the work"""


class Recording(Struct, frozen=True):
    """A run that is recorded."""

    settings: Settings
    library: str
    """what the CUDA driver loads, "" where another tool has that place"""
    layer: str
    """what OpenCL's loaders load, "" for none"""
    started: float
    """seconds since 1970"""

    def environment(self, given: Mapping[bytes, bytes], process: int) -> dict[bytes, bytes]:
        """Return the environment of the program, `given` with what makes it record itself."""
        return recording_environment(given, self.library, self.layer, self.settings, process)

    def files(self) -> list[str]:
        """Return the files that the run left, the first process's first; none when nothing was recorded."""
        first = settle(self.settings.output, self.settings.run)
        return [first, *(path for path in family.members(first) if path != first)] if first else []

    def omissions(self) -> list[str]:
        """Return what processes said that they could not record, each line once."""
        return omissions_in(self.settings.omissions)


def omissions_in(path: str) -> list[str]:
    """Return the lines of the file to which processes append what they cannot record, each once."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read(MOST_OMISSIONS).splitlines()
    except OSError:
        return []
    return list(dict.fromkeys(line.strip() for line in lines if line.strip()))


@contextmanager
def recording(
    library: str, output: str, program: str, environment: Mapping[bytes, bytes], wanted: Wanted
) -> Iterator[Recording]:
    """Prepare a recording of a program. Its trace is kept as `output`, or goes with the block where that is ""."""
    with tempfile.TemporaryDirectory(prefix="streamsan-", ignore_cleanup_errors=True) as folder:
        settings = prepared_settings(folder, output, program, environment, wanted)
        try:
            # Another tool keeps its place.
            own = "" if other_tool(environment, library) else library
            yield Recording(settings, own, str(layer_library() or ""), time.time())
        finally:
            remove_images(code_folder(settings.output), unfinished=True)


def prepared_settings(
    folder: str, output: str, program: str, environment: Mapping[bytes, bytes], wanted: Wanted
) -> Settings:
    """Make in a folder what the processes of a run share, and return what the recorder has to know."""
    counter = os.path.join(folder, "counter")
    with open(make_private_file(counter), "wb") as file:
        file.truncate(COUNTER_BYTES)
    omissions = os.path.join(folder, "omissions")
    os.close(make_private_file(omissions))
    trace = os.path.abspath(output) if output else os.path.join(folder, "trace.sst")
    images = code_folder(trace)
    if wanted.code and not wanted.redact:
        left_out = make_code_folder(images)
    else:
        remove_images(images)
        left_out = "--redact" if wanted.redact else "--no-code"
    accesses = wanted.accesses
    return Settings(
        output=trace,
        counter=counter,
        run=secrets.token_hex(8),
        omissions=omissions,
        cupti=":".join(cupti_places(program, environment)),
        sanitizer=":".join(accesses.places) if accesses else "",
        patch=str(PATCH) if accesses else "",
        kernels=accesses.kernels if accesses else "",
        accesses_first=accesses.first if accesses else 0,
        max_bytes=wanted.max_bytes,
        sites=wanted.sites,
        host_accesses=wanted.host_accesses,
        driver_pools=wanted.driver_pools,
        poison=wanted.poison,
        times=wanted.times,
        redact=wanted.redact,
        code="" if left_out else images,
        code_left_out=left_out,
    )
