"""How far the interpreter goes before it stops, cuts a loop short, or leaves paths out."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

CALL_SHARE = 4
"""a call into a header may take so small a part of a path's steps, before it has issued any operation"""


class Limits(Struct, frozen=True):
    """How far the interpreter goes. Counts end it first, so that two runs give the same worlds."""

    paths: int = 64
    """paths of one entry"""
    steps: int = 60_000
    """expressions and statements of one path"""
    overtime: int = 15_000
    """more of them, in the code of the file itself, where its headers have spent those of a path"""
    thrifty_steps: int = 15_000
    """expressions and statements of all paths of one file, beyond which those that are much like others are left out"""
    file_steps: int = 80_000
    """expressions and statements of all paths of one file, beyond which more paths are taken only to what is new"""
    most_steps: int = 250_000
    """expressions and statements of all paths of one file, beyond which each entry has its share, once"""
    paths_to_new: int = 128
    """paths of one entry, where the next one leads to calls that no path has come to"""
    line_steps: int = 12
    """share of an entry for each of its lines: enough to run any text once, loops aside"""
    entry_steps: int = 120
    """share of an entry, however short: what it calls costs steps, too"""
    operations: int = 20_000
    """operations of one path"""
    file_operations: int = 60_000
    """operations of all paths of one file"""
    depth: int = 40
    """calls nested in each other"""
    call_steps: int = 15_000
    """expressions and statements of a call into a header, before it has issued any operation; fewer on a short path"""
    nesting: int = 1500
    """statements and expressions nested in each other, over all active calls"""
    iterations: int = 64
    """iterations of a loop whose count is known"""
    first_iterations: int = 6
    """iterations that are run of a longer loop, before its last two"""
    unknown_iterations: int = 4
    """iterations of a loop whose count is not known: enough for double and triple buffering"""
    steps_to_see: int = 6000
    """expressions and statements of more iterations than these, up to where something is different"""
    thrifty_iterations: int = 2
    """iterations of a loop without calls of CUDA, where a path has spent half of its steps"""
    endless_iterations: int = 16
    """iterations of a loop that only a `break` ends; a thread that is given its work has as many as known loops"""

    seconds: float = 60.0
    """of a processor, for all paths of one file"""
    memory: int = 4 << 30
    """bytes that the process may have more than before, for all paths of one file"""

    def for_units(self, count: int) -> Limits:
        """Return the limits for a program of so many files: each brings what it may cost alone."""
        return replace(
            self,
            thrifty_steps=count * self.thrifty_steps,
            file_steps=count * self.file_steps,
            most_steps=count * self.most_steps,
            file_operations=count * self.file_operations,
            seconds=count * self.seconds,
            memory=count * self.memory,
        )

    def kept(self, behind: int, known: int) -> int:
        """Return the steps that are kept for entries which come behind one of so many that are known: half, evenly."""
        return behind * (self.most_steps // (2 * known))

    def are_spent(self, steps: int, operations: int, paths: int, leads_on: bool, kept: int) -> bool:
        """Tell whether an entry gets no more paths, after so many steps and operations of all and paths of its own.

        `leads_on`: the next one leads to calls that no path has come to. `kept`: steps that others are to have.
        """
        most_steps = self.most_steps - kept
        if leads_on:
            return steps > most_steps or operations > 2 * self.file_operations or paths >= self.paths_to_new
        return steps > min(self.file_steps, most_steps) or operations > self.file_operations or paths >= self.paths

    def share(self, lines: int) -> int:
        """Return the steps that an entry of so many lines has in any case: no other entry spends them."""
        return self.entry_steps + self.line_steps * lines

    def for_path(self, lines: int, spent: int, kept: int) -> Limits:
        """Return the limits for one path of an entry of so many lines, where all paths before took `spent` steps.

        A long function is read as far as a short one: what it may cost grows with its text, and only with it.
        `kept`: steps that others are to have.
        """
        share = self.share(lines)
        left = max(share, self.most_steps - kept - spent)
        steps = min(left, max(self.steps, share))
        return replace(
            self,
            steps=steps,
            overtime=min(self.overtime, steps),
            call_steps=min(self.call_steps, steps // CALL_SHARE),
            operations=max(self.operations, lines),
        )
