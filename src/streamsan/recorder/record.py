"""`streamsan.record`: a program that uses CUDA or OpenCL, run and recorded from Python."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import Struct

from streamsan.recorder.child_process import find_program, run_program
from streamsan.recorder.completion import complete
from streamsan.recorder.environment import own_environment
from streamsan.recorder.launch import Wanted, recording
from streamsan.recorder.nothing_recorded import why_nothing
from streamsan.recorder.preconditions import RecordingError, obstacle, required_library
from streamsan.recorder.redaction import redaction_of_this_run
from streamsan.trace.family import SUFFIX


class Recorded(Struct, frozen=True):
    """What came of a run."""

    status: int
    """the program's exit status; below 0: minus the signal that ended it"""
    trace: str
    """the file to check, "" where nothing was recorded"""
    files: tuple[str, ...]
    """all files of the run, one for each process that used CUDA or OpenCL"""
    omissions: tuple[str, ...]
    """what could not be recorded, one line each"""


def record(
    command: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    sites: bool = True,
    max_bytes: int = 0,
    source: bool = True,
    redact: bool = False,
    code: bool = True,
    host_accesses: bool = False,
    driver_pools: bool = False,
    poison: bool = False,
    times: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Recorded:
    """Run a program and record what it asks of its GPU as `output` (F.sst); nothing is rebuilt, nothing is checked.

    The program's input and output are those of this process. `sites`: whether the trace has call sites; `max_bytes`: of
    a long run the end is kept, 0: all; `source`: whether it has the source lines that call sites name; `redact`: leave
    out what identifies people and machines, source lines and machine code; `code`: keep the kernels' machine code, from
    which a check reads what they touch, in the folder F.code; `host_accesses`: record the host's accesses to memory
    that work uses; `driver_pools`: frameworks take the driver's pools instead of their own, which changes what is used
    again when; `poison`: what was given back is overwritten, so that a use that comes too late computes something else;
    `times`: record when the device did the work (CUDA); `environment`: the program's, instead of this process's.
    Signals that this process receives meanwhile are passed on, so that it is to be called on the main thread.

    Raises RecordingError where nothing could be recorded from the beginning: a program that is not there, no recorder
    in this installation, another tool in its place. Where the program left nothing `omissions` says why.
    """
    arguments = [os.fspath(word) for word in command]
    path = os.fspath(output)
    if not arguments:
        raise RecordingError("no command")
    if not path.endswith(SUFFIX):
        raise RecordingError(f"{path} does not end in {SUFFIX}")
    library = required_library()
    given = own_environment() if environment is None else _encoded(environment)
    if reason := obstacle(given, library):
        raise RecordingError(reason)
    try:
        program = find_program(arguments[0], given)
        folders = [os.path.dirname(program), os.path.dirname(path)]
        redaction = redaction_of_this_run(given, folders) if redact else None
        with recording(
            str(library),
            path,
            program,
            given,
            Wanted(
                max_bytes=max_bytes,
                sites=sites,
                redact=redact,
                code=code,
                host_accesses=host_accesses,
                driver_pools=driver_pools,
                poison=poison,
                times=times,
            ),
        ) as run:
            status = run_program(program, arguments, partial(run.environment, given))
            omissions, files = run.omissions(), run.files()
            if not files and not omissions:
                omissions = [why_nothing(arguments[0], run.settings.counter)]
    except OSError as error:
        raise RecordingError(f"{arguments[0]}: {error.strerror or error}") from error
    completed = complete(files, run.started, source=source, redaction=redaction)
    files = completed.files
    return Recorded(status, files[0] if files else "", tuple(files), (*omissions, *completed.problems))


def _encoded(environment: Mapping[str, str]) -> dict[bytes, bytes]:
    return {os.fsencode(name): os.fsencode(value) for name, value in environment.items()}
