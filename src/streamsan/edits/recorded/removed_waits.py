"""A wait that adds nothing is taken out of the text: a statement of its own that does nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from streamsan.edits.layout import NoPlaceError
from streamsan.edits.python.layout import PythonLayout
from streamsan.edits.recorded.recorded_text import RecordedTexts, is_alone
from streamsan.edits.recorded.rows_of_text import CodePut
from streamsan.edits.recorded.written import Written
from streamsan.evidence.fix.change_steps import WaitsRemoved
from streamsan.evidence.fix.edited_trace import EditableTrace
from streamsan.vocabulary import OperationKind

_WAITS = ("synchronize", "deviceSynchronize", "wait", "wait_stream", "wait_event", "finish")
"""functions that do nothing but wait"""
_OF_BINDINGS = re.compile(r"cu(da)?(Device|Ctx|Stream|Event)(Synchronize|WaitEvent)")
_BESIDE = (
    OperationKind.CALL,
    OperationKind.CONTEXT_CURRENT,
    OperationKind.EVENT_CREATE,
    OperationKind.EVENT_RECORD,
    OperationKind.EVENT_DESTROY,
)
"""what they issue beside the wait"""
NOT_ALONE = "the wait is not a statement of its own"


def removed(step: WaitsRemoved, trace: EditableTrace, texts: RecordedTexts, reasons: list[str]) -> Iterator[Written]:
    """Yield the removal of one wait."""
    (wait,) = step.waits
    frames = texts.frames(wait.site)
    if not frames:
        reasons.append(texts.why_not(wait.site))
        return
    place = frames[0].place
    call, statement = place.call, place.statement
    if call is None or statement is None or not is_alone(place):
        reasons.append(NOT_ALONE)
        return
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name not in _WAITS and not _OF_BINDINGS.fullmatch(name):
        reasons.append(NOT_ALONE)
        return
    if place.is_in_loop and place.block is not None and len(place.block) == 1:
        reasons.append("the wait is all that its loop does: it may wait for more than this run shows")
        return
    if not CodePut(frames[0]).does_only(trace, (wait.kind, *_BESIDE)):
        reasons.append(f"line {place.span.line} does more than wait")
        return
    layout = PythonLayout(texts.texts)
    try:
        edits = layout.removed(place, [statement])
    except NoPlaceError as error:
        reasons.append(str(error) or NOT_ALONE)
        return
    yield Written(f"remove line {place.span.line} ({place.text.of(call)})", tuple(edits), step)
