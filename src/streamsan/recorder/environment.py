"""What `streamsan run` puts into the environment of the program that it starts, and what it leaves alone."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from streamsan.recorder.driver_pools import driver_pools
from streamsan.recorder.opencl_layer import LAYERS, with_layer

INJECTION = "CUDA_INJECTION64_PATH"
"""the driver loads the library that this names when it is initialised, and calls its InitializeInjection"""
HEAPS = "NVTX_INJECTION64_PATH"
"""NVTX in the program loads the library that this names, and tells it of the heaps of the program's pools"""
COLLECTIVES = "NCCL_PROFILER_PLUGIN"
"""NCCL in the program loads the library that this names, and tells it of each collective"""
SETTINGS = "STREAMSAN_RECORD"
PRELOADED = "LD_PRELOAD"
"""libraries that the loader takes before all others, so that their functions come first"""
_COERCED = b"LC_CTYPE"
_ESCAPE = re.compile(r"\\(.)")


class Settings(Struct, frozen=True):
    """What the recorder has to know; `native/recorder/run/settings.hpp` has the same members."""

    output: str
    """absolute path of F.sst; further processes write F.<pid>.sst beside it"""
    counter: str
    """file that holds the sequence counter of all processes"""
    run: str
    """random id that the files of a run share"""
    omissions: str
    """file to which processes append why they cannot record, a line each"""
    cupti: str = ""
    """folders to look for libcupti in before the usual ones, `:` between them"""
    sanitizer: str = ""
    """files that may be the Sanitizer API, `:` between them; "": what kernels touch is not asked for"""
    patch: str = ""
    """file with the functions that the Sanitizer API puts into kernels"""
    kernels: str = ""
    """regular expression: kernels of which it is asked what they touch, "" for all"""
    accesses_first: int = 0
    """of launches of one kind so many are looked at, 0 for all"""
    max_bytes: int = 0
    sites: bool = True
    host_accesses: bool = False
    """accesses of the host to memory that work uses are recorded"""
    driver_pools: bool = False
    """frameworks take the driver's pools instead of their own"""
    poison: bool = False
    """what was given back is overwritten, where no right program can notice"""
    times: bool = False
    """it is recorded when the device did the work"""
    adapters: str = str(Path(__file__).with_name("pool_adapters.py"))
    """what is run in programs of Python, for frameworks whose pools tell of their blocks only there"""
    redact: bool = False
    """the arguments of processes and the values of kernels' arguments are never written"""
    code: str = ""
    """folder for the machine code of kernels; "": none is kept"""
    code_left_out: str = ""
    """why none is kept"""

    def packed(self, root_pid: int) -> str:
        """Return the value of the variable SETTINGS: `key=value`, one a line."""
        values = {
            "output": self.output,
            "counter": self.counter,
            "run": self.run,
            "cupti": self.cupti,
            "sanitizer": self.sanitizer,
            "patch": self.patch,
            "kernels": self.kernels,
            "accesses_first": str(self.accesses_first),
            "max_bytes": str(self.max_bytes),
            "sites": str(int(self.sites)),
            "host_accesses": str(int(self.host_accesses)),
            "driver_pools": str(int(self.driver_pools)),
            "poison": str(int(self.poison)),
            "times": str(int(self.times)),
            "adapters": self.adapters,
            "redact": str(int(self.redact)),
            "code": self.code,
            "code_left_out": self.code_left_out,
            "root_pid": str(root_pid),
            "omissions": self.omissions,
        }
        return "".join(f"{key}={_escaped(value)}\n" for key, value in values.items())

    @classmethod
    def unpacked(cls, text: str) -> Settings:
        """Return what the value of the variable SETTINGS says; what is not understood is as by default."""
        lines = (line.partition("=") for line in text.split("\n"))
        values = {key: _ESCAPE.sub(lambda found: found[1].replace("n", "\n"), value) for key, _, value in lines}
        number = values.get("max_bytes", "")
        return cls(
            output=values.get("output", ""),
            counter=values.get("counter", ""),
            run=values.get("run", ""),
            omissions=values.get("omissions", ""),
            max_bytes=int(number) if number.isdecimal() else 0,
        )


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")


def own_environment() -> dict[bytes, bytes]:
    """Return the environment that streamsan was started with."""
    environment = dict(os.environb)
    # In the C locale Python sets LC_CTYPE for its children (PEP 538); the program must not see that.
    with suppress(OSError), open("/proc/self/environ", "rb") as file:
        given = {entry.partition(b"=")[0] for entry in file.read().split(b"\0")}
        if _COERCED not in given:
            environment.pop(_COERCED, None)
    return environment


def recording_environment(
    environment: Mapping[bytes, bytes], library: str, layer: str, settings: Settings, root_pid: int
) -> dict[bytes, bytes]:
    """Return an environment with the variables that make a program record itself.

    `library`: what the CUDA driver loads, "" to leave CUDA to another tool; `layer`: what OpenCL's loaders load, "" for
    none.
    """
    variables = {**environment, SETTINGS.encode(): os.fsencode(settings.packed(root_pid))}
    if settings.driver_pools:
        variables |= driver_pools(environment)
    if layer:
        variables[LAYERS.encode()] = with_layer(environment, layer)
    if library:
        variables[INJECTION.encode()] = os.fsencode(library)
        # There is one place for one tool: what the user has put there stays.
        variables.setdefault(HEAPS.encode(), os.fsencode(library))
        variables.setdefault(COLLECTIVES.encode(), os.fsencode(library))
    if library and settings.host_accesses:
        # Ours first: its handler of faults must meet what the program asks of the C library.
        others = environment.get(PRELOADED.encode(), b"")
        variables[PRELOADED.encode()] = b":".join(filter(None, (os.fsencode(library), others)))
    return variables


def other_tool(environment: Mapping[bytes, bytes], library: str) -> str:
    """Return the injection library that the user has set, "" for none or our own: there is one place for one tool."""
    named = os.fsdecode(environment.get(INJECTION.encode(), b""))
    if not named or os.path.basename(named) == os.path.basename(library):
        return ""
    return named
