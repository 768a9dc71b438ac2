"""What a source's text would have of a step: a report names the steps that a patch writes.

Nothing is checked here: whether the edited text is right is found out where it is written, by a check of it.
"""

from __future__ import annotations

from collections.abc import Callable

from streamsan.cuda_syntax.tree import Unit
from streamsan.edits.cpp.calls import Chains
from streamsan.edits.cpp.language import Cpp
from streamsan.edits.source_text import SourceText
from streamsan.edits.step_writer import Writer
from streamsan.edits.variant import Variant
from streamsan.evidence.fix.edited_trace import EditableTrace
from streamsan.evidence.fix.steps import Step
from streamsan.evidence.fix.wording import Wording
from streamsan.rules.case import Case
from streamsan.trace import Trace


def wording_of(unit_of: Callable[[Trace], Unit | None]) -> Wording:
    """Return what says how steps are written in the sources that traces were read from."""
    writers: dict[int, Writer] = {}

    def written(trace: Trace, step: Step, case: Case) -> str:
        unit = unit_of(trace)
        if unit is None:
            return ""
        try:
            if id(trace) not in writers:
                writers[id(trace)] = _writer(unit, trace)
            variants = writers[id(trace)].variants(step, case)
            return next((each.summary for each in variants if _is_own(each, unit)), "")
        except Exception:
            # A report must not be lost because of what only chooses its words: --diff says what is wrong here.
            return ""

    return written


def _writer(unit: Unit, trace: Trace) -> Writer:
    editable = EditableTrace(trace)
    files = {file: SourceText(text.encode()) for file, text in unit.files.items()}
    return Writer(Cpp(Chains(unit, trace), files, editable), editable)


def _is_own(variant: Variant, unit: Unit) -> bool:
    return not any(edit.file in unit.foreign for edit in variant.edits)
