"""How the search for fixes asks for the words of a step as a text would have it, where the trace was read from one."""

from __future__ import annotations

from collections.abc import Callable

from streamsan.evidence.fix.steps import Step
from streamsan.rules.case import Case
from streamsan.trace import Trace

Wording = Callable[[Trace, Step, Case], str]
"""a step for a finding of a trace -> what the text would have of it, "" where it cannot be written"""
