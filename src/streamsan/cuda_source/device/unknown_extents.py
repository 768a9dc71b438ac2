"""Which bytes a use touches, where a program says so in numbers that nobody knows: `d + i * m`, `n / 2` elements.

Every unknown number is given several values, and each use its bytes for each of them. Two uses meet, or stay apart,
where they do so for all values; then addresses are chosen that say the same, those of the first values. Where values
disagree nobody can tell, and nothing is said. An address chosen so means nothing by itself: no report names it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import Term
from streamsan.cuda_source.values.terms import fold, symbols_of
from streamsan.model.executor import Region
from streamsan.model.resources import Allocation
from streamsan.model.values import Pointer, Symbol
from streamsan.vocabulary import MemoryKind

ROUNDS = 24
"""values that each unknown is given"""
ORDINARY = 8
"""rounds of ordinary values; in the others each unknown is either very small or very large"""
FEWEST = 8
"""rounds in which both uses touch something, below which nothing is said"""
ROOM = 1 << 33
"""bytes behind an allocation's address that are its own where its size is not known"""
WHOLE = 1 << 32
"""as many bytes, from its address on, are all of it, whatever its size is (`whole_of_unknown` in the engine)"""
MOST_REGIONS = 128
_EXTREMES: dict[str, Callable[[int, int], int]] = {"min": min, "max": max}
_COMPUTED = frozenset({"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "==", "<", "!", "&&", "||", *_EXTREMES})
_OF_THE_DEVICE = frozenset({MemoryKind.PLAIN, MemoryKind.STREAM_ORDERED})

Knowledge = tuple[tuple[Symbol, Any], ...]
"""What was known of the unknowns that a use rests on: a condition may say more later on, and other bytes are meant."""

Bytes = tuple[int, int] | None
"""from the first to behind the last one; None: none, or nobody knows"""


class UnknownExtents:
    """Those of one path."""

    def __init__(self, machine: Machine, meaning: Callable[[Symbol], Any]) -> None:
        self._machine = machine
        self._meaning = meaning
        self._spans: dict[Symbol, tuple[Bytes, ...]] = {}
        self._regions: dict[int, dict[tuple[Bytes, ...], Knowledge]] = {}
        self._symbols: dict[Symbol, set[Symbol]] = {}
        """unknowns that a kernel's extent rests on"""
        self._known: dict[int, tuple[Any, Any]] | None = None
        """of the one use that is looked at: identity of a term -> the term, and what conditions make of it"""

    def number(self, value: Any, at: int) -> int | None:
        """Return what a number is in one round; None if nobody can compute it."""
        if isinstance(value, int):
            return int(value)
        if isinstance(value, Symbol):
            meant = self._meaning(value)
            return self._chosen(value, at) if meant is value else self.number(meant, at)
        if not isinstance(value, Term):
            return None
        known = self._term(value)
        if not isinstance(known, Term):
            return self.number(known, at)
        if known.operator == "?:":
            condition = self.number(known.operands[0], at)
            return None if condition is None else self.number(known.operands[1 if condition else 2], at)
        if known.operator not in _COMPUTED:
            return _any(repr(known), at)  # what lies in memory, say
        operands = [self.number(each, at) for each in known.operands]
        if known.operator == "!" and operands[0] is not None:
            return int(not operands[0])
        if len(operands) != 2 or operands[0] is None or operands[1] is None:
            return None
        if known.operator in _EXTREMES:
            return _EXTREMES[known.operator](operands[0], operands[1])
        found = fold(known.operator, operands[0], operands[1])
        return found if isinstance(found, int) else None

    def _chosen(self, symbol: Symbol, at: int) -> int | None:
        known = self._machine.known(symbol)
        if known is not symbol:
            return self.number(known, at)
        return self._machine.bounds.nearest(symbol, _any(str(symbol.number), at))

    def _term(self, term: Term) -> Any:
        """Return what conditions make of a term. For all rounds of a use it is the same."""
        if self._known is None:
            return self._machine.known(term)
        found = self._known.get(id(term))
        if found is None:
            found = self._known[id(term)] = term, self._machine.known(term)
        return found[1]

    def span(self, touched: Sequence[Bytes], given: Sequence[Any]) -> Symbol | None:
        """Return what stands for the bytes, from a pointer on, that a kernel which is `given` these touches."""
        if touched[0] is None:
            return None
        symbol = self._machine.fresh("extent", "opaque")
        self._symbols[symbol] = {each for value in given for each in self._unknowns(value)}
        self._spans[symbol] = tuple(touched)
        return symbol

    def region(self, allocation: Allocation, pointer: Pointer, size: Any, touches: bool) -> Region | None:
        """Return addresses that are to other uses of the allocation as those that are meant; None: as it stands."""
        if allocation.size:
            return self._within(pointer, size, touches)
        if allocation.kind not in _OF_THE_DEVICE:
            return None
        offset: Any = pointer.address - pointer.base if pointer.exact else pointer.offset
        if offset is None or (size is None and not touches):
            return None
        self._known = {}
        try:
            return self._region(allocation, pointer, offset, size, touches)
        finally:
            self._known = None

    def _within(self, pointer: Pointer, size: Any, touches: bool) -> Region | None:
        """Return the bytes of a use in an allocation of known size; None: as it stands.

        Those that a kernel touches whose arguments are known, or the most that `std::min(half, rest)` can be, which it
        is mostly: without this the use would be one of all that the allocation has from there on.
        """
        if not pointer.exact or not isinstance(size, Symbol | Term):
            return None
        span = self._spans.get(size) if isinstance(size, Symbol) else None
        if span is not None:
            begin, end = span[0] or (0, 0)
            inside = end > begin and pointer.address + begin >= pointer.base
            return Region(pointer.address + begin, end - begin, touches) if inside and len(set(span)) == 1 else None
        most = self._most(size)
        return Region(pointer.address, most, touches) if most is not None and 0 < most < WHOLE else None

    def _most(self, value: Any) -> int | None:
        """Return the greatest number that a value can be, where it is one of two of which the smaller one is taken."""
        known = self._machine.known(self._meaning(value) if isinstance(value, Symbol) else value)
        if isinstance(known, int):
            return known
        if not isinstance(known, Term):
            return self._machine.bounds.range(known)[1]
        limits = [self._most(each) for each in known.operands]
        if known.operator == "min":
            return min((each for each in limits if each is not None), default=None)
        if known.operator == "*" and None not in limits:
            number = next((each for each in known.operands if isinstance(each, int)), None)
            return None if number is None or number < 0 else math.prod(each for each in limits if each is not None)
        return None

    def _region(self, allocation: Allocation, pointer: Pointer, offset: Any, size: Any, touches: bool) -> Region | None:
        bytes_ = tuple(self._bytes(offset, size, at) for at in range(ROUNDS))
        first = bytes_[0]
        if first is None or first[1] >= WHOLE or sum(each is not None for each in bytes_) < FEWEST:
            return None
        if self._is_all(allocation, bytes_):
            return Region(allocation.address, WHOLE, touches=True)
        if self._is_behind(allocation, bytes_):
            return Region(allocation.address + WHOLE + first[0], first[1] - first[0], touches)
        regions = self._regions.setdefault(allocation.generation, {})
        known = self._knowledge({*self._unknowns(offset), *self._unknowns(size)})
        if regions.get(bytes_) != known:
            unclear = next(
                (other for other, then in regions.items() if _unclear(bytes_, other) or self._is_outdated(then)), None
            )
            if unclear is not None or len(regions) >= MOST_REGIONS:
                return self._beside(pointer, unclear)
            regions[bytes_] = known
        return Region(allocation.address + first[0], 0 if size is None else first[1] - first[0], touches)

    def _is_all(self, allocation: Allocation, bytes_: Sequence[Bytes]) -> bool:
        """Tell whether these bytes are all that the program asked for."""
        return all(each == (0, size) for each, size in self._beside_size(allocation, bytes_))

    def _is_behind(self, allocation: Allocation, bytes_: Sequence[Bytes]) -> bool:
        """Tell whether these bytes lie behind what the program asked for."""
        return all(size is not None and each[0] >= size for each, size in self._beside_size(allocation, bytes_))

    def _beside_size(self, allocation: Allocation, bytes_: Sequence[Bytes]) -> list[tuple[tuple[int, int], int | None]]:
        """Return the bytes of each round in which there are some, and the allocation's size there."""
        if allocation.asked is None:
            return [((1, 1), None)]
        return [(each, self.number(allocation.asked, at)) for at, each in enumerate(bytes_) if each is not None]

    def _unknowns(self, value: Any) -> Iterable[Symbol]:
        if isinstance(value, Symbol) and value in self._symbols:
            return self._symbols[value]
        meant: Any = self._meaning(value) if isinstance(value, Symbol) else value
        return symbols_of(meant) if isinstance(meant, Symbol | Term) else ()

    def _knowledge(self, unknowns: Iterable[Symbol]) -> Knowledge:
        machine = self._machine
        ordered = sorted(unknowns, key=lambda symbol: symbol.number)
        return tuple((each, (machine.known(each), machine.bounds.range(each))) for each in ordered)

    def _is_outdated(self, then: Knowledge) -> bool:
        return then != self._knowledge(symbol for symbol, _ in then)

    def _beside(self, pointer: Pointer, other: tuple[Bytes, ...] | None) -> Region | None:
        """Return what says that a use may meet another one."""
        if other is None or other[0] is None:
            return None
        inside = other[0][0] <= pointer.address - pointer.base < other[0][1]
        if pointer.exact and not inside:
            return None
        return Region(pointer.address if pointer.exact else pointer.base + other[0][0], 0, touches=False)

    def _bytes(self, offset: Any, size: Any, at: int) -> Bytes:
        begin = self.number(offset, at)
        if begin is None:
            return None
        span = self._spans.get(size) if isinstance(size, Symbol) else None
        if span is not None:
            touched = span[at]
            return None if touched is None or begin + touched[0] < 0 else (begin + touched[0], begin + touched[1])
        length = 1 if size is None else self.number(size, at)
        return None if length is None or length <= 0 or begin < 0 else (begin, begin + length)


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


def _unclear(one: Sequence[Bytes], other: Sequence[Bytes]) -> bool:
    """Tell whether two uses meet for some values, and stay apart for others."""
    verdicts = [a[0] < b[1] and b[0] < a[1] for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    return len(verdicts) < FEWEST or len(set(verdicts)) > 1 or one[0] is None or other[0] is None
