"""Numbers that unknowns are given, to try what holds whatever they are: several picks, each a number for every unknown.

A pick that contradicts what the path has decided is none of a run that goes this way. What a loop of unknown length
supposes of its end is no decision: a longer run does the same so far.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from typing import Any

from msgspec import Struct

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import Term
from streamsan.cuda_source.values.terms import fold, symbols_of
from streamsan.model.values import Symbol

ROUNDS = 48
"""picks"""
EVERY = range(ROUNDS)
ORDINARY = 8
"""picks of ordinary numbers; in the others each unknown is either very small or very large"""
_EXTREMES: dict[str, Callable[[int, int], int]] = {"min": min, "max": max}
_COMPUTED = frozenset({"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "==", "<", "!", "&&", "||", *_EXTREMES})

Picks = list[int | None]
"""What a number is in every pick."""
_NOBODY_KNOWS: Picks = [None] * ROUNDS


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
        self._kept: dict[int, tuple[Any, Picks]] = {}
        """identity of a term or an unknown -> itself, and its numbers; while nothing more becomes known"""
        self._facts = 0
        """of the machine's, those that the kept numbers rest on"""
        self._conditions: list[_Condition] = []
        """of machine.decided, those that can be computed"""
        self._seen = 0

    # -- numbers ----------------------------------------------------------------------------------
    def number(self, value: Any, at: int) -> int | None:
        """Return what a number is in one pick; None if nobody can compute it."""
        return self.numbers(value)[at]

    def numbers(self, value: Any) -> Picks:
        """Return what a number is in every pick."""
        if self._facts != self._machine.facts:
            self._facts = self._machine.facts
            self._kept.clear()
        return self._of(value)

    def _of(self, value: Any) -> Picks:
        if isinstance(value, int):
            return [int(value)] * ROUNDS
        if not isinstance(value, Symbol | Term):
            return _NOBODY_KNOWS
        found = self._kept.get(id(value))
        if found is None:
            found = self._kept[id(value)] = value, self._found(value)
        return found[1]

    def _found(self, value: Symbol | Term) -> Picks:
        if isinstance(value, Symbol):
            meant = self._meaning(value)
            return self._chosen(value) if meant is value else self._of(meant)
        known = self._machine.known(value)
        return self._computed(known) if isinstance(known, Term) else self._of(known)

    def _computed(self, term: Term) -> Picks:
        """Return what a term is, computed from its operands."""
        if term.operator == "?:":
            condition, then, otherwise = map(self._of, term.operands)
            choices = zip(condition, then, otherwise, strict=True)
            return [None if truth is None else yes if truth else no for truth, yes, no in choices]
        if term.operator not in _COMPUTED:
            name = repr(term)  # what lies in memory, say
            return [_any(name, at) for at in EVERY]
        operands = [self._of(each) for each in term.operands]
        if term.operator == "!":
            return [None if each is None else int(not each) for each in operands[0]]
        if len(operands) != 2:
            return _NOBODY_KNOWS
        pairs = zip(*operands, strict=True)
        if extreme := _EXTREMES.get(term.operator):
            return [None if one is None or other is None else extreme(one, other) for one, other in pairs]
        return [_folded(term.operator, one, other) for one, other in pairs]

    def _chosen(self, symbol: Symbol) -> Picks:
        known = self._machine.known(symbol)
        if known is not symbol:
            return self._of(known)
        bounds, name = self._machine.bounds, str(symbol.number)
        return [bounds.nearest(symbol, _any(name, at)) for at in EVERY]

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
        return [all(each) for each in zip([True] * ROUNDS, *map(self._holds, about), strict=True)]

    def _take_in(self) -> None:
        decided = self._machine.decided
        for question, answer in decided[self._seen :]:
            unknowns = frozenset(each for part in symbols_of(question) for each in self.unknowns(part))
            if isinstance(question, Term) and unknowns:
                self._conditions.append(_Condition(question, answer, unknowns))
        self._seen = len(decided)

    def _holds(self, condition: _Condition) -> list[bool]:
        """Tell for each pick whether a condition has its answer, or cannot be computed."""
        question = condition.question
        if question.operator in ("<", "=="):
            # What the answer itself made known of an operand is no answer.
            left, right = (
                self._computed(each) if isinstance(each, Term) else self.numbers(each) for each in question.operands
            )
            found = [_folded(question.operator, one, other) for one, other in zip(left, right, strict=True)]
        else:
            found = self._computed(question)
        return [each is None or bool(each) == condition.answer for each in found]


def _folded(operator: str, one: int | None, other: int | None) -> int | None:
    found = None if one is None or other is None else fold(operator, one, other)
    return found if isinstance(found, int) else None


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
