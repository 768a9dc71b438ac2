"""What a line of a recorded Python program called: the function of a framework that led to a call of the API."""

from __future__ import annotations

import re

from streamsan.findings.suppressions import PYTHON_SUFFIXES
from streamsan.order.facts import Operation
from streamsan.patterns.late_pattern import late_pattern
from streamsan.rules.case import Case
from streamsan.trace.trace import RECORDING

_WAITS = late_pattern("wait|sync|finish|block_until", re.IGNORECASE)
_PACKAGE = late_pattern(r"/(?:site|dist)-packages/(\w+(?:/\w+)*)/__init__\.py$")


def is_in_python(case: Case, operation: Operation) -> bool:
    """Tell whether a recorded operation comes from a line of Python."""
    return case.names.origin == RECORDING and case.names.site(operation.site).file.endswith(PYTHON_SUFFIXES)


def python_call(case: Case, operation: Operation) -> str:
    """Return what the line called, as its programmer writes it (`torch.cuda.synchronize`), "" where nobody knows.

    Of a method the class is named (`Stream.wait_stream`), where the interpreter tells it.
    """
    if not is_in_python(case, operation):
        return ""
    called = case.names.library_call(operation.site)
    package = _PACKAGE.search(called.file)
    if package is None or "." in called.function:
        return called.function
    return f"{package[1].replace('/', '.')}.{called.function}"


def python_wait(case: Case, operation: Operation) -> str:
    """Return the function of a framework that the line called to wait, "" where that is none, or not known."""
    called = python_call(case, operation)
    return called if _WAITS.search(called.rpartition(".")[2]) else ""


def named_wait(case: Case, operation: Operation) -> str:
    """Return a wait's call in backticks: what the line of Python called to wait, else the API's function."""
    framework = python_wait(case, operation)
    return f"`{framework}()`" if framework else case.call(operation)


def line_waits(case: Case, operation: Operation) -> bool:
    """Tell whether a line of Python asks for a wait, as far as known: by what it calls, or by its text."""
    if python_wait(case, operation):
        return True
    site = case.names.site(operation.site)
    text = case.names.source_lines.get(site.file, {}).get(site.line, "")
    return bool(_WAITS.search(text)) if text else not python_call(case, operation)
