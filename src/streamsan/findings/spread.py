"""How far a finding is spread over traces that were checked together: in how many of them, in which runs and ranks."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from streamsan.vocabulary.rank_words import ranks_in_words

MOST_RUNS = 8
"""runs that are named one by one"""


class InRun(Struct, frozen=True):
    """In how many traces of one run a finding was found. A run is the folder that its traces lie in."""

    run: str
    traces: int
    ranks: tuple[tuple[int, int], ...] = ()
    """the first and the last of each row of ranks; () where the traces name none"""


class Spread(Struct, frozen=True):
    """In how many of several traces a finding was found."""

    found: int
    checked: int
    shown: str
    """the trace that the finding's words, witness and fix are of"""
    runs: tuple[InRun, ...] = ()
    """sorted by name; () where all traces lie in one folder"""

    def words(self, ranks: Sequence[int]) -> str:
        """Return it in words: "in 1,998 of 2,000 traces: ranks 0-511, runs a, b"."""
        names = [each.run for each in self.runs]
        more = f" and {len(names) - MOST_RUNS:,} more" if len(names) > MOST_RUNS else ""
        runs = ("run " if len(names) == 1 else "runs ") + ", ".join(names[:MOST_RUNS]) + more if names else ""
        where = ", ".join(filter(None, [ranks_in_words(ranks), runs]))
        count = f"in {self.found:,} of {self.checked:,} traces"
        return f"{count}: {where}" if where else count
