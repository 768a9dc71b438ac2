"""Which proofs are sought: a witness costs a pass, a fix some analyses, and nobody reads those of hidden notes."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from streamsan.findings.finding import Finding


def _each(finding: Finding) -> bool:
    return True


class Proofs(Struct, frozen=True):
    """What is sought, and for which findings."""

    wanted: Callable[[Finding], bool] = _each
    """tells whether somebody will see a finding's proofs"""
    fixes: bool = True
    """whether edits are tried"""
    drawn: bool = False
    """whether findings get scenes and inputs their timelines, for a report that draws them"""
    choice: str = ""
    """`wanted` in words, the same for the same choice; "": nobody knows of two that they choose alike"""

    @property
    def words(self) -> str | None:
        """What is sought, in words; None where there are none."""
        choice = "all" if self.wanted is _each else self.choice
        return f"{choice}, {'with' if self.fixes else 'without'} fixes" if choice else None


ALL = Proofs()
"""a witness and a fix for each finding"""
