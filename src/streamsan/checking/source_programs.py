"""Sources that are given together, put together into programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from streamsan.analysis.programs import Outline, outline, partners_of, programs_of
from streamsan.analysis.source_options import SourceOptions
from streamsan.checking.every_input import Workers
from streamsan.checking.request import Request
from streamsan.report import Problem

if TYPE_CHECKING:
    from streamsan.checking.engines.worker_engine import WorkerEngine
    from streamsan.checking.remembered.results import RememberedResults


def in_programs(request: Request, jobs: int = 1, remembered: RememberedResults | None = None) -> Request:
    """Return a request with one input for each program, and options that know the programs."""
    expanded, options = request.expanded, request.options
    together = [each.path for each in expanded.inputs if each.together]
    if len(together) < 2:
        return request
    found = programs_of(_outlines(together, options, jobs, remembered))
    first = {program[0] for program in found.programs}
    kept = [each for each in expanded.inputs if not each.together or each.path in first]
    remarks = [*expanded.remarks, *_remarks(found.cut_short)]
    options = replace(options, partners=partners_of(found))
    return replace(request, expanded=replace(expanded, inputs=kept, remarks=remarks), options=options)


def _outlines(
    paths: Sequence[str], options: SourceOptions, jobs: int, remembered: RememberedResults | None
) -> list[Outline]:
    """Return what each source defines and needs; those that have not changed are not read."""
    found: dict[str, Outline] = {}
    if remembered is not None:
        known = [remembered.find_outline(path) for path in paths]
        found = {each.path: each for each in known if each is not None}
    unknown = [path for path in paths if path not in found]
    engine = Workers(jobs).engine(len(unknown))
    read = [outline(path, options) for path in unknown] if engine is None else _spread(engine, unknown, options)
    for each in read:
        found[each.path] = each
        if remembered is not None:
            remembered.keep_outline(each)
    return [found[path] for path in paths]


def _spread(engine: WorkerEngine, paths: Sequence[str], options: SourceOptions) -> list[Outline]:
    """Return the outlines of sources, which workers read."""
    # Loaded late, for the time that it takes.
    from streamsan.checking.engines.lost_workers import outcomes
    from streamsan.checking.engines.worker_engine import WorkerLost
    from streamsan.checking.engines.worker_tasks import OutlineTask

    # Of one that kills its workers nothing is known here: who checks it says so.
    found = outcomes(engine, OutlineTask(options), paths)
    return [Outline(path) if isinstance(each, WorkerLost) else each for path, each in found]


def _remarks(cut_short: int) -> list[Problem]:
    if not cut_short:
        return []
    words = "1 source is" if cut_short == 1 else f"{cut_short} sources are"
    return [Problem("", f"{words} not read with a program that calls them: there would be too many", remark=True)]
