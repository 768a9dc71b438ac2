"""Sources that are given together, put together into programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from streamsan.analysis.programs import outline, partners_of, programs_of
from streamsan.analysis.source_options import SourceOptions
from streamsan.checking.every_input import FEWEST_FOR_PROCESSES
from streamsan.checking.folders import Input
from streamsan.report import Problem


def in_programs(
    inputs: Sequence[Input], options: SourceOptions, jobs: int = 1
) -> tuple[list[Input], SourceOptions, list[Problem]]:
    """Return one input for each program, options that know the programs, and what is to be said of them."""
    together = [each.path for each in inputs if each.together]
    if len(together) < 2:
        return list(inputs), options, []
    if jobs == 1 or len(together) < FEWEST_FOR_PROCESSES:
        outlines = [outline(path, options) for path in together]
    else:
        # Loaded late, for the time that it takes.
        from streamsan.checking import worker_processes

        outlines = worker_processes.outlines(together, options, jobs)
    found = programs_of(outlines)
    first = {program[0] for program in found.programs}
    kept = [each for each in inputs if not each.together or each.path in first]
    return kept, replace(options, partners=partners_of(found)), _remarks(found.cut_short)


def _remarks(cut_short: int) -> list[Problem]:
    if not cut_short:
        return []
    words = "1 source is" if cut_short == 1 else f"{cut_short} sources are"
    return [Problem("", f"{words} not read with a program that calls them: there would be too many", remark=True)]
