"""A block of a running program, checked where it stands: what it asks of its GPU is recorded, and judged at its end.

    import streamsan.torch              # or streamsan.sections, for any other framework

    with streamsan.torch.check() as section:
        step(batch)
    section.findings()                  # notes too

The block fails with an AssertionError that has the report, if a finding is a warning or an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamsan.sections.section import Section


def prepare(max_bytes: int = 0) -> None:
    """Make the CUDA driver load the recorder when it is initialised in this process.

    To be called before the program's first use of CUDA; `check` does it by itself where that is early enough. The
    recording is in a folder of its own, which goes with the process; of a long one the last `max_bytes` are kept, 1 GiB
    where that is 0. Does nothing under `streamsan run`. Raises RecordingError, with the reason in one line, where that
    is not possible.
    """
    from streamsan.sections.present_recorder import recorder_of_this_process

    recorder_of_this_process(max_bytes)


@contextmanager
def check(
    *,
    raises: bool = True,
    fixes: bool = True,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    suppressions: Sequence[str] = (),
) -> Iterator[Section]:
    """Record and check what a `with` block does on the GPU; what came before is known, and not judged.

    The block ends with an AssertionError if a finding is a warning or an error, unless `raises` is False; beside an
    exception of its own, that one has the report as a note. `fixes`, `select`, `ignore` and `suppressions` are those of
    `streamsan.check`. Raises RecordingError where nothing can be recorded, OptionError for an option that says what it
    may not.
    """
    from streamsan.sections.section import Section

    section = Section(fixes=fixes, select=select, ignore=ignore, suppressions=suppressions)
    try:
        yield section
    except Exception as error:
        section.end()
        if wrong := section.problem():
            error.add_note(wrong)
        raise
    section.end()
    if raises:
        section.check()
