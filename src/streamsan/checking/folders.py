"""Which files a command line means: paths as given, folders walked in sorted order."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from streamsan.analysis.checked import UnreadableError, reason_of
from streamsan.analysis.source_options import Configurations, plain
from streamsan.analysis.suffixes import HEADER_SUFFIXES, SOURCE_SUFFIXES, TRACE_SUFFIX
from streamsan.patterns.late_pattern import late_pattern
from streamsan.report import Problem

if TYPE_CHECKING:
    from streamsan.analysis.device_words import DeviceWords
    from streamsan.checking.ignored import Ignored

_BUILD_FOLDER = late_pattern(r"(build|cmake-build.*|CMakeFiles|dist|node_modules|__pycache__|_deps)\Z")


PLAIN_SUFFIXES = SOURCE_SUFFIXES - {".cu", ".cuh"}
"""of files that may have nothing to do with a device"""


class Input(Struct, frozen=True):
    """One file to check. A header that a folder brought in is left out if a checked source includes it."""

    path: str
    only_if_not_included: bool = False
    together: bool = False
    """It was given beside others, or is listed with them: they may be one program."""


class Expanded(Struct, frozen=True):
    """What paths stand for."""

    inputs: list[Input]
    """each file once, headers of folders last; the files of one recorded run, one for each process, are one input"""
    unreadable: list[Problem]
    remarks: list[Problem]
    """what was left out of folders, and why"""


def expand(paths: Sequence[str], exclude: Sequence[str] = (), configurations: Configurations = plain) -> Expanded:
    """Return the files that paths name. `exclude` and .gitignore files leave out what folders bring in.

    Raises OptionError for a pattern that is none.
    """
    collection = _Collection(configurations)
    problems: list[Problem] = []
    for path in paths:
        if not os.path.isdir(path):
            collection.add(path, together=Path(path).suffix.lower() in SOURCE_SUFFIXES - HEADER_SUFFIXES)
            continue
        found = False
        for file in _files(path, _ignored(path, exclude), problems):
            found = True
            collection.add_from_folder(file)
        if not found and not any(problem.file == path for problem in problems):
            problems.append(Problem(path, "no sources or traces in this folder"))
    return collection.expanded(problems)


def expand_listed(files: Iterable[str], exclude: Sequence[str], configurations: Configurations) -> Expanded:
    """Return those of listed sources that the current folder would bring in if it were named.

    Raises OptionError for a pattern that is none.
    """
    collection = _Collection(configurations)
    ignored = _ignored(os.curdir, exclude)
    for file in files:
        if _has_input_suffix(file) and _is_brought_in(file, ignored):
            collection.add_from_folder(file, together=True)
    return collection.expanded([])


def _ignored(folder: str, exclude: Sequence[str]) -> Ignored:
    # Loaded late, for the time that it takes: a file that is named is not left out.
    from streamsan.checking.ignored import Ignored

    return Ignored(folder, exclude)


class _Collection:
    """The inputs of a check, each file once."""

    def __init__(self, configurations: Configurations) -> None:
        self._configurations = configurations
        self._named: dict[str, Input] = {}
        self._headers: dict[str, Input] = {}
        self._words: DeviceWords | None = None
        self._left_out = 0
        self._names: dict[str, list[str]] = {}
        """of folders with traces: a folder with thousands is read once"""

    def add(self, path: str, together: bool = False) -> None:
        path = self._first_of_run(path)
        self._named.setdefault(os.path.realpath(path), Input(path, together=together))

    def add_from_folder(self, file: str, together: bool = False) -> None:
        suffix = Path(file).suffix.lower()
        if suffix in PLAIN_SUFFIXES and not self._has_words(file):
            self._left_out += 1
        elif suffix in HEADER_SUFFIXES:
            self._headers.setdefault(os.path.realpath(file), Input(file, only_if_not_included=True))
        else:
            self.add(file, together)

    def _first_of_run(self, path: str) -> str:
        """Return the file that stands for all of a run; a path that is no trace of several files stays."""
        if Path(path).suffix.lower() != TRACE_SUFFIX:
            return path
        # Imported late: a source needs no reader of traces.
        from streamsan.trace import family

        folder = os.path.dirname(path)
        if folder not in self._names:
            self._names[folder] = family.names_beside(path)
        return family.members(path, self._names[folder])[0]

    def _has_words(self, file: str) -> bool:
        if self._words is None:
            # Loaded late, for the time that it takes: a file that is named is not looked through.
            from streamsan.analysis.device_words import DeviceWords

            self._words = DeviceWords()
        try:
            return any(self._words.found_in(file, each) for each in self._configurations(file))
        except UnreadableError:  # who checks it says why
            return True

    def expanded(self, problems: list[Problem]) -> Expanded:
        headers = (header for real, header in self._headers.items() if real not in self._named)
        return Expanded([*self._named.values(), *headers], problems, _left_out(self._left_out))


def _is_brought_in(file: str, ignored: Ignored) -> bool:
    """Tell whether a walk from the current folder comes to a file."""
    *folders, name = Path(file).parts
    if os.path.isabs(file) or os.pardir in folders or name.startswith("."):
        return False
    for count, folder in enumerate(folders, 1):
        path = os.path.join(*folders[:count])
        if folder.startswith(".") or _BUILD_FOLDER.match(folder) or ignored.leaves_out(path, is_folder=True):
            return False
    return not ignored.leaves_out(file, is_folder=False)


def _left_out(count: int) -> list[Problem]:
    if not count:
        return []
    words = "1 file" if count == 1 else f"{count} files"
    verb = "was" if count == 1 else "were"
    return [Problem("", f"{words} without a word of CUDA or OpenCL {verb} left out", remark=True)]


def _files(folder: str, ignored: Ignored, problems: list[Problem]) -> Iterator[str]:
    """Yield the sources and traces below a folder in sorted order; hidden, build and ignored folders are left out."""
    pending = [folder]
    while pending:
        current = pending.pop()
        try:
            with os.scandir(current) as entries:
                listing = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            problems.append(Problem(current, reason_of(error)))
            continue
        folders = []
        for entry in listing:
            if entry.name.startswith("."):
                continue
            # A linked folder may lead back up: the walk stays in the tree it was given.
            if entry.is_dir(follow_symlinks=False):
                if not _BUILD_FOLDER.match(entry.name) and not ignored.leaves_out(entry.path, is_folder=True):
                    folders.append(entry.path)
            elif _has_input_suffix(entry.name) and not ignored.leaves_out(entry.path, is_folder=False):
                try:
                    if entry.is_file():
                        yield entry.path
                except OSError as error:  # a link that leads to itself
                    problems.append(Problem(entry.path, reason_of(error)))
        pending.extend(reversed(folders))


def _has_input_suffix(name: str) -> bool:
    return Path(name).suffix.lower() in SOURCE_SUFFIXES | {TRACE_SUFFIX}
