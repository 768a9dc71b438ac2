"""The arguments of OpenCL's commands that order them: wait lists, the event that they return, whether they block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from streamsan.cuda_syntax.tree import Call, Expression, Unary
from streamsan.edits.cpp.calls import named_position
from streamsan.edits.cpp.layout import CppLayout
from streamsan.edits.cpp.places import CppPlace
from streamsan.edits.layout import NoPlaceError
from streamsan.findings.finding import Edit

NOTHING = ("NULL", "nullptr", "0")
"""as programs write that there is no list, or that no event is wanted"""
_BLOCKS = ("blocking_read", "blocking_write", "blocking_map", "blocking_copy")


def returned_event(place: CppPlace) -> Expression | None:
    """Return the variable that gets the event of the command at a place, None where there is none."""
    given = _argument(place, "event")
    return given.operand if isinstance(given, Unary) and given.operator == "&" else None


def into_wait_list(place: CppPlace, event: str, layout: CppLayout) -> Iterator[Sequence[Edit]]:
    """Yield the edits that put an event into the wait list of the command at a place.

    The list may be empty, have one event, or be an array that has this event next.
    """
    count, events = _argument(place, "num_events_in_wait_list"), _argument(place, "event_wait_list")
    if count is None or events is None:
        return
    try:
        number, written = layout.text(count.span), layout.text(events.span)
        if number == "0" and written in NOTHING:
            yield [layout.replaced(count.span, "1"), layout.replaced(events.span, f"&{event}")]
        elif number == "1" and written.startswith("&") and place.span.file.endswith(".c"):
            both = f"(cl_event[]){{{written[1:]}, {event}}}"
            yield [layout.replaced(count.span, "2"), layout.replaced(events.span, both)]
        elif number.isdecimal() and event == f"{written}[{number}]":
            yield [layout.replaced(count.span, str(int(number) + 1))]
    except NoPlaceError:
        return


def returning(place: CppPlace, event: str, layout: CppLayout) -> Sequence[Edit]:
    """Return the edit that lets the command at a place return its event, none where it does, or cannot."""
    given = _argument(place, "event")
    return () if given is None else _replaced(given, NOTHING, f"&{event}", layout)


def made_blocking(place: CppPlace, layout: CppLayout) -> Sequence[Edit]:
    """Return the edit that makes the call at a place wait for its command, none where it does, or cannot."""
    given = _argument(place, *_BLOCKS)
    return () if given is None else _replaced(given, ("CL_FALSE",), "CL_TRUE", layout)


def _replaced(given: Expression, known: Sequence[str], text: str, layout: CppLayout) -> Sequence[Edit]:
    try:
        return [layout.replaced(given.span, text)] if layout.text(given.span) in known else ()
    except NoPlaceError:
        return ()


def _argument(place: CppPlace, *names: str) -> Expression | None:
    call = place.call
    position = None if call is None else named_position(call, *names)
    if position is None or not isinstance(call, Call) or position >= len(call.arguments):
        return None
    return call.arguments[position]
