"""Tells what is at an offset of a module, from the module's file where that is still the one that was loaded."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO

from elftools.elf.elffile import ELFFile

from streamsan.trace.modules import Module
from streamsan.trace.symboliser.demangled import demangled
from streamsan.trace.symboliser.dwarf import DebugLines
from streamsan.trace.symboliser.elf import FunctionTable, build_id
from streamsan.trace.symbols import Frame

DEBUG_FOLDERS = ("/usr/lib/debug", "/usr/local/lib/debug")


class Symboliser:
    """Looks up addresses; each module is opened once, at its first address. Never raises for what a file says."""

    def __init__(self, loaded_before: float | None = None, debug_folders: Sequence[str] = DEBUG_FOLDERS) -> None:
        """`loaded_before`: seconds since 1970 when the recording began, None when not known.

        A module without a build id is believed to be the one that was loaded only if it is older than that.
        """
        self._loaded_before = loaded_before
        self._debug_folders = debug_folders
        self._modules: dict[Module, _ModuleFile | None] = {}

    def __call__(self, module: Module, offset: int) -> Sequence[Frame]:
        """Return the frames at an address as in the module's file, innermost first; none when not known."""
        if module not in self._modules:
            self._modules[module] = _opened(module, self._loaded_before, self._debug_folders)
        file = self._modules[module]
        return () if file is None else file.frames(offset)


class _ModuleFile:
    """An open executable or library, with its debug information, from its own file or from one beside it."""

    def __init__(self, elf: ELFFile, debug: ELFFile | None) -> None:
        sources = [elf] if debug is None else [debug, elf]
        self._functions = [FunctionTable(source) for source in sources]
        self._lines = _lines_of(sources)

    def frames(self, address: int) -> Sequence[Frame]:
        name = next((name for table in self._functions if (name := table.name_at(address))), "")
        if self._lines is not None:
            try:
                frames = self._lines.frames(address, name)
            except Exception:
                # Here too.
                frames = []
            if frames:
                return frames
        return (Frame("", 0, 0, demangled(name)),) if name else ()


def _lines_of(sources: Sequence[ELFFile]) -> DebugLines | None:
    """Return the lines of the first file that has any."""
    for source in sources:
        if DebugLines.present(source):
            try:
                return DebugLines(source)
            except Exception:
                # pyelftools meets damaged or newer DWARF with whatever its code runs into.
                return None
    return None


def _opened(module: Module, loaded_before: float | None, debug_folders: Sequence[str]) -> _ModuleFile | None:
    """Open a module's file if it is the one that was loaded; None else."""
    elf = _elf(module.path)
    if elf is None:
        return None
    try:
        found = build_id(elf)
        if found != module.build_id.lower():
            return None
        if not found and not _older(module.path, loaded_before):
            return None
        return _ModuleFile(elf, None if DebugLines.present(elf) else _debug_file(found, debug_folders))
    except Exception:
        # The same here: a file that is no proper ELF file says nothing.
        return None


def _debug_file(identity: str, folders: Sequence[str]) -> ELFFile | None:
    """Return the file that a distribution's debug package has for a build id."""
    if len(identity) < 3:
        return None
    for folder in folders:
        elf = _elf(os.path.join(folder, ".build-id", identity[:2], f"{identity[2:]}.debug"))
        if elf is not None and build_id(elf) == identity:
            return elf
    return None


def _elf(path: str) -> ELFFile | None:
    """Return a 64-bit little-endian ELF file, None for what is none or cannot be read."""
    stream = _opened_file(path)
    if stream is None:
        return None
    try:
        elf = ELFFile(stream)
    except Exception:
        stream.close()
        return None
    if elf.elfclass == 64 and elf.little_endian:
        return elf
    stream.close()
    return None


def _opened_file(path: str) -> IO[bytes] | None:
    # Only what has a place in the file system: the kernel's own code (`linux-vdso.so.1`) has none.
    if not path.startswith("/") or not os.path.isfile(path):
        return None
    try:
        return open(path, "rb")
    except OSError:
        return None


def _older(path: str, moment: float | None) -> bool:
    try:
        return moment is not None and os.stat(path).st_mtime < moment
    except OSError:
        return False
