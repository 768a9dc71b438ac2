"""The folder beside a trace that has the kernels' machine code, or what an OpenCL program was made from.

Its name and all in it are untrusted.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from typing import Any

from streamsan.trace.launch_shapes import CODE, CODE_LEFT_OUT

SUFFIX = ".cubin"
TEXT_SUFFIX = ".cl"
MODULE_SUFFIX = ".spv"
LARGEST_IMAGE = 256 << 20
_NAME = re.compile(r"[0-9a-f]{32}(?:\.cl|\.spv)?")


def is_text(name: str) -> bool:
    """Tell whether an image of this name is a text, in OpenCL C; the names of others have no suffix."""
    return name.endswith(TEXT_SUFFIX)


def is_module(name: str) -> bool:
    """Tell whether an image of this name is a module of SPIR-V."""
    return name.endswith(MODULE_SUFFIX)


class ImageFolder:
    """Images of code by name. Nothing outside of the folder is opened, and no link is followed."""

    def __init__(self, path: str) -> None:
        self._path = path

    def read(self, name: str) -> bytes | None:
        """Return an image; None where there is none of this name that may be read."""
        if not _NAME.fullmatch(name):
            return None
        try:
            folder = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except (OSError, ValueError):
            return None
        try:
            # O_NONBLOCK: opening a named pipe must not wait for a writer.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            file_name = name if is_text(name) or is_module(name) else name + SUFFIX
            with open(os.open(file_name, flags, dir_fd=folder), "rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_IMAGE:
                    return None
                return file.read(LARGEST_IMAGE)
        except OSError:
            return None
        finally:
            os.close(folder)


def image_folder(trace_path: str, metadata: Mapping[str, Any]) -> ImageFolder | None:
    """Return the folder with the code of a trace's kernels; None where its metadata names none."""
    name = metadata.get(CODE)
    if not isinstance(name, str) or name in ("", ".", "..") or "/" in name or "\0" in name:
        return None
    return ImageFolder(os.path.join(os.path.dirname(trace_path), name))


def why_left_out(metadata: Mapping[str, Any]) -> str:
    """Return why machine code was not kept, on one line; "" where the trace does not say."""
    reason = metadata.get(CODE_LEFT_OUT)
    return " ".join(reason.split())[:200] if isinstance(reason, str) else ""
