"""Commands by OpenCL's C++ wrappers: `queue.enqueueWriteBuffer(..., &events, &event)`; the last may be left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct

from streamsan.cuda_syntax.includes import OPENCL_HEADER
from streamsan.cuda_syntax.tree import Call, Expression, Member, Span, Unary
from streamsan.edits.cpp.layout import CppLayout
from streamsan.edits.cpp.places import CppPlace
from streamsan.edits.layout import NoPlaceError
from streamsan.findings.finding import Edit

_NOTHING = ("nullptr", "NULL", "0")
_METHOD = re.compile(
    r"^\s*(?:template <typename T> )?[\w:*]+ (?P<name>enqueue\w+)\((?P<parameters>.*?)\) const \{", re.M
)
_PARAMETER = re.compile(r"(?:[^,<]|<[^>]*>)+")
_WAITS = "streamsan_waits"


class _Parameter(Struct, frozen=True):
    name: str
    default: str
    """empty: it has none"""


@cache
def _methods() -> Mapping[str, tuple[_Parameter, ...]]:
    """Return the parameters of the methods of a queue that enqueue, by name, as the wrappers' header has them."""
    text = Path(OPENCL_HEADER).read_text(encoding="utf-8")
    found = {}
    for match in _METHOD.finditer(text):
        words = [each.strip().partition(" = ") for each in _PARAMETER.findall(match["parameters"])]
        found[match["name"]] = tuple(_Parameter(name.split()[-1], default) for name, _, default in words)
    return found


def parameters_of(call: Expression | None) -> Sequence[_Parameter]:
    """Return the parameters of a wrapped command, none where a call is of another function."""
    if not isinstance(call, Call) or not isinstance(call.callee, Member):
        return ()
    return _methods().get(call.callee.member, ())


def wrapped_event(place: CppPlace) -> Expression | None:
    """Return the variable that gets the event of the command at a place, None where there is none."""
    given = _argument(place, "event")
    return given.operand if isinstance(given, Unary) and given.operator == "&" else None


def returning_wrapped(place: CppPlace, event: str, layout: CppLayout) -> Sequence[Edit]:
    """Return the edit that lets the command at a place return its event, none where it does, or cannot."""
    return _with_argument(place, "event", f"&{event}", layout)


def into_wrapped_list(place: CppPlace, event: str, layout: CppLayout, name: str) -> Iterator[Sequence[Edit]]:
    """Yield the edits that let the command at a place wait for an event: by a vector `name` that is made before it."""
    given = _argument(place, "events")
    is_list = isinstance(given, Unary) and given.operator == "&"
    try:
        made = [f"const std::vector<cl::Event> {name}{{{event}}};"]
        if is_list and isinstance(given, Unary):
            made = [
                f"std::vector<cl::Event> {name} = {layout.text(given.operand.span)};",
                f"{name}.push_back({event});",
            ]
            listed: Sequence[Edit] = [layout.replaced(given.span, f"&{name}")]
        else:
            listed = _with_argument(place, "events", f"&{name}", layout)
        if listed:
            yield [*layout.before(place, made), *listed]
    except NoPlaceError:
        return


def wrapped_blocking(place: CppPlace, layout: CppLayout) -> Sequence[Edit]:
    """Return the edit that makes the call at a place wait for its command, none where it does, or cannot."""
    given = _argument(place, "blocking")
    try:
        return (
            [layout.replaced(given.span, "CL_TRUE")]
            if given is not None and layout.text(given.span) == "CL_FALSE"
            else ()
        )
    except NoPlaceError:
        return ()


def new_list_name(layout: CppLayout, file: str) -> str:
    """Return a name for a list of events that a file does not have."""
    names = (_WAITS, *(f"{_WAITS}_{number}" for number in range(2, 1000)))
    return next(name for name in names if not layout.has_word(file, name))


def _with_argument(place: CppPlace, name: str, text: str, layout: CppLayout) -> Sequence[Edit]:
    """Return the edit that gives a command an argument that is not there, or null, with the defaults before it."""
    call, parameters = place.call, parameters_of(place.call)
    position = next((number for number, each in enumerate(parameters) if each.name == name), None)
    if position is None or not isinstance(call, Call):
        return ()
    given = call.arguments
    try:
        if position < len(given):
            written = layout.text(given[position].span)
            return [layout.replaced(given[position].span, text)] if written in _NOTHING else ()
        between = [each.default for each in parameters[len(given) : position]]
        if not given or not all(between):
            return ()
        last: Span = given[-1].span
        names = [_qualified(each) for each in between]
        return [layout.replaced(last, ", ".join([layout.text(last), *names, text]))]
    except NoPlaceError:
        return ()


def _qualified(default: str) -> str:
    return default if default in _NOTHING else f"cl::{default}"


def _argument(place: CppPlace, name: str) -> Expression | None:
    call, parameters = place.call, parameters_of(place.call)
    position = next((number for number, each in enumerate(parameters) if each.name == name), None)
    if position is None or not isinstance(call, Call) or position >= len(call.arguments):
        return None
    return call.arguments[position]
