"""Which proofs are sought: a witness costs a pass, a fix some analyses, and nobody reads those of hidden notes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from streamsan.findings.finding import Finding


def _each(finding: Finding) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Proofs:
    """What is sought, and for which findings."""

    wanted: Callable[[Finding], bool] = _each
    """tells whether somebody will see a finding's proofs"""
    fixes: bool = True
    """whether edits are tried"""


ALL = Proofs()
"""a witness and a fix for each finding"""
