"""SS302: what a stream may not do while it captures."""

from __future__ import annotations

from streamsan.findings.finding import Contract, Observed, Severity
from streamsan.platforms import CUDA
from streamsan.rules.case import Case
from streamsan.rules.rule import Rule, Wording
from streamsan.vocabulary import FactVariant, OperationKind, RelatedRole, RuleCode

WAIT = Contract(
    "what is captured has not run: to wait for it, or to query it, is invalid and ends the capture",
    "CUDA Programming Guide, Stream Capture, Prohibited and Unhandled Operations",
)
LEGACY = Contract(
    "the legacy default stream would depend on the capturing stream: it must not be used while a blocking stream "
    "captures",
    "CUDA Programming Guide, Stream Capture, Prohibited and Unhandled Operations",
)
UNSAFE = Contract(
    "potentially unsafe calls are prohibited during a capture, as far as its mode says",
    "CUDA Runtime API, cudaThreadExchangeStreamCaptureMode",
)
STRUCTURE = Contract(
    "a capture ends on the stream on which it began, with all streams that it took in joined to it again",
    "CUDA Programming Guide, Stream Capture, Cross-stream Dependencies and Events",
)


class IllegalDuringCapture(Rule):
    """SS302."""

    code = RuleCode.ILLEGAL_DURING_CAPTURE
    definition = "A call that a capture forbids: a wait for captured work, an unsafe call, a stream that is not joined."
    severity = Severity.ERROR
    without_fix = "what belongs in the capture is the program's decision"
    without_witness = "the call is refused in every execution"
    outranks = (RuleCode.GRAPH_MEMORY_RESTRICTION,)

    def breaks(self, status: int) -> bool:
        """After a capture broke, calls return its own errors, or there is no graph that they could be given."""
        known = CUDA.status
        return status in known.of_capture or status in (known.invalid_value, known.invalid_handle)

    def wording(self, case: Case) -> Wording:
        call, begin = case.operation, case.first(RelatedRole.CREATE, RelatedRole.RECORD)
        variant = case.fact.variant
        name = case.call(call)
        failed = f", and fails: {case.error_name(call)}" if call.status else ""
        message, here, fix = _says(case, variant, name)
        related = []
        if begin is not None:
            related.append(case.related(RelatedRole.CREATE, begin, f"{case.stream(begin)} begins to capture here"))
        related.extend(case.others(RelatedRole.SYNC, RelatedRole.USE, RelatedRole.OTHER, RelatedRole.DESTROY))
        related.append(case.related(RelatedRole.USE, call, here))
        return Wording(
            message=f"{message}{failed}",
            related=tuple(related),
            contract=_CONTRACT.get(variant, UNSAFE),
            observed=_observed(variant, call.status),
            witness=(
                f"{case.stream(begin) if begin is not None else 'a stream'} captures: its work is recorded, not run",
                f"{name} is called",
                "the graph cannot be made" if variant is FactVariant.CAPTURE_STRUCTURE else "the capture is invalid",
            ),
            fix=fix,
        )


def _says(case: Case, variant: FactVariant, name: str) -> tuple[str, str, str]:
    """Return the message, what is said of the call's line, and the fix."""
    call = case.operation
    line = case.line(call)
    if variant is FactVariant.CAPTURE_WAIT:
        return (
            f"{name} waits for work that is being captured and does not run",
            "called here, while what it asks about is being captured",
            f"move line {line} behind the end of the capture, or drop it" if line else "wait after the capture",
        )
    if variant is FactVariant.CAPTURE_LEGACY:
        return (
            f"{name} uses the default stream while a blocking stream captures",
            "the default stream is used here",
            "use a stream of your own, or capture on one made with cudaStreamNonBlocking",
        )
    if variant is FactVariant.CAPTURE_STRUCTURE:
        if call.kind is OperationKind.CAPTURE_END:
            return (
                f"{name} ends a capture {_ENDS_WRONGLY.get(call.status, NOT_ITS_OWN)}",
                "ended here",
                "let the capturing stream wait for an event of each stream that the capture took in, then end it on "
                "the stream and thread that began it",
            )
        return (
            f"{name} does not fit the capture that the stream is part of",
            "called here, during the capture",
            "begin and end each capture on its own stream, and join the streams that it takes in",
        )
    return (
        f"{name} is not allowed while a stream captures",
        "called here, during the capture",
        f"move line {line} out of the capture (stream-ordered calls may be captured), or capture with "
        "cudaStreamCaptureModeRelaxed"
        if line
        else "call it before the capture begins",
    )


NOT_ITS_OWN = "that is not whole, or that another stream or thread began"
_ENDS_WRONGLY = {
    CUDA.constants["cudaErrorStreamCaptureUnjoined"]: "before each stream that it took in has joined it again",
    CUDA.constants["cudaErrorStreamCaptureWrongThread"]: "that another thread began",
    CUDA.constants["cudaErrorStreamCaptureUnmatched"]: "that began on another stream",
}
"""what is wrong with the end of a capture, by the status that it gets"""


def _observed(variant: FactVariant, status: int) -> Observed | None:
    return _OBSERVED_OF_STATUS.get(status) if variant is FactVariant.CAPTURE_STRUCTURE else _OBSERVED.get(variant)


_CONTRACT = {
    FactVariant.CAPTURE_WAIT: WAIT,
    FactVariant.CAPTURE_LEGACY: LEGACY,
    FactVariant.CAPTURE_UNSAFE: UNSAFE,
    FactVariant.CAPTURE_STRUCTURE: STRUCTURE,
}

_OBSERVED = {
    FactVariant.CAPTURE_WAIT: Observed(
        "the wait returns cudaErrorStreamCaptureUnsupported, later launches and the end of the capture "
        "cudaErrorStreamCaptureInvalidated",
        "G-05",
    ),
    FactVariant.CAPTURE_LEGACY: Observed(
        "the call returns cudaErrorStreamCaptureImplicit, and the capture is invalidated", "C-09"
    ),
    FactVariant.CAPTURE_UNSAFE: Observed(
        "cudaMalloc and cudaFree return cudaErrorStreamCaptureUnsupported in a global capture, and succeed in a "
        "relaxed one",
        "G-06",
    ),
}

_OBSERVED_OF_STATUS = {
    CUDA.constants["cudaErrorStreamCaptureMerge"]: Observed("both captures are invalidated", "C-19"),
    CUDA.constants["cudaErrorStreamCaptureUnmatched"]: Observed(
        "the call fails, and so does the end of the capture on its own stream", "C-16"
    ),
    CUDA.constants["cudaErrorStreamCaptureUnjoined"]: Observed("the end of the capture gives no graph", "C-17"),
    CUDA.constants["cudaErrorStreamCaptureIsolation"]: Observed(
        "the call returns cudaErrorStreamCaptureIsolation, and the capture is invalidated", "C-11"
    ),
    CUDA.constants["cudaErrorStreamCaptureWrongThread"]: Observed(
        "another thread ends a capture in relaxed mode only", "C-18"
    ),
}
