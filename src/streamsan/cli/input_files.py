"""Which files a command line means: paths as given, folders walked in sorted order."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from streamsan.analysis.checked import reason_of
from streamsan.analysis.source_files import HEADER_SUFFIXES, SOURCE_SUFFIXES
from streamsan.analysis.traces import TRACE_SUFFIX
from streamsan.report import Problem
from streamsan.trace import family

_BUILD_FOLDER = re.compile(r"(build|cmake-build.*|CMakeFiles|dist|node_modules|__pycache__|_deps)\Z")


@dataclass(frozen=True, slots=True)
class Input:
    """One file to check. A header that a folder brought in is left out if a checked source includes it."""

    path: str
    only_if_not_included: bool = False


def expand(paths: Sequence[str]) -> tuple[list[Input], list[Problem]]:
    """Return the files that paths name, each once, headers of folders last, and what could not be read.

    The files of one recorded run, one for each process, are one input.
    """
    named: dict[str, Input] = {}
    headers: dict[str, Input] = {}
    problems: list[Problem] = []
    for path in paths:
        if not os.path.isdir(path):
            path = _first_of_run(path)
            named.setdefault(os.path.realpath(path), Input(path))
            continue
        found = False
        for file in _files(path, problems):
            found = True
            if Path(file).suffix.lower() in HEADER_SUFFIXES:
                headers.setdefault(os.path.realpath(file), Input(file, only_if_not_included=True))
            else:
                file = _first_of_run(file)
                named.setdefault(os.path.realpath(file), Input(file))
        if not found and not any(problem.file == path for problem in problems):
            problems.append(Problem(path, "no sources or traces in this folder"))
    return [*named.values(), *(header for real, header in headers.items() if real not in named)], problems


def _first_of_run(path: str) -> str:
    """Return the file that stands for all of a run; a path that is no trace of several files stays."""
    return family.members(path)[0] if Path(path).suffix.lower() == TRACE_SUFFIX else path


def _files(folder: str, problems: list[Problem]) -> Iterator[str]:
    """Yield the sources and traces below a folder in sorted order, without hidden folders and build folders."""
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
                if not _BUILD_FOLDER.match(entry.name):
                    folders.append(entry.path)
            elif Path(entry.name).suffix.lower() in SOURCE_SUFFIXES | {TRACE_SUFFIX} and entry.is_file():
                yield entry.path
        pending.extend(reversed(folders))
