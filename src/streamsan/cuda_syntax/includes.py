"""Which files `#include` means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_VENDOR = re.compile(
    r"(?:cuda\w*|cublas\w*|cufft\w*|curand\w*|cusparse\w*|cusolver\w*|cudnn\w*|nccl\w*|nvToolsExt\w*|nvrtc|nvml"
    r"|device_launch_parameters|device_functions|driver_types|vector_types|vector_functions|host_defines|mma|sm_\d+\w*"
    r"|cooperative_groups|math_constants|texture_types|surface_types)\.h(?:pp)?"
    r"|(?:thrust|cub|cuda|nvtx3|cooperative_groups|crt)/.*"
)


@dataclass(frozen=True, slots=True)
class Resolved:
    """An include: the file it means, or why there is none."""

    path: Path | None
    system: bool
    """a header of the system or of the toolkit, which is not read"""


def resolve(name: str, quoted: bool, beside: Path, include_dirs: Sequence[Path]) -> Resolved:
    """Finds `"name"` or `<name>`: beside the including file, then in the include directories."""
    for folder in (beside, *include_dirs):
        try:
            candidate = folder / name
            if candidate.is_file():
                return Resolved(candidate, False)
        except (OSError, ValueError):  # a name too long, or with characters no file can have
            continue
    return Resolved(None, not quoted or _VENDOR.fullmatch(name) is not None)
