"""Baselines: a JSON report of an earlier day, whose findings are not reported again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from streamsan.findings.finding import Finding
from streamsan.findings.one_cause import ALIKE

LARGEST = 256 << 20
"""bytes of a baseline"""


def read(file: str) -> frozenset[str]:
    """Return the fingerprints of a JSON report's findings. Raises OSError, and ValueError with the reason."""
    path = Path(file)
    if path.stat().st_size > LARGEST:
        raise ValueError(f"{path.stat().st_size >> 20} MiB: too large for a baseline")
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        found = document["findings"]
        prints = [str(finding["fingerprint"]) for finding in found]
        # Of many findings with one cause a report has one.
        return frozenset((*prints, *" ".join(str(each.get("properties", {}).get(ALIKE, "")) for each in found).split()))
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError) as error:
        raise ValueError("not a report of `streamsan check --format json` with fingerprints") from error


def new(findings: Iterable[Finding], baseline: frozenset[str]) -> list[Finding]:
    """Return the findings that a baseline does not have."""
    return [finding for finding in findings if finding.fingerprint not in baseline]
