"""What a check is asked to read: the words of its options, held against what is there."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from msgspec import Struct, field
from msgspec.structs import replace

from streamsan.analysis.source_options import AllAlike, SourceOptions
from streamsan.analysis.source_roots import SourceRoots
from streamsan.analysis.suffixes import HEADER_SUFFIXES, SOURCE_SUFFIXES
from streamsan.checking.folders import Expanded, expand, expand_listed
from streamsan.checking.macros import Macros
from streamsan.checking.option_error import OptionError
from streamsan.cuda_syntax.compiler_options import CompilerOptions
from streamsan.findings.reading_gaps import MOST_PLACES, Unread
from streamsan.report import Problem, Report
from streamsan.report.printable import printable

if TYPE_CHECKING:
    from streamsan.checking.compile_commands.choice import CompileCommands
    from streamsan.checking.every_input import CheckedInputs
    from streamsan.checking.reporting import Reporting


class Request(Struct, frozen=True):
    """The inputs of a check, and how they are read."""

    expanded: Expanded
    options: SourceOptions
    limits: Sequence[Problem] = ()
    """what limits the result before anything is read"""
    unread: Unread = field(default_factory=Unread)

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
        compile_commands: str = "",
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
        roots = _roots(source_roots)
        if not compile_commands:
            options = SourceOptions(AllAlike(compiler), roots, contents or {})
            return cls(expand(paths, exclude, options.configurations), options)
        # Imported late: most runs have none.
        from streamsan.checking.compile_commands.choice import CompileCommands

        commands = CompileCommands.read(compile_commands, compiler)
        options = SourceOptions(commands.configurations, roots, contents or {})
        if paths:
            expanded = expand(paths, exclude, options.configurations)
            return cls(replace(expanded, remarks=[*expanded.remarks, *_without_entry(expanded, commands)]), options)
        expanded = expand_listed(commands.files, exclude, options.configurations)
        gone = [each.path for each in expanded.inputs if not os.path.lexists(each.path)]
        there = [each for each in expanded.inputs if each.path not in gone]
        if not expanded.inputs and not expanded.remarks:
            wrong = [Problem(commands.name, "no entry is of a source in this folder")]
            return cls(replace(expanded, unreadable=wrong), options)
        return cls(replace(expanded, inputs=there), options, _absent(commands, gone), Unread(absent=frozenset(gone)))

    def report(self, reporting: Reporting, checked: CheckedInputs) -> Report:
        """Return what is to be reported of what came of its inputs, with all that limits it."""
        unreadable = [*self.expanded.unreadable, *checked.unreadable]
        problems = [*self.limits, *unreadable, *checked.limits, *self.expanded.remarks]
        return reporting.report(checked.results, problems, Unread.merged([self.unread, checked.unread]))


def _folders(option: str, folders: Sequence[str]) -> tuple[Path, ...]:
    """Return folders that an option names. Without their headers nothing would be read as it is."""
    for folder in folders:
        if not os.path.isdir(folder):
            reason = "is no folder" if os.path.exists(folder) else "no such folder"
            raise OptionError(f"{option}: {printable(folder)}: {reason}")
    return tuple(Path(folder) for folder in folders)


def _require_includes(compiler: CompilerOptions) -> None:
    if not compiler.forced_includes:
        return
    # Imported late: most runs have none.
    from streamsan.cuda_syntax.includes import IncludeSearch

    search = IncludeSearch(compiler)
    for name in compiler.forced_includes:
        found = search.find(name, True, Path())
        if found.path is None and not found.system:
            raise OptionError(f"-include: {printable(name)}: no such file")


def _without_entry(expanded: Expanded, commands: CompileCommands) -> list[Problem]:
    """Return a remark on sources that are read as a neighbour is; of headers that is what everybody expects."""
    suffixes = SOURCE_SUFFIXES - HEADER_SUFFIXES
    count = sum(Path(each.path).suffix.lower() in suffixes and not commands.has(each.path) for each in expanded.inputs)
    if not count:
        return []
    words = "1 source has" if count == 1 else f"{count} sources have"
    return [Problem("", f"{words} no entry in {commands.name}, and the options of the nearest one", remark=True)]


def _absent(commands: CompileCommands, gone: Sequence[str]) -> list[Problem]:
    if not gone:
        return []
    words = "1 source is" if len(gone) == 1 else f"{len(gone)} sources are"
    more = ", ..." if len(gone) > MOST_PLACES else ""
    return [Problem(commands.name, f"{words} not there: {', '.join(gone[:MOST_PLACES])}{more}")]


def _roots(words: Sequence[str]) -> SourceRoots:
    try:
        return SourceRoots.of(words)
    except ValueError as error:
        raise OptionError(f"--source-root: {printable(str(error))}") from error
