"""Where NVIDIA's Sanitizer API may be: libsanitizer-public.so, which a toolkit has beside compute-sanitizer."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from streamsan.recorder.cupti_places import ToolFolders, folders_of

LIBRARY = "libsanitizer-public.so"
PACKAGE = "nvidia-cuda-sanitizer-api"
SANITIZER = ToolFolders(
    ("compute-sanitizer",),
    ("nvidia/cu[0-9]*/compute-sanitizer", "nvidia/cu[0-9]*/lib", "nvidia/cuda_sanitizer_api/lib"),
)
_USUAL = ("usr/local/cuda/compute-sanitizer", "usr/local/cuda-*/compute-sanitizer", "usr/lib/nvidia-cuda-toolkit/*")


def sanitizer_places(program: str, environment: Mapping[bytes, bytes], root: Path = Path("/")) -> list[str]:
    """Return the files that are the library, best first; `program` is the path of what is started."""
    files = dict.fromkeys(
        str(folder / LIBRARY) for folder in _candidates(program, environment, root) if (folder / LIBRARY).is_file()
    )
    return [file for file in files if ":" not in file and "\n" not in file]


def _candidates(program: str, environment: Mapping[bytes, bytes], root: Path) -> Iterator[Path]:
    yield from folders_of(SANITIZER, program, environment)
    if tool := shutil.which("compute-sanitizer", path=os.fsdecode(environment.get(b"PATH", b""))):
        yield Path(tool).resolve().parent
        yield Path(tool).resolve().parents[1] / "compute-sanitizer"
    for pattern in _USUAL:
        yield from sorted(root.glob(pattern), reverse=True)
