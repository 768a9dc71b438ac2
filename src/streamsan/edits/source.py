"""One source: its text, how to check it, and what writes steps in its language."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct, field

from streamsan.edits.language import AnyLanguage
from streamsan.edits.step_writer import Writer
from streamsan.evidence.fix.edited_trace import EditableTrace
from streamsan.evidence.fix.verification import Verification
from streamsan.findings.finding import Finding
from streamsan.trace import Trace

Contents = Mapping[str, bytes]
"""real path of a file -> its new bytes"""
Check = Callable[[Contents], "State"]
"""new contents of files -> what the source is like with them"""
Keep = Callable[[Contents, Sequence[Finding]], Sequence[Finding]]
"""findings -> those that are selected and not suppressed"""


class State(Struct, frozen=True):
    """What a check of a source said."""

    findings: tuple[Finding, ...]
    operations: int
    """places where operations were issued: an edit that hides code from the reader has fewer"""
    ended: int = 0
    """how the program ended, where it was run"""


class Source(Struct, frozen=True):
    """One source, and how to check it."""

    check: Check
    keep: Keep
    editable: Callable[[str], bool]
    """whether a file may be edited"""
    original: Callable[[str], bytes]
    """the bytes of a file. Raises OSError"""
    read: Callable[[Contents], Callable[[EditableTrace], AnyLanguage]]
    """reads the source with new contents; returns what makes its language for a trace of it"""
    accepts: Callable[[Contents, Collection[str]], bool] = lambda contents, files: True
    """whether the other sources take the new contents of these files: whether they have no new finding"""
    contents: Contents = field(default_factory=dict)
    """new contents that there are already"""
    several_at_once: bool = True
    """whether edits for several findings are tried in one text: fewer texts are checked, and may have more edits"""
    wanted: Callable[[Finding], bool] = lambda finding: True
    """whether edits are sought for a finding"""
    tell: Callable[[int, int], None] = lambda done, total: None
    """called with the findings for which edits were sought, and those there are"""


class Ground:
    """The text of a source at one time: what is asked of it for several findings is made once."""

    def __init__(self, source: Source, contents: Contents, state: State) -> None:
        self.source = source
        self.contents = contents
        self.state = state
        self._read: Callable[[EditableTrace], AnyLanguage] | None = None
        self._traces: dict[int, tuple[EditableTrace, Writer]] = {}
        self._verifications: dict[int, Verification] = {}

    def writing(self, trace: Trace) -> tuple[EditableTrace, Writer]:
        """Return a trace made ready for edits, and what writes its steps as text."""
        key = id(trace)
        if key not in self._traces:
            if self._read is None:
                self._read = self.source.read(self.contents)
            editable = EditableTrace(trace)
            self._traces[key] = editable, Writer(self._read(editable), editable)
        return self._traces[key]

    def verification(self, trace: Trace) -> Verification:
        """Return the findings of a trace, to hold those of its edits against."""
        key = id(trace)
        if key not in self._verifications:
            self._verifications[key] = Verification(trace)
        return self._verifications[key]
