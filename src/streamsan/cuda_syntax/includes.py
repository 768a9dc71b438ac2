"""Which files `#include` means."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from streamsan.cuda_syntax.compiler_options import CompilerOptions
from streamsan.cuda_syntax.files_seen import FilesSeen
from streamsan.patterns.late_pattern import late_pattern

_VENDOR = late_pattern(
    r"(?:cuda\w*|cublas\w*|cufft\w*|curand\w*|cusparse\w*|cusolver\w*|cudnn\w*|nccl\w*|nvToolsExt\w*|nvrtc|nvml"
    r"|device_launch_parameters|device_functions|driver_types|vector_types|vector_functions|host_defines|mma|sm_\d+\w*"
    r"|cooperative_groups|math_constants|texture_types|surface_types)\.h(?:pp)?"
    r"|(?:thrust|cub|cuda|nvtx3|cooperative_groups|crt)/.*"
)
OPENCL_HEADER = str(Path(__file__).parent / "opencl_wrappers.hpp")
"""What stands for OpenCL's header of C++ wrappers: the same classes, as calls of the C interface."""
_OPENCL_WRAPPERS = late_pattern(r"(?:CL|OpenCL|CL/cl2)/(?:opencl|cl2?)\.hpp")
_OPENCL = late_pattern(r"(?:CL|OpenCL)/\w+\.h")
_TOOLKIT = ("cuda_runtime_api.h", "driver_types.h")
"""headers that stand together in the folder of a toolkit, and in no other"""
_STANDARD = late_pattern(r"/usr/(?:local/)?include(?:/[\w.]+-linux-gnu\w*)?")
"""folders that a compiler searches by itself"""


class Resolved(Struct, frozen=True):
    """An include: the file it means, or why there is none."""

    path: Path | None
    system: bool
    """a header of the system or of the toolkit, which is not read"""
    foreign: bool = False
    """a header of a folder that `-isystem` names, or beside such a one: it is read, and not the user's"""


class IncludeSearch:
    """Finds what `#include` names, in the order in which a compiler searches."""

    def __init__(self, options: CompilerOptions, seen: FilesSeen | None = None) -> None:
        """`seen` notes which files were looked for."""
        self._seen = seen or FilesSeen()
        # A folder that is both is a system's, as compilers have it.
        own = [folder for folder in options.include_dirs if folder not in options.system_dirs]
        self._quoted = [(folder, False) for folder in options.quote_dirs]
        self._named = [*((folder, False) for folder in own), *((folder, True) for folder in options.system_dirs)]
        self._unread: dict[Path, bool] = {}

    def find(self, name: str, quoted: bool, beside: Path, foreign: bool = False) -> Resolved:
        """Find `"name"` or `<name>` for a file in the folder `beside`, which is `foreign` or not.

        `<name>` is sought there, too, behind all others: a source that is read without options says no more.
        """
        if _OPENCL_WRAPPERS.fullmatch(name):
            return Resolved(Path(OPENCL_HEADER), False, True)
        if _OPENCL.fullmatch(name):
            return Resolved(None, True)
        here = [(beside, foreign)]
        for folder, is_system in [*here, *self._quoted, *self._named] if quoted else [*self._named, *here]:
            try:
                candidate = folder / name
                if not self._seen.is_file(str(candidate)):
                    continue
            except (OSError, ValueError):  # a name too long, or with characters no file can have
                continue
            vendors = is_system and _VENDOR.fullmatch(name) is not None
            if folder != beside and (vendors or self._is_unread(folder)):
                return Resolved(None, True)
            return Resolved(candidate, False, is_system)
        return Resolved(None, not quoted or _VENDOR.fullmatch(name) is not None)

    def _is_unread(self, folder: Path) -> bool:
        """Tell whether a folder is that of a toolkit or of the system: what stands there is known without reading."""
        if folder not in self._unread:
            standard = _STANDARD.fullmatch(str(folder)) is not None
            self._unread[folder] = standard or all(self._seen.is_file(str(folder / name)) for name in _TOOLKIT)
        return self._unread[folder]
