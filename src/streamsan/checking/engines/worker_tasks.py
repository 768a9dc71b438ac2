"""What workers do with a path. A task is pickled to get to them, and so is what they give back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from streamsan.analysis.checked import Checked, reason_of
from streamsan.analysis.inputs import analyse_path
from streamsan.analysis.programs import Outline, outline
from streamsan.analysis.source_options import SourceOptions
from streamsan.checking.defects import problem_of
from streamsan.evidence.proofs import Proofs
from streamsan.report import Problem


class CheckTask(Struct, frozen=True):
    """Check an input."""

    options: SourceOptions
    proofs: Proofs
    folder: str = ""
    """where paths and options are meant from; "": where the worker is"""

    def __call__(self, path: str) -> Checked | Problem:
        """Return what was found, or why it could not be read."""
        try:
            with _working_in(self.folder):
                checked = analyse_path(path, self.options, None, self.proofs)
            # The trace stays here: it may be large, and who reports needs none of it.
            alone = (replace(each, basis=each.basis.places_alone()) for each in checked.findings)
            return replace(checked, findings=tuple(alone))
        except _NoFolderError as error:
            return Problem(path, f"not checked: the worker has no folder {self.folder}: {error}")
        except Exception as error:
            return problem_of(path, error)


class OutlineTask(Struct, frozen=True):
    """Say what a source defines for others, and what it needs."""

    options: SourceOptions

    def __call__(self, path: str) -> Outline:
        """Return the outline of a source."""
        return outline(path, self.options)


class _NoFolderError(Exception):
    """A worker cannot work where it is to."""


@contextmanager
def _working_in(folder: str) -> Iterator[None]:
    """Work in a folder for a while. A worker does one task at a time, and may be lent by somebody else."""
    if not folder:
        yield
        return
    before = os.getcwd()
    try:
        os.chdir(folder)
    except OSError as error:
        raise _NoFolderError(reason_of(error)) from error
    try:
        yield
    finally:
        os.chdir(before)
