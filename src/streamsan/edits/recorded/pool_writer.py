"""A pool is told of a stream that uses a block: `x.record_stream(s)`, where the tensor has a name."""

from __future__ import annotations

from collections.abc import Iterator

from streamsan.edits.layout import NoPlaceError
from streamsan.edits.python.layout import PythonLayout
from streamsan.edits.recorded.frameworks import TORCH
from streamsan.edits.recorded.recorded_text import RecordedTexts
from streamsan.edits.recorded.stream_names import StreamNames
from streamsan.edits.recorded.tensor_names import named_places
from streamsan.edits.recorded.written import Written
from streamsan.evidence.fix.edited_trace import EditableTrace
from streamsan.evidence.fix.pool_steps import StreamTold
from streamsan.rules.case import Case
from streamsan.vocabulary import RelatedRole

NO_TENSOR = "the tensor has no name that is sure, neither where it is used nor where it is dropped"


def told(
    step: StreamTold, case: Case, trace: EditableTrace, texts: RecordedTexts, names: StreamNames, reasons: list[str]
) -> Iterator[Written]:
    """Yield the ways to write the step, the nearest to the use first."""
    row = trace.row(step.use)
    if row is None:
        return
    stream = int(trace.slots["stream"][row])
    found = False
    for there in named_places(trace, texts, case.first(RelatedRole.ALLOC), step.use, step.release):
        found = True
        place = there.frame.place
        written = names.of(stream, place, TORCH)
        if not written:
            reasons.append(f"{case.stream(step.use)} has no name that is sure at line {place.span.line}")
            continue
        layout = PythonLayout(texts.texts)
        code = f"{there.name}.record_stream({written[0]})"
        try:
            edits = layout.behind(place, [code]) if there.behind else layout.before(place, [code])
        except NoPlaceError:
            reasons.append(f"line {place.span.line} has no room for a statement")
            continue
        span = layout.span(place.statement) if place.statement is not None else place.span
        where = f"after line {span.end_line}" if there.behind else f"before line {span.line}"
        yield Written(f"{where}: {code}", tuple(edits), step)
    if not found:
        reasons.append(NO_TENSOR)
