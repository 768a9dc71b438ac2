"""Any input by its suffix: a source, or a trace."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from streamsan.analysis.checked import Checked, UnreadableError, reason_of
from streamsan.analysis.source_options import SourceOptions
from streamsan.analysis.suffixes import PYTHON_PROGRAMS, SOURCE_SUFFIXES, TRACE_SUFFIX
from streamsan.evidence.proofs import ALL, Proofs

if TYPE_CHECKING:
    from streamsan.analysis.traces import Progress


def analyse_path(
    path: str | os.PathLike[str],
    options: SourceOptions | None = None,
    progress: Progress | None = None,
    proofs: Proofs = ALL,
) -> Checked:
    """Check one file, a source or a trace by its suffix. Raises UnreadableError."""
    name = os.fspath(path)
    options = options or SourceOptions()
    if options.contents and os.path.realpath(name) in options.contents:
        return _analysed_source(name, options, proofs)
    _require_file(name)
    suffix = Path(name).suffix.lower()
    if suffix == TRACE_SUFFIX:
        # Imported late: a source needs no reader of traces.
        from streamsan.analysis.traces import analyse_trace

        return analyse_trace(name, progress, roots=options.roots, proofs=proofs)
    if suffix in SOURCE_SUFFIXES:
        return _analysed_source(name, options, proofs)
    if suffix in PYTHON_PROGRAMS:
        raise UnreadableError(name, f"a Python program: `streamsan sim {name}` runs and checks it")
    raise UnreadableError(name, f"unknown kind of file: '{suffix}' is neither a CUDA C++ source nor a trace (.sst)")


def _analysed_source(name: str, options: SourceOptions, proofs: Proofs) -> Checked:
    # Imported late: a result that is remembered needs no reader, nor does a trace.
    from streamsan.analysis.source_files import analyse_source

    return analyse_source(name, options, proofs)


def _require_file(path: str) -> None:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise UnreadableError(path, reason_of(error) if isinstance(error, OSError) else "no such file") from error
    if not stat.S_ISREG(mode):
        raise UnreadableError(path, "not a regular file")
