"""The words that went wrong, told in the program's own names."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from streamsan.evidence.witness.witness import Witness
from streamsan.platforms.platform_facts import NO_STATUS
from streamsan.replay.execution import Outcome
from streamsan.replay.replayed_memory import NOT_ALLOCATED, NOT_REGISTERED, UNMAPPED
from streamsan.replay.replayed_steps import Access, Memory, Node, Step
from streamsan.replay.replayed_work import Name
from streamsan.replay.script import Script
from streamsan.replay.word_layout import Layout
from streamsan.replay.words import Words
from streamsan.rules.wrong_execution import Harm
from streamsan.vocabulary import FactVariant, MemoryKind, OperationKind

MOST_LINES = 4


class Damage(Struct, frozen=True):
    """Wrong words of one memory, or an error."""

    text: str
    wrong: int
    """words that differ from those of the execution in order"""
    of: int
    """words that were compared; 0: it is an error"""


class Comparison(Struct, frozen=True):
    """The execution that goes wrong beside the one in order."""

    witness: Witness
    script: Script
    layouts: dict[int, Layout]
    right: Outcome | None
    """None where the program itself asks for the wrong order"""
    wrong: Outcome
    name: Name

    def damage(self) -> list[Damage]:
        """Return what only the wrong execution does: errors first, then what was read, then what stays."""
        return [*self._faults(), *self._reads(), *self._lasting()][:MOST_LINES]

    def _faults(self) -> Iterator[Damage]:
        before = self.right.seen.faults if self.right is not None else {}
        unregistered = self.witness.case.fact.variant is FactVariant.FREE_UNREGISTER
        told: set[int] = set()
        for (sequence, number), fault in self.wrong.seen.faults.items():
            if (sequence, number) not in before and sequence not in told:
                told.add(sequence)
                # Of host memory that nothing in the trace has allocated, the registration is all that there was.
                why = NOT_REGISTERED if unregistered else fault
                yield Damage(f"{self.name(sequence)}: {self._error(why)}", 0, 0)

    def _error(self, why: str) -> str:
        if why in (NOT_ALLOCATED, UNMAPPED):
            return why
        platform = self.witness.case.platform
        code = platform.status.illegal_address
        number = f" (error {code})" if code != NO_STATUS else ""
        return f"illegal address{number}: {_plain(why)}"

    def _reads(self) -> Iterator[Damage]:
        if self.right is None:
            return
        accesses = dict(self._accesses())
        named = self.script.ahead | self.script.behind
        before, now = self.right.seen.reads, self.wrong.seen.reads
        if self.witness.plan.harm is Harm.FREED:  # what is read of freed memory is wrong, however it is read
            before, now = before | self.right.seen.atomics, now | self.wrong.seen.atomics
        for place in sorted(now, key=lambda place: (place[0] not in self.script.behind, place)):
            access, found = accesses.get(place), now[place]
            expected = before.get(place)
            if place[0] not in named or access is None or expected is None or len(expected) != len(found):
                continue
            differs = np.flatnonzero(expected != found)
            if len(differs):
                layout = self.layouts[access.memory.number]
                numbers = layout.rows(access)
                places = differs + layout.range(access)[0] if numbers is None else numbers[differs]
                words = f"{self._words(access.memory, places)}: {len(differs):,} of {len(found):,} words"
                whose = self._whose(found[differs], access.memory)
                yield Damage(f"{words} that {self.name(place[0])} reads are wrong{whose}", len(differs), len(found))

    def _accesses(self) -> Iterator[tuple[tuple[int, int], Access]]:
        for step in self.script.steps.values():
            pieces: tuple[Step | Node, ...] = (step, *step.nodes)
            for piece in pieces:
                for number, access in enumerate(piece.accesses):
                    yield (piece.sequence, number), access

    def _whose(self, found: Words, memory: Memory) -> str:
        owner = self.wrong.owner
        theirs = memory is self.script.memory and owner is not None and bool(np.isin(found, owner.wrote).all())
        if not theirs:
            return ""
        return ": they are what the stack holds then" if self._is_local() else ": they are the next owner's"

    def _is_local(self) -> bool:
        """Tell whether the memory is a function's local variable: what comes after it is no allocation."""
        allocation = self.witness.case.allocation
        return allocation is not None and allocation.kind is MemoryKind.HOST_STACK

    def _lasting(self) -> Iterator[Damage]:
        """Yield what is wrong at the end: in the next owner's block, and in the memory itself."""
        behind = self.name(self.witness.plan.behind.sequence)
        wrong = self.wrong
        if wrong.owner is not None and wrong.owned is not None:
            differs = np.flatnonzero(wrong.owned != wrong.owner.wrote)
            if len(differs):
                range_ = f"[{int(differs[0])}..{int(differs[-1])}]"
                whose = "the words that the stack holds then" if self._is_local() else "the next owner's words"
                words = f"{whose} {range_}: {len(differs):,} of {len(wrong.owned):,}"
                yield Damage(f"{words} overwritten by {behind}", len(differs), len(wrong.owned))
        memory, right = self.script.memory, self.right
        plan = self.witness.plan
        if memory is not None and right is not None and self._is_freed_before_launch() and right.content is None:
            # An earlier launch's memory was there to be freed: nothing fails, and what this one allocates stays.
            if wrong.content is not None:
                yield Damage(f"{self._block(memory)} is still allocated after {behind}: its free came before", 0, 0)
            return
        if memory is None or right is None or right.content is None or wrong.content is None:
            return
        differs = np.flatnonzero(right.content != wrong.content)
        again = plan.ahead.kind is OperationKind.GRAPH_LAUNCH  # it allocates what it frees anew
        if len(differs) and (again or plan.harm is not Harm.FREED):
            words = f"{self._words(memory, differs)}: {len(differs):,} of {len(wrong.content):,} words"
            lost = ": what was written before it is lost" if plan.harm is Harm.NOT_YET else ""
            yield Damage(f"{words} wrong after {behind}{lost}", len(differs), len(wrong.content))

    def _block(self, memory: Memory) -> str:
        label = self.witness.trace.site(memory.site).label
        return f"`{label}`" if label else "the memory"

    def _is_freed_before_launch(self) -> bool:
        ahead, behind = self.witness.plan.ahead.kind, self.witness.plan.behind.kind
        return ahead is OperationKind.FREE and behind is OperationKind.GRAPH_LAUNCH

    def _words(self, memory: Memory, places: npt.NDArray[np.intp]) -> str:
        label = self.witness.trace.site(memory.site).label
        range_ = f"[{int(places[0])}..{int(places[-1])}]"
        if label:
            return f"`{label}`{range_}"
        whose = "the host's" if memory.is_hosts_own else "the"
        return f"words {range_} of {whose} memory"


def _plain(why: str) -> str:
    """Return a fault's reason without addresses: those of the replay are nobody's."""
    words = [word for word in why.split() if not word.startswith("0x")]
    return " ".join(words).replace(" at has", " has").replace(" at now", " there now")
