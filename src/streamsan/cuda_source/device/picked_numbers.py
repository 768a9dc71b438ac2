"""Numbers that unknowns are given, to try what holds whatever they are: several picks, each a number for every unknown.

A pick that contradicts what the path has decided is none of a run that goes this way. What a loop of unknown length
supposes of its end is no decision: a longer run does the same so far.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from msgspec import Struct

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import Term
from streamsan.cuda_source.values.terms import fold, symbols_of
from streamsan.model.values import Symbol

ROUNDS = 48
"""picks"""
ORDINARY = 8
"""picks of ordinary numbers; in the others each unknown is either very small or very large"""
_EXTREMES: dict[str, Callable[[int, int], int]] = {"min": min, "max": max}
_COMPUTED = frozenset({"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "==", "<", "!", "&&", "||", *_EXTREMES})


class _Condition(Struct, frozen=True):
    """A decided condition, and the unknowns that it is about."""

    question: Any
    answer: bool
    unknowns: frozenset[Symbol]


class PickedNumbers:
    """Those of one path."""

    def __init__(self, machine: Machine, meaning: Callable[[Symbol], Any]) -> None:
        self._machine = machine
        self._meaning = meaning
        self._known: dict[int, tuple[Any, Any]] | None = None
        """identity of a term -> the term, and what conditions make of it; while nothing is decided"""
        self._conditions: list[_Condition] = []
        """of machine.decided, those that can be computed"""
        self._seen = 0

    # -- numbers ----------------------------------------------------------------------------------
    def number(self, value: Any, at: int) -> int | None:
        """Return what a number is in one pick; None if nobody can compute it."""
        if isinstance(value, int):
            return int(value)
        if isinstance(value, Symbol):
            meant = self._meaning(value)
            return self._chosen(value, at) if meant is value else self.number(meant, at)
        if not isinstance(value, Term):
            return None
        known = self._term(value)
        return self._computed(known, at) if isinstance(known, Term) else self.number(known, at)

    def _computed(self, term: Term, at: int) -> int | None:
        """Return what a term is, computed from its operands."""
        if term.operator == "?:":
            condition = self.number(term.operands[0], at)
            return None if condition is None else self.number(term.operands[1 if condition else 2], at)
        if term.operator not in _COMPUTED:
            return _any(repr(term), at)  # what lies in memory, say
        operands = [self.number(each, at) for each in term.operands]
        if term.operator == "!" and operands[0] is not None:
            return int(not operands[0])
        if len(operands) != 2 or operands[0] is None or operands[1] is None:
            return None
        if term.operator in _EXTREMES:
            return _EXTREMES[term.operator](operands[0], operands[1])
        found = fold(term.operator, operands[0], operands[1])
        return found if isinstance(found, int) else None

    def _chosen(self, symbol: Symbol, at: int) -> int | None:
        known = self._machine.known(symbol)
        if known is not symbol:
            return self.number(known, at)
        return self._machine.bounds.nearest(symbol, _any(str(symbol.number), at))

    def _term(self, term: Term) -> Any:
        """Return what conditions make of a term. For all picks of a use it is the same."""
        if self._known is None:
            return self._machine.known(term)
        found = self._known.get(id(term))
        if found is None:
            found = self._known[id(term)] = term, self._machine.known(term)
        return found[1]

    @contextmanager
    def nothing_is_decided(self) -> Iterator[None]:
        """What is known of a term is asked once in here."""
        self._known = {}
        try:
            yield
        finally:
            self._known = None

    # -- unknowns ---------------------------------------------------------------------------------
    def unknowns(self, value: Any) -> Iterable[Symbol]:
        """Return the unknowns that a value rests on."""
        meant: Any = self._meaning(value) if isinstance(value, Symbol) else value
        return symbols_of(meant) if isinstance(meant, Symbol | Term) else ()

    def possible(self, unknowns: Collection[Symbol]) -> list[bool]:
        """Return, for each pick, whether what the path has decided of these unknowns can be so."""
        self._take_in()
        supposed = {each for bound in self._machine.supposed_bounds for each in self.unknowns(bound)}
        about = [
            each
            for each in self._conditions
            if not each.unknowns.isdisjoint(unknowns) and each.unknowns.isdisjoint(supposed)
        ]
        return [all(self._holds(each, at) for each in about) for at in range(ROUNDS)]

    def _take_in(self) -> None:
        decided = self._machine.decided
        for question, answer in decided[self._seen :]:
            unknowns = frozenset(each for part in symbols_of(question) for each in self.unknowns(part))
            if isinstance(question, Term) and unknowns:
                self._conditions.append(_Condition(question, answer, unknowns))
        self._seen = len(decided)

    def _holds(self, condition: _Condition, at: int) -> bool:
        """Tell whether a condition has its answer in a pick, or cannot be computed."""
        question = condition.question
        if question.operator in ("<", "=="):
            # What the answer itself made known of an operand is no answer.
            left, right = (
                self._computed(each, at) if isinstance(each, Term) else self.number(each, at)
                for each in question.operands
            )
            found = None if left is None or right is None else fold(question.operator, left, right)
        else:
            found = self._computed(question, at)
        return found is None or bool(found) == condition.answer


@lru_cache(maxsize=1 << 14)
def _any(name: str, at: int) -> int:
    """Return a value of an unknown. The first ones can be halved often and leave room for products.

    An offset that nobody knows is mostly below a product like `m * 64` where both are ordinary. That means nothing:
    the two may have nothing to do with each other. Hence the extremes.
    """
    choice = random.Random(f"{name} {at}")
    if at == 0:
        return 240 * choice.randint(3, 40)
    if at < ORDINARY:
        return int(17 * 2 ** choice.uniform(0, 14))
    return choice.randint(17, 32) if choice.random() < 0.5 else (1 << 24) + 240 * choice.randint(0, 4000)
