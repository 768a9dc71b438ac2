"""What a check is asked to read: the words of its options, held against what is there."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from streamsan.analysis.source_files import SourceOptions
from streamsan.analysis.source_roots import SourceRoots
from streamsan.checking.folders import Expanded, expand
from streamsan.checking.macros import Macros
from streamsan.checking.option_error import OptionError
from streamsan.cuda_syntax.compiler_options import CompilerOptions
from streamsan.cuda_syntax.includes import IncludeSearch
from streamsan.report.printable import printable


@dataclass(frozen=True, slots=True)
class Request:
    """The inputs of a check, and how they are read."""

    expanded: Expanded
    options: SourceOptions

    @classmethod
    def of(
        cls,
        paths: Sequence[str],
        *,
        macros: Macros = (),
        include_dirs: Sequence[str] = (),
        system_dirs: Sequence[str] = (),
        quote_dirs: Sequence[str] = (),
        forced_includes: Sequence[str] = (),
        source_roots: Sequence[str] = (),
        exclude: Sequence[str] = (),
        contents: Mapping[str, bytes] | None = None,
    ) -> Self:
        """Find the inputs. Raises OptionError for an option that says what it may not.

        `contents`: real path -> what to take a file for, in place of what is in it.
        """
        compiler = CompilerOptions(
            macros,
            _folders("-iquote", quote_dirs),
            _folders("-I", include_dirs),
            _folders("-isystem", system_dirs),
            tuple(forced_includes),
        )
        _require_includes(compiler)
        options = SourceOptions(lambda path: (compiler,), _roots(source_roots), contents or {})
        return cls(expand(paths, exclude, options.configurations), options)


def _folders(option: str, folders: Sequence[str]) -> tuple[Path, ...]:
    """Return folders that an option names. Without their headers nothing would be read as it is."""
    for folder in folders:
        if not os.path.isdir(folder):
            reason = "is no folder" if os.path.exists(folder) else "no such folder"
            raise OptionError(f"{option}: {printable(folder)}: {reason}")
    return tuple(Path(folder) for folder in folders)


def _require_includes(compiler: CompilerOptions) -> None:
    search = IncludeSearch(compiler)
    for name in compiler.forced_includes:
        found = search.find(name, True, compiler.folder)
        if found.path is None and not found.system:
            raise OptionError(f"-include: {printable(name)}: no such file")


def _roots(words: Sequence[str]) -> SourceRoots:
    try:
        return SourceRoots.of(words)
    except ValueError as error:
        raise OptionError(f"--source-root: {printable(str(error))}") from error
