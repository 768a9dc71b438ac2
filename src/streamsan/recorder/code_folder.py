"""The folder beside F.sst in which the processes of a run keep the machine code, or the text, of their kernels."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress

from streamsan.trace.family import SUFFIX

FOLDER_SUFFIX = ".code"
_IMAGE = re.compile(r"[0-9a-f]{32}\.(?:cubin|cl)(\.\d+\.part)?")
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def code_folder(output: str) -> str:
    """Return the folder of the trace `output` (F.sst): F.code."""
    return output.removesuffix(SUFFIX) + FOLDER_SUFFIX


def make_code_folder(path: str) -> str:
    """Make the folder for a new run; what an earlier run left in it goes. Return why that was not possible, else ""."""
    remove_images(path)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        status = os.lstat(path)
        # Something else of the user's is in it.
        if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_MAY_WRITE:
            return ""
        return f"{os.path.basename(path)} is in the way"
    except OSError as error:
        return f"{os.path.basename(path)}: {error.strerror}"
    return ""


def remove_images(path: str, *, unfinished: bool = False) -> None:
    """Remove the images in a folder, and the folder if nothing else is in it; a link is left alone.

    `unfinished`: only those that a killed process was writing.
    """
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        for name in os.listdir(folder):
            image = _IMAGE.fullmatch(name)
            if image and (image[1] or not unfinished):
                with suppress(OSError):
                    os.unlink(name, dir_fd=folder)
    finally:
        os.close(folder)
    with suppress(OSError):
        os.rmdir(path)
