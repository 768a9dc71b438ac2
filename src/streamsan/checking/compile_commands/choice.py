"""Which entries of a `compile_commands.json` are those of a source."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from streamsan.analysis.checked import UnreadableError
from streamsan.analysis.suffixes import HEADER_SUFFIXES
from streamsan.checking.compile_commands.database import NAME, Entry, read_entries
from streamsan.checking.compile_commands.flags import Flags
from streamsan.checking.option_error import OptionError
from streamsan.cuda_syntax.compiler_options import CompilerOptions
from streamsan.report.printable import printable

OPTION = "-p"


class CompileCommands:
    """How sources are compiled: by their own entries, or as the nearest one."""

    def __init__(self, name: str, entries: Sequence[Entry], further: CompilerOptions) -> None:
        """`name` is the file's; `further` are options behind those of all entries."""
        self.name = name
        self._further = further
        self._entries: dict[str, list[Entry]] = {}
        self._nearest: dict[str, Entry] = {}
        """folder -> the entry of it, or below it, that stands in for others"""
        self._of_stem: dict[str, list[Entry]] = {}
        self._known: dict[str, tuple[CompilerOptions, ...]] = {}
        for entry in entries:
            self._entries.setdefault(entry.real, []).append(entry)
            self._of_stem.setdefault(Path(entry.real).stem, []).append(entry)
            for depth, folder in enumerate(Path(entry.real).parents):
                best = self._nearest.get(str(folder))
                if best is None or _rank(entry, depth) < _rank(best, _depth(best, folder)):
                    self._nearest[str(folder)] = entry

    @classmethod
    def read(cls, place: str, further: CompilerOptions) -> CompileCommands:
        """Read a file, or that of a folder. Raises OptionError with what is wrong with it."""
        path = os.path.join(place, NAME) if os.path.isdir(place) else place
        try:
            return cls(path, read_entries(path), further)
        except ValueError as error:
            raise OptionError(f"{OPTION}: {printable(f'{path}: {error}')}") from error

    @property
    def files(self) -> list[str]:
        """The sources of all entries, each once."""
        return [entries[0].file for entries in self._entries.values()]

    def has(self, path: str) -> bool:
        """Tell whether a source has an entry of its own."""
        return os.path.realpath(path) in self._entries

    def configurations(self, path: str) -> Sequence[CompilerOptions]:
        """Return how a source is compiled, each way once. Raises UnreadableError where its entry cannot be read."""
        real = os.path.realpath(path)
        if real not in self._known:
            own = self._entries.get(real)
            self._known[real] = self._read(path, own if own is not None else self._stand_in(real))
        return self._known[real]

    def _read(self, path: str, entries: Iterable[Entry]) -> tuple[CompilerOptions, ...]:
        suffix = Path(path).suffix.lower()
        found: dict[CompilerOptions, None] = {}
        for entry in entries:
            try:
                flags = Flags.of(entry.words(), entry.folder)
            except ValueError as error:
                raise UnreadableError(path, f"{self.name}: entry {entry.number}: {error}") from error
            # A header is what the source is that includes it.
            options = flags.options(entry.suffix if suffix in HEADER_SUFFIXES else suffix)
            found[_joined(options, self._further)] = None
        return tuple(found) or (self._further,)

    def _stand_in(self, real: str) -> list[Entry]:
        """Return the entry for a file that has none: of its stem and near, else the nearest; none where there are none.

        `include/net/x.h` and `src/x.cu` are near: what they have in common reaches up to a folder or two.
        """
        path = Path(real)
        alike = self._of_stem.get(path.stem, [])
        if alike:
            best = max(alike, key=lambda entry: len(_common(real, entry.real)))
            if len(_common(real, best.real)) >= len(path.parent.parts) - 2:
                return [best]
        for folder in path.parents:
            if str(folder) in self._nearest:
                return [self._nearest[str(folder)]]
        return []


def _rank(entry: Entry, depth: int) -> tuple[int, bool, int]:
    """The nearest comes first; of those that are as near, a source of CUDA."""
    return depth, entry.suffix != ".cu", entry.number


def _depth(entry: Entry, folder: Path) -> int:
    return len(Path(entry.real).parts) - len(folder.parts) - 1


def _common(first: str, second: str) -> tuple[str, ...]:
    """Return the folders that two files have in common, from the root on."""
    return Path(os.path.commonpath([os.path.dirname(first), os.path.dirname(second)])).parts


def _joined(options: CompilerOptions, further: CompilerOptions) -> CompilerOptions:
    return replace(
        options,
        macros=options.macros + further.macros,
        quote_dirs=options.quote_dirs + further.quote_dirs,
        include_dirs=options.include_dirs + further.include_dirs,
        system_dirs=options.system_dirs + further.system_dirs,
        forced_includes=options.forced_includes + further.forced_includes,
    )
