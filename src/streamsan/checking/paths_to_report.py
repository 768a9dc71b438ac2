"""`streamsan.check`: sources, traces and folders, checked from Python."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from streamsan.checking.every_input import check_all, together
from streamsan.checking.macros import macros_of
from streamsan.checking.reporting import Reporting
from streamsan.checking.request import Request
from streamsan.checking.source_programs import in_programs
from streamsan.report import Report

PathLike = str | os.PathLike[str]


def check(
    paths: PathLike | Iterable[PathLike] = (),
    *,
    defines: Mapping[str, str] | None = None,
    undefines: Sequence[str] = (),
    include_dirs: Iterable[PathLike] = (),
    system_include_dirs: Iterable[PathLike] = (),
    quote_include_dirs: Iterable[PathLike] = (),
    forced_includes: Iterable[PathLike] = (),
    compile_commands: PathLike | None = None,
    source_roots: Iterable[PathLike] = (),
    exclude: Sequence[str] = (),
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    per_path_ignores: Mapping[str, Sequence[str]] | None = None,
    severity: Mapping[str, str] | None = None,
    suppressions: Iterable[PathLike] = (),
    baseline: PathLike | None = None,
    fixes: bool = True,
    drawn: bool = False,
) -> Report:
    """Check CUDA sources, recorded traces (.sst) and folders of them, and return what was found.

    Options are those of `streamsan check`; no file of options is read. `defines` are macros (`{"USE_POOL": "1"}`),
    `undefines` names that are to be none; the folders and `forced_includes` are those of `-I`, `-isystem`, `-iquote`
    and `-include`; `compile_commands` is a `compile_commands.json` or its folder: without paths its sources are
    checked;
    `select`, `ignore` and the keys of `severity` codes or beginnings of codes, `per_path_ignores` codes by pattern of
    paths, `source_roots` folders with the sources that traces name (`OLD=NEW` or a folder), `baseline` an earlier JSON
    report; without `fixes` none are sought, which takes less time; `drawn` reports have what the format `html` draws.
    Findings are in the order of their places, notes
    among them.

    What could not be read, and what limits a result, is in `Report.problems`, and the rest is checked. Raises
    OptionError for an option that says what it may not.
    """
    named = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    reporting = Reporting.of(
        select=list(select),
        ignore=list(ignore),
        per_path_ignores=[f"{pattern}={','.join(codes)}" for pattern, codes in (per_path_ignores or {}).items()],
        severity=[f"{codes}={level}" for codes, level in (severity or {}).items()],
        suppressions=_words(suppressions),
        baseline=os.fspath(baseline) if baseline is not None else "",
        notes=True,
        fixes=fixes,
    )
    request = Request.of(
        _words(named),
        macros=macros_of(defines or {}, undefines),
        include_dirs=_words(include_dirs),
        system_dirs=_words(system_include_dirs),
        quote_dirs=_words(quote_include_dirs),
        forced_includes=_words(forced_includes),
        compile_commands=os.fspath(compile_commands) if compile_commands is not None else "",
        source_roots=_words(source_roots),
        exclude=exclude,
    )
    request = in_programs(request)
    inputs = request.expanded.inputs
    proofs = replace(reporting.proofs, drawn=drawn)
    checked = check_all(inputs, request.options, proofs=proofs, results=together(inputs)).whole()
    return request.report(reporting, checked)


def _words(paths: Iterable[PathLike]) -> list[str]:
    return [os.fspath(path) for path in paths]
