"""Calls of CUDA as the C++ around a place writes them: checked in the same way."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from streamsan.edits.cpp.checks import BARE, Check
from streamsan.edits.language import Code
from streamsan.evidence.fix.steps import Calls
from streamsan.findings.finding import Edit

_WORD = re.compile(r"[A-Za-z_]\w*")


class CppPhrases:
    """How calls are written at one place, where calls are checked in one way."""

    imports: Sequence[Edit] = ()

    def __init__(self, calls: Calls, check: Check, hidden: Collection[str], unit: str) -> None:
        """`hidden`: names that mean something else within the check."""
        self.calls = calls
        self._check = check
        self._hidden = hidden
        self._unit = unit

    def function(self, name: str) -> str:
        return name

    def call(self, api: str, *arguments: str) -> Code:
        call = f"{api}({', '.join(arguments)})"
        # `cudaError_t s = (call)` around a call that is given a stream `s` does not compile.
        check = BARE if any(word in self._hidden for word in _WORD.findall(call)) else self._check
        return Code(tuple(check.around(call)), (call,))

    def new_event(self, event: str) -> Iterator[Code]:
        if self.calls.driver:
            kind, made = "CUevent", self.call("cuEventCreate", f"&{event}", "CU_EVENT_DISABLE_TIMING")
        else:
            kind, made = "cudaEvent_t", self.call("cudaEventCreateWithFlags", f"&{event}", "cudaEventDisableTiming")
        yield Code((f"{kind} {event};", *made.lines))

    def enclosed(self, code: Code) -> Code:
        """Return code in a block of its own."""
        return Code(("{", *(f"{self._unit}{line}" for line in code.lines), "}"), code.words)
