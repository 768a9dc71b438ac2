"""What was read of kernels before, on disk: to read a library's machine code takes seconds.

One file for each image, named by a hash of its content. What it has is used only if the code that reads machine code is
the same. The files are taken as untrusted; where the folder cannot be used, nothing is remembered, and nothing is said.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from streamsan import machine_code
from streamsan.kernels.uses import Use
from streamsan.machine_code.kernel_accesses import KernelAccesses, kernel_accesses
from streamsan.machine_code.kernel_code import KernelCode
from streamsan.model.opencl.work_items import ByteRange, WorkItems
from streamsan.trace.cache_folder import users_folder, write_whole
from streamsan.vocabulary import AccessMode, SlotFlag
from streamsan.vocabulary.version import VERSION

LARGEST_FILE = 64 << 20
LONGEST_KERNEL = 50_000
"""instructions of a kernel whose code is kept"""
MOST_FILES = 4096
_FLAGS = (0, int(SlotFlag.ATOMIC))


class ProgramReach(Protocol):
    """What says which bytes a launch of an OpenCL kernel touches."""

    def numbers(self, name: str, given: Mapping[int, tuple[int, int]]) -> dict[int, int]:
        """Return the values of a kernel's parameters that are whole numbers, by their sizes and their bytes."""

    def reach(self, name: str, items: WorkItems, numbers: Mapping[int, int]) -> dict[int, tuple[ByteRange, ...]]:
        """Return which bytes a launch touches, by argument, where that is known."""


class ReadKernel(NamedTuple):
    """What is known of one kernel."""

    accesses: KernelAccesses
    code: KernelCode | None
    """None: too long to be kept, or there is none"""
    reach: ProgramReach | None = None
    """of an OpenCL program: how far launches reach, by the text or the module that it was built from"""


ReadKernels = dict[str, ReadKernel]
"""by symbol"""


def read_kernel(code: KernelCode) -> ReadKernel:
    """Read one kernel. The code of a long one is not kept, so that what is known is the same when it is remembered."""
    return ReadKernel(kernel_accesses(code), code if len(code.instructions) <= LONGEST_KERNEL else None)


class RememberedKernels:
    """What is known of the kernels of images."""

    def __init__(self, folder: Path | None) -> None:
        """`folder`: where the files lie; None: nothing is remembered."""
        self._folder = folder

    def of_image(self, content: bytes) -> ReadKernels:
        """Return what is known of the kernels of an image, by symbol."""
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            path = self._path(content)
            if path is not None and path.stat().st_size <= LARGEST_FILE:
                return _unpacked(json.loads(path.read_bytes()))
        return {}

    def add(self, content: bytes, found: ReadKernels) -> None:
        """Remember kernels of an image beside those known of it. Others may do the same at the same time."""
        with suppress(OSError, ValueError):
            path = self._path(content)
            if path is None or not found:
                return
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _make_room(path.parent)
            text = json.dumps(_packed({**self.of_image(content), **found}), separators=(",", ":"))
            write_whole(path, text.encode())

    def _path(self, content: bytes) -> Path | None:
        return self._folder and self._folder / f"{hashlib.sha256(content).hexdigest()}.json"


def kernels_folder() -> Path | None:
    """Return where what is known of kernels is remembered for this user; None where that is not known."""
    folder = users_folder()
    return folder and folder / "kernels"


def _make_room(folder: Path) -> None:
    """Remove the older half of the files when there are many."""
    files = [entry for entry in os.scandir(folder) if entry.is_file(follow_symlinks=False)]
    if len(files) >= MOST_FILES:
        for entry in sorted(files, key=lambda entry: entry.stat(follow_symlinks=False).st_mtime)[: len(files) // 2]:
            with suppress(OSError):
                os.unlink(entry.path)


@cache
def _readers_version() -> str:
    """Return what changes with the code that reads machine code."""
    version = hashlib.sha256(VERSION.encode())
    with suppress(OSError):
        for path in sorted(Path(machine_code.__path__[0]).glob("*.py")):
            version.update(path.read_bytes())
    return version.hexdigest()


def _packed(found: ReadKernels) -> dict[str, Any]:
    return {
        "reader": _readers_version(),
        "kernels": {
            symbol: {
                "words": {str(offset): [int(use.mode), int(use.flags)] for offset, use in kernel.words.items()},
                "variables": {name: [int(use.mode), int(use.flags)] for name, use in kernel.variables.items()},
                "follows_found": kernel.follows_found,
                "whole": kernel.whole,
                "talks": kernel.talks,
                "polled_words": sorted(word for word in kernel.polls if isinstance(word, int)),
                "polled_variables": sorted(name for name in kernel.polls if isinstance(name, str)),
                "constants": sorted(kernel.constants),
                "chosen": sorted(kernel.chosen),
                "images": {str(offset): [int(use.mode), int(use.flags)] for offset, use in kernel.images.items()},
                "chosen_images": sorted(kernel.chosen_images),
                "surfaces": sorted(kernel.surfaces),
                "code": None if code is None else code.as_json(),
            }
            for symbol, (kernel, code, _) in found.items()
        },
    }


def _unpacked(value: Any) -> ReadKernels:
    """Return what a file says. Raises ValueError, TypeError, KeyError or AttributeError where nobody wrote it so."""
    if value["reader"] != _readers_version():
        return {}
    return {symbol: _kernel(kernel) for symbol, kernel in value["kernels"].items()}


def _kernel(value: Any) -> ReadKernel:
    if not all(isinstance(value[name], bool) for name in ("follows_found", "whole", "talks")):
        raise TypeError("not a truth value")
    accesses = KernelAccesses(
        {_offset(offset): use for offset, use in _uses(value["words"]).items()},
        _uses(value["variables"]),
        value["follows_found"],
        value["whole"],
        value["talks"],
        frozenset((*map(_word, value["polled_words"]), *map(_symbol, value["polled_variables"]))),
        frozenset(map(_symbol, value["constants"])),
        frozenset(map(_word, value["chosen"])),
        {_offset(offset): use for offset, use in _uses(value["images"]).items()},
        frozenset(map(_word, value["chosen_images"])),
        frozenset(map(_word, value["surfaces"])),
    )
    return ReadKernel(accesses, None if value["code"] is None else KernelCode.from_json(value["code"]))


def _uses(value: Mapping[str, Any]) -> dict[str, Use]:
    uses = {}
    for name, (mode, flags) in value.items():
        if flags not in _FLAGS or isinstance(mode, bool):
            raise ValueError("not a use")
        uses[name] = Use(AccessMode(mode), int(flags))
    return uses


def _word(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 16:
        raise ValueError("not an offset")
    return value


def _symbol(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a name")
    return value


def _offset(text: str) -> int:
    if not text.isdecimal() or int(text) >= 1 << 16:
        raise ValueError("not an offset")
    return int(text)
