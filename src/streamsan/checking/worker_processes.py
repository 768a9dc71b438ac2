"""Checks inputs in several processes. One that takes its process down, for lack of memory say, takes no other input."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace

from pebble import ProcessExpired, ProcessPool

from streamsan.analysis.checked import Checked
from streamsan.analysis.inputs import analyse_path
from streamsan.analysis.programs import Outline, outline
from streamsan.analysis.source_options import SourceOptions
from streamsan.checking.defects import problem_of
from streamsan.evidence.proofs import ALL, Proofs
from streamsan.report import Problem

_LOADED = ("streamsan.checking.worker_processes", "streamsan.cuda_source", "streamsan.evidence.second_pass")
"""what every process needs: loaded once, and there in each"""

Outcome = Checked | Problem


def outcomes(paths: Sequence[str], options: SourceOptions, proofs: Proofs, jobs: int) -> Iterator[Outcome]:
    """Check files in `jobs` processes, and yield what comes of each, in their order."""
    with _pool(min(jobs, len(paths)), options, proofs) as pool:
        # The largest begin first: one that takes long does not keep the others waiting at the end.
        futures = {path: pool.schedule(_check, args=[path]) for path in sorted(paths, key=_size, reverse=True)}
        for path in paths:
            yield _outcome(path, futures[path])


def outlines(paths: Sequence[str], options: SourceOptions, jobs: int) -> list[Outline]:
    """Return what each source defines and needs, read in `jobs` processes."""
    with _pool(min(jobs, len(paths)), options, ALL) as pool:
        futures = [pool.schedule(_outline, args=[path]) for path in paths]
        return [_outline_of(path, future) for path, future in zip(paths, futures, strict=True)]


@contextmanager
def _pool(size: int, options: SourceOptions, proofs: Proofs) -> Iterator[ProcessPool]:
    """So many processes, which end with the block."""
    # Not forked of this process, for it may have threads.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_LOADED))
    pool = ProcessPool(size, context=context, initializer=_begin, initargs=[options, proofs])
    try:
        yield pool
        pool.close()
    finally:
        pool.stop()
        pool.join()


def _outline(path: str) -> Outline:
    return outline(path, _Task.options)


def _outline_of(path: str, future: Future[Outline]) -> Outline:
    try:
        return future.result()
    except ProcessExpired:  # who checks it says so
        return Outline(path)


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except (OSError, ValueError):  # who checks it says why
        return 0


class _Task:
    """What a process was given for all that it checks, once: options may name thousands of sources."""

    options = SourceOptions()
    proofs = ALL


def _begin(options: SourceOptions, proofs: Proofs) -> None:
    _Task.options, _Task.proofs = options, proofs


def _check(path: str) -> Outcome:
    try:
        checked = analyse_path(path, _Task.options, None, _Task.proofs)
        # The trace stays here: it may be large, and who reports needs none of it.
        alone = (replace(each, basis=each.basis.places_alone()) for each in checked.findings)
        return replace(checked, findings=tuple(alone))
    except Exception as error:
        return problem_of(path, error)


def _outcome(path: str, future: Future[Outcome]) -> Outcome:
    try:
        return future.result()
    except ProcessExpired as error:
        return Problem(path, f"not checked: the process that checked it {_end(error.exitcode)}")


def _end(status: int) -> str:
    """Return how a process ended, of its status: negative where a signal ended it."""
    if status >= 0:
        return f"ended with status {status}"
    return f"was ended by {signal.Signals(-status).name}" + (": out of memory?" if -status == signal.SIGKILL else "")
