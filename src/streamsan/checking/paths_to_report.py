"""`streamsan.check`: sources, traces and folders, checked from Python."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from streamsan.analysis.source_files import SourceOptions
from streamsan.analysis.source_roots import SourceRoots
from streamsan.checking.every_input import check_all
from streamsan.checking.folders import expand
from streamsan.checking.option_error import OptionError
from streamsan.checking.reporting import Reporting
from streamsan.report import Report

PathLike = str | os.PathLike[str]


def check(
    paths: PathLike | Iterable[PathLike],
    *,
    defines: Mapping[str, str] | None = None,
    include_dirs: Iterable[PathLike] = (),
    source_roots: Iterable[PathLike] = (),
    exclude: Sequence[str] = (),
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    per_path_ignores: Mapping[str, Sequence[str]] | None = None,
    severity: Mapping[str, str] | None = None,
    suppressions: Iterable[PathLike] = (),
    baseline: PathLike | None = None,
    fixes: bool = True,
) -> Report:
    """Check CUDA sources, recorded traces (.sst) and folders of them, and return what was found.

    Options are those of `streamsan check`; no file of options is read. `defines` are macros (`{"USE_POOL": "1"}`),
    `select`, `ignore` and the keys of `severity` codes or beginnings of codes, `per_path_ignores` codes by pattern of
    paths, `source_roots` folders with the sources that traces name (`OLD=NEW` or a folder), `baseline` an earlier JSON
    report; without `fixes` none are sought, which takes less time. Findings are in the order of their places, notes
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
        suppressions=[os.fspath(file) for file in suppressions],
        baseline=os.fspath(baseline) if baseline is not None else "",
        notes=True,
        fixes=fixes,
    )
    folders = [os.fspath(folder) for folder in include_dirs]
    expanded = expand([os.fspath(path) for path in named], folders, exclude)
    try:
        roots = SourceRoots.of([os.fspath(folder) for folder in source_roots])
    except ValueError as error:
        raise OptionError(f"source_roots: {error}") from error
    options = SourceOptions(dict(defines or {}), folders, roots)
    results, failed, limits = check_all(expanded.inputs, options, proofs=reporting.proofs)
    return reporting.report(results, [*expanded.unreadable, *failed, *limits, *expanded.remarks])
