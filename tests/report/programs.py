"""Findings and reports made by hand."""

from __future__ import annotations

from streamsan.findings.finding import (
    Confidence,
    Contract,
    Edit,
    Finding,
    Fix,
    Location,
    Observed,
    Related,
    Severity,
)
from streamsan.findings.suppressions import Suppression
from streamsan.report import Report

SOURCE = """\
int main() {
    float* d_x;
    cudaMallocAsync(&d_x, bytes, s1);
    cudaStreamWaitEvent(s2, ready);
    scale<<<grid, block, 0, s2>>>(d_x);

    cudaFreeAsync(d_x, s1);
}
"""


def race(**changes: object) -> Finding:
    arguments: dict[str, object] = {
        "code": "SS102",
        "name": "use-races-free",
        "severity": Severity.ERROR,
        "confidence": Confidence.PROVEN,
        "message": "kernel `scale` may still be reading `d_x` when it is freed",
        "location": Location("pipeline.cu", 7, 5, "main", 7, 26),
        "related": (
            Related("alloc", "pipeline.cu", 3, "allocated here, in the order of s1"),
            Related("free", "pipeline.cu", 7, "freed here, in the order of s1: nothing orders s1 after the kernel"),
            Related("use", "pipeline.cu", 5, "used here, in the order of s2"),
        ),
        "contract": Contract("memory must not be accessed once the stream reaches the free", "cudaFreeAsync"),
        "observed": Observed("the block is handed out again at once", "F-05"),
        "witness": ("s1 frees", "the next allocation gets the block"),
        "fix": Fix("before line 7: cudaEventRecord(e, s2); cudaStreamWaitEvent(s1, e, 0);"),
        "properties": {"instances": 2},
        "fingerprint": "0123456789abcdef0123",
        **changes,
    }
    return Finding(**arguments)  # type: ignore[arg-type]


def report(*findings: Finding, **changes: object) -> Report:
    arguments: dict[str, object] = {
        "findings": findings,
        "files": 1,
        "operations": 12,
        "sources": {"pipeline.cu": SOURCE},
        **changes,
    }
    return Report(**arguments)  # type: ignore[arg-type]


VERIFIED = Fix("remove line 4", True, (Edit("pipeline.cu", 4, 1, 5, 1, ""),))
NOTE = race(code="SS504", name="redundant-sync", severity=Severity.NOTE, contract=None, observed=None, fix=VERIFIED)
UNUSED = Suppression("pipeline.cu", 2, ("SS501", "SS504"), "reason", {"SS504"})
