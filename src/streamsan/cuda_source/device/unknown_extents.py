"""Which bytes a use touches, where a program says so in numbers that nobody knows: `d + i * m`, `n / 2` elements.

Every unknown number is given several values, and each use its bytes for each of them. Two uses meet, or stay apart,
where they do so for all values; then addresses are chosen that say the same, those of the first values. Where values
disagree, those count that the path's conditions allow, and with which no use lies behind the allocation's end; with one
of them at least uses must meet. Else nobody can tell, and nothing is said. An address chosen so means nothing by
itself: no report names it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct

from streamsan.cuda_source.device.picked_numbers import PickedNumbers
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import Term
from streamsan.model.executor import Region
from streamsan.model.resources import Allocation
from streamsan.model.values import Pointer, Symbol
from streamsan.vocabulary import MemoryKind

FEWEST = 8
"""rounds in which both uses touch something, below which nothing is said"""
ROOM = 1 << 33
"""bytes behind an allocation's address that are its own where its size is not known"""
WHOLE = 1 << 32
"""as many bytes, from its address on, are all of it, whatever its size is (`whole_of_unknown` in the engine)"""
MOST_REGIONS = 128
_OF_THE_DEVICE = frozenset({MemoryKind.PLAIN, MemoryKind.STREAM_ORDERED, MemoryKind.PINNED})

Knowledge = tuple[tuple[Symbol, Any], ...]
"""What was known of the unknowns that a use rests on: a condition may say more later on, and other bytes are meant."""

Bytes = tuple[int, int] | None
"""from the first to behind the last one; None: none, or nobody knows"""


class _Use(Struct, frozen=True):
    """The bytes of a use in each round, and what they rest on."""

    bytes: tuple[Bytes, ...]
    place: tuple[int, int]
    """those that stand for them in the trace"""
    unknowns: frozenset[Symbol]
    knowledge: Knowledge


class UnknownExtents:
    """Those of one path."""

    def __init__(self, machine: Machine, meaning: Callable[[Symbol], Any]) -> None:
        self._machine = machine
        self._meaning = meaning
        self._spans: dict[Symbol, tuple[Bytes, ...]] = {}
        self._uses: dict[int, dict[tuple[Bytes, ...], _Use]] = {}
        """by generation of the allocation"""
        self._asides = 0
        """bytes given so far that no other use has"""
        self._symbols: dict[Symbol, set[Symbol]] = {}
        """unknowns that a kernel's extent rests on"""
        self._picked = PickedNumbers(machine, meaning)
        self.number = self._picked.number

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
        return self._region(allocation, pointer, offset, size, touches)

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
        bytes_ = self._bytes(offset, size)
        if sum(each is not None for each in bytes_) < FEWEST or (bytes_[0] is not None and bytes_[0][1] >= WHOLE):
            return None
        sizes = self._picked.numbers(allocation.asked)
        ends = [(each, end) for each, end in zip(bytes_, sizes, strict=True) if each is not None]
        if all(each == (0, end) for each, end in ends):
            return Region(allocation.address, WHOLE, touches=True)  # all that the program asked for
        if all(end is not None and each[0] >= end for each, end in ends):
            # No run that goes right does this: what else it says of such bytes is nothing.
            return Region(allocation.address + self._aside()[0], 1, touches)
        uses = self._uses.setdefault(allocation.generation, {})
        unknowns = frozenset((*self._unknowns(offset), *self._unknowns(size)))
        knowledge = self._knowledge(unknowns)
        use = uses.get(bytes_)
        if use is None or use.knowledge != knowledge:
            unknowns = unknowns.union(self._unknowns(allocation.asked))
            verdicts = [(other, self._meets(bytes_, unknowns, other, sizes)) for other in uses.values()]
            unclear = next((other for other, meets in verdicts if meets is None), None)
            place = None if unclear is not None else self._place(bytes_, verdicts)
            if place is None or len(uses) >= MOST_REGIONS:
                return self._beside(pointer, unclear)
            use = uses[bytes_] = _Use(bytes_, place, unknowns, knowledge)
        begin, end = use.place
        return Region(allocation.address + begin, 0 if size is None else end - begin, touches)

    def _meets(
        self, bytes_: tuple[Bytes, ...], unknowns: frozenset[Symbol], other: _Use, sizes: Sequence[int | None]
    ) -> bool | None:
        """Tell whether a use meets another one, whatever the numbers are; None: that depends on them."""
        if other.knowledge != self._knowledge(symbol for symbol, _ in other.knowledge):
            return None
        if bytes_ == other.bytes:
            return True
        pairs = list(zip(bytes_, other.bytes, strict=True))
        meet = {at: _overlap(a, b) for at, (a, b) in enumerate(pairs) if a is not None and b is not None}
        if len(meet) < FEWEST:
            return None
        if not any(meet.values()):
            return False
        possible = self._picked.possible(unknowns | other.unknowns)
        allowed = [
            verdict
            for at, verdict in meet.items()
            if possible[at] and all(_is_inside(each, sizes[at]) for each in pairs[at])
        ]
        enough = all(meet.values()) or len(allowed) >= FEWEST
        return allowed[0] if enough and len(set(allowed)) == 1 else None

    def _place(self, bytes_: tuple[Bytes, ...], verdicts: Sequence[tuple[_Use, bool | None]]) -> tuple[int, int] | None:
        """Return bytes that are to those of other uses as it was found."""
        for each in bytes_:
            if each is not None and each[1] < WHOLE and all(_overlap(each, use.place) is so for use, so in verdicts):
                return each
        return None if any(meets for _, meets in verdicts) else self._aside()

    def _aside(self) -> tuple[int, int]:
        """Return a byte that no other use has."""
        self._asides = (self._asides + 1) % (ROOM - WHOLE - 1)
        return WHOLE + self._asides, WHOLE + self._asides + 1

    def _unknowns(self, value: Any) -> Iterable[Symbol]:
        if isinstance(value, Symbol) and value in self._symbols:
            return self._symbols[value]
        return self._picked.unknowns(value)

    def _knowledge(self, unknowns: Iterable[Symbol]) -> Knowledge:
        machine = self._machine
        ordered = sorted(unknowns, key=lambda symbol: symbol.number)
        return tuple((each, (machine.known(each), machine.bounds.range(each))) for each in ordered)

    def _beside(self, pointer: Pointer, other: _Use | None) -> Region | None:
        """Return what says that a use may meet another one."""
        if other is None:
            return None
        begin, end = other.place
        if pointer.exact and not begin <= pointer.address - pointer.base < end:
            return None
        return Region(pointer.address if pointer.exact else pointer.base + begin, 0, touches=False)

    def _bytes(self, offset: Any, size: Any) -> tuple[Bytes, ...]:
        """Return the bytes of a use in each round."""
        begins = self._picked.numbers(offset)
        span: Sequence[Bytes] | None = self._spans.get(size) if isinstance(size, Symbol) else None
        if span is None:
            lengths = self._picked.numbers(1 if size is None else size)
            span = [None if length is None or length <= 0 else (0, length) for length in lengths]
        return tuple(_behind(begin, touched) for begin, touched in zip(begins, span, strict=True))


def _behind(begin: int | None, touched: Bytes) -> Bytes:
    """Return bytes that are counted from a pointer on, where none of them lies before the allocation's address."""
    if begin is None or touched is None or begin + touched[0] < 0:
        return None
    return begin + touched[0], begin + touched[1]


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _is_inside(bytes_: Bytes, size: int | None) -> bool:
    return size is None or bytes_ is None or bytes_[1] <= size
