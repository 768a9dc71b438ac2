"""What an event between two commands is where commands have wait lists: one in the wait list of the later."""

from __future__ import annotations

from streamsan.evidence.fix.named_lines import is_called_there, line_beside
from streamsan.findings.suppressions import PYTHON_SUFFIXES
from streamsan.order.facts import Operation
from streamsan.rules.case import Case
from streamsan.rules.names_in_lines import event_in_line


def has_wait_lists(case: Case) -> bool:
    """Tell whether commands return events and wait for lists of them, as OpenCL's do."""
    return "wait_list" in case.platform.rule_texts.get("phrase", {})


def in_wait_list(case: Case, earlier: Operation, later: Operation) -> str:
    """Return the words that make `later` wait for the event of `earlier`, by its name where the later line knows it."""
    event = _event_there(case, earlier, later)
    names = {"earlier": command_of(case, earlier, later), "later": command_of(case, later, earlier)}
    if case.names.site(later.site).file.endswith(PYTHON_SUFFIXES):
        return case.phrase("wait_for", later=names["later"], event=event or f"the event of {names['earlier']}")
    return case.phrase("named_in_wait_list", **names, event=event) if event else case.phrase("wait_list", **names)


def can_block(case: Case, operation: Operation) -> bool:
    """Tell whether a command is one that an argument makes the host wait for."""
    return case.api(operation) in case.platform.rule_texts["call"].get("can_block", ())


def blocking(case: Case, earlier: Operation, later: Operation) -> str:
    """Return the words that make the call of a command return when that is done."""
    python = case.names.site(earlier.site).file.endswith(PYTHON_SUFFIXES)
    return case.phrase("is_blocking" if python else "blocking", earlier=command_of(case, earlier, later))


def _event_there(case: Case, earlier: Operation, later: Operation) -> str:
    """Return the variable that has the event of `earlier` in the function that calls `later`, "" if it is not known."""
    first, second = case.names.site(earlier.site), case.names.site(later.site)
    same = (first.file, first.function) == (second.file, second.function)
    if not same or is_called_there(case, earlier, later) or is_called_there(case, later, earlier):
        return ""
    # A recording has lines, a source the text of its calls.
    text = case.names.source_lines.get(first.file, {}).get(first.line, "") or first.text
    return event_in_line(first.file, text)


def command_of(case: Case, operation: Operation, other: Operation | None) -> str:
    """Return "line 12 (`clEnqueueReadBuffer`)", without what is not known of it."""
    line = line_beside(case, operation, other)
    call = case.call(operation)
    return f"line {line} ({call})" if line else call
