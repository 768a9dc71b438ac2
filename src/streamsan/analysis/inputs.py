"""Any input by its suffix: a source, or a trace."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from streamsan.analysis.checked import Checked, UnreadableError, reason_of
from streamsan.analysis.source_files import SOURCE_SUFFIXES, SourceOptions, analyse_source
from streamsan.analysis.traces import TRACE_SUFFIX, Progress, analyse_trace
from streamsan.evidence.proofs import ALL, Proofs

PYTHON_SUFFIXES = frozenset({".py", ".pyw"})


def analyse_path(
    path: str | os.PathLike[str],
    options: SourceOptions | None = None,
    progress: Progress | None = None,
    proofs: Proofs = ALL,
) -> Checked:
    """Check one file, a source or a trace by its suffix. Raises UnreadableError."""
    name = os.fspath(path)
    options = options or SourceOptions()
    if os.path.realpath(name) in options.contents:
        return analyse_source(name, options, proofs)
    _require_file(name)
    suffix = Path(name).suffix.lower()
    if suffix == TRACE_SUFFIX:
        return analyse_trace(name, progress, roots=options.roots, proofs=proofs)
    if suffix in SOURCE_SUFFIXES:
        return analyse_source(name, options, proofs)
    if suffix in PYTHON_SUFFIXES:
        raise UnreadableError(name, f"a Python program: `streamsan sim {name}` runs and checks it")
    raise UnreadableError(name, f"unknown kind of file: '{suffix}' is neither a CUDA C++ source nor a trace (.sst)")


def _require_file(path: str) -> None:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise UnreadableError(path, reason_of(error) if isinstance(error, OSError) else "no such file") from error
    if not stat.S_ISREG(mode):
        raise UnreadableError(path, "not a regular file")
