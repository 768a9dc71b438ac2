"""streamsan: which synchronisation a GPU program is missing, and which it does not need.

The Python interface; all of it stays as it is within a major version:

    report = streamsan.check(["src"], include_dirs=["include"], select=["SS1"])
    for finding in report.findings:
        print(finding.code, finding.location.file, finding.location.line, finding.message)
    print(streamsan.render(report, "sarif"))

    recording = streamsan.record(["./app", "--steps", "3"], "run.sst")
    report = streamsan.check([recording.trace])

    with streamsan.torch.check():       # a block of a running program: streamsan.sections
        step(batch)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamsan.vocabulary.version import VERSION

__version__ = VERSION

if TYPE_CHECKING:
    from streamsan.checking.option_error import OptionError as OptionError
    from streamsan.checking.paths_to_report import check as check
    from streamsan.findings.finding import Confidence as Confidence
    from streamsan.findings.finding import Finding as Finding
    from streamsan.findings.finding import Severity as Severity
    from streamsan.recorder.preconditions import RecordingError as RecordingError
    from streamsan.recorder.record import Recorded as Recorded
    from streamsan.recorder.record import record as record
    from streamsan.report import Problem as Problem
    from streamsan.report import Report as Report
    from streamsan.report.formats import render as render

_PLACES = {
    "check": "checking.paths_to_report",
    "OptionError": "checking.option_error",
    "Confidence": "findings.finding",
    "Finding": "findings.finding",
    "Severity": "findings.finding",
    "Recorded": "recorder.record",
    "RecordingError": "recorder.preconditions",
    "record": "recorder.record",
    "Problem": "report",
    "Report": "report",
    "render": "report.formats",
}
"""the module that has each name of the interface"""
_MODULES = ("sections", "torch")
"""modules of the interface"""


def __getattr__(name: str) -> Any:
    # Loaded when it is asked for: whoever wants the command line, or one part, waits for no other.
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _PLACES:
        raise AttributeError(f"module 'streamsan' has no attribute '{name}'")
    found = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*_PLACES, *_MODULES, "__version__"})
