"""Which files a command line means: paths as given, folders walked in sorted order."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from streamsan.analysis.checked import reason_of
from streamsan.analysis.device_words import DeviceWords
from streamsan.analysis.source_files import HEADER_SUFFIXES, SOURCE_SUFFIXES, Configurations, plain
from streamsan.analysis.traces import TRACE_SUFFIX
from streamsan.checking.ignored import Ignored
from streamsan.report import Problem
from streamsan.trace import family

_BUILD_FOLDER = re.compile(r"(build|cmake-build.*|CMakeFiles|dist|node_modules|__pycache__|_deps)\Z")


PLAIN_SUFFIXES = SOURCE_SUFFIXES - {".cu", ".cuh"}
"""of files that may have nothing to do with a device"""


@dataclass(frozen=True, slots=True)
class Input:
    """One file to check. A header that a folder brought in is left out if a checked source includes it."""

    path: str
    only_if_not_included: bool = False


@dataclass(frozen=True, slots=True)
class Expanded:
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
    named: dict[str, Input] = {}
    headers: dict[str, Input] = {}
    problems: list[Problem] = []
    words = DeviceWords()
    left_out = 0
    for path in paths:
        if not os.path.isdir(path):
            path = _first_of_run(path)
            named.setdefault(os.path.realpath(path), Input(path))
            continue
        found = False
        for file in _files(path, Ignored(path, exclude), problems):
            found = True
            suffix = Path(file).suffix.lower()
            if suffix in PLAIN_SUFFIXES and not any(words.found_in(file, each) for each in configurations(file)):
                left_out += 1
            elif suffix in HEADER_SUFFIXES:
                headers.setdefault(os.path.realpath(file), Input(file, only_if_not_included=True))
            else:
                file = _first_of_run(file)
                named.setdefault(os.path.realpath(file), Input(file))
        if not found and not any(problem.file == path for problem in problems):
            problems.append(Problem(path, "no sources or traces in this folder"))
    inputs = [*named.values(), *(header for real, header in headers.items() if real not in named)]
    return Expanded(inputs, problems, _left_out(left_out))


def _left_out(count: int) -> list[Problem]:
    if not count:
        return []
    words = "1 file without a word of CUDA was" if count == 1 else f"{count} files without a word of CUDA were"
    return [Problem("", f"{words} left out", remark=True)]


def _first_of_run(path: str) -> str:
    """Return the file that stands for all of a run; a path that is no trace of several files stays."""
    return family.members(path)[0] if Path(path).suffix.lower() == TRACE_SUFFIX else path


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
