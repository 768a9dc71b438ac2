"""What threads at the same instruction hold, in registers and predicates; and the launch that they run in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from streamsan.machine_code.cubin import WORD_BYTES, KernelLayout
from streamsan.machine_code.instruction_operands import Constant, Register
from streamsan.machine_code.lane_comparison import EITHER, TRUE, Cutting, Fact, Truth, narrower, not_
from streamsan.machine_code.lane_values import (
    Array,
    Counter,
    Guarded,
    Half,
    Mask,
    Sum,
    Value,
    Wide,
    among,
    bounded,
    bounds,
    every,
    fitted,
    greatest,
    inverse,
    is_number,
    joined,
    least,
    low_word,
    number_of,
    product,
    replaced,
    same,
    select,
    some,
    total,
    wrapped,
    wrapped_wide,
)
from streamsan.machine_code.machine_operations import Key, Operation, Source

STACK = -1
"""the base of addresses in the thread's own memory"""
_SIGNED = -(1 << 31)
_ADDRESSES = 4
"""the constant bank with addresses of variables"""
_MOST_GUARDS = 4
"""predicates under which a register was written, one after another"""
_MOST_CHOSEN = 256
"""different words of constant memory that the threads choose"""


class Impossible:
    """What stands in the place of a value where no thread can be."""


IMPOSSIBLE = Impossible()


class Launch(Struct):
    """What every thread of a launch can read: the parameters, and the sizes of the launch."""

    layout: KernelLayout
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: bytes
    pointers: frozenset[int]
    unknown: frozenset[int]
    """offsets of four bytes each among the parameters"""
    specials: Mapping[str, Value]
    """special registers"""
    addresses: Mapping[int, str] = field(default_factory=dict)
    """of variables: offset in constant bank 4 -> symbol"""
    _known: dict[int, Value] = field(default_factory=dict)

    def constant(self, offset: int) -> Value:
        """The word of constant bank 0 at `offset`."""
        if offset not in self._known:
            self._known[offset] = self._constant(offset)
        return self._known[offset]

    def _constant(self, offset: int) -> Value:
        place = offset - self.layout.base
        if place >= 0:
            if place & ~3 in self.unknown or place + 3 & ~3 in self.unknown:
                return None
            word = place & ~7
            if word in self.pointers:
                return Half(Sum(word, 0), upper=bool(place & 4)) if place % 4 == 0 else None
            content = self.arguments[place : place + 4]
            return int.from_bytes(content, "little", signed=True) if len(content) == 4 else None
        # Bank 0 begins with the sizes of the launch; where parameters begin at 0x380, its last part has them.
        newer = self.layout.base >= 0x380
        first = 0x360 if newer else 0
        if first <= offset < first + 12 and offset % 4 == 0:
            return self.block[(offset - first) // 4]
        grid = 0x370 if newer else 0xC
        if grid <= offset < grid + 12 and offset % 4 == 0:
            return self.grid[(offset - grid) // 4]
        return Half(Sum(STACK, 0), upper=False) if offset == (0x37C if newer else 0x28) else None

    def address(self, offset: int) -> Value:
        """The word of constant bank 4 at `offset`."""
        symbol = self.addresses.get(offset - offset % WORD_BYTES)
        if symbol is None or offset % (WORD_BYTES // 2):
            return None
        return Half(Sum(symbol, 0), upper=offset % WORD_BYTES != 0)

    def part(self, offset: int, size: int, *, signed: bool) -> Value:
        """One or two bytes of constant bank 0."""
        whole = self.constant(offset & ~3)
        if not is_number(whole):
            return None
        bits = 8 * size
        found = whole >> (8 * (offset & 3)) & ((1 << bits) - 1)
        if signed:
            found = ((found + (1 << (bits - 1))) & ((1 << bits) - 1)) - (1 << (bits - 1))
        return found


class State(Struct):
    """Some of the threads, at one place of the code."""

    launch: Launch
    registers: dict[Key, Value]
    predicates: dict[str, Truth]
    threads: Mask
    share: Any
    """of each thread: less than 1 where it may be that it is not here"""
    barriers: dict[str, int] = field(default_factory=dict)
    cells: dict[int, Value] = field(default_factory=dict)
    """the thread's own memory, by the distance from where its stack begins"""
    narrowed: dict[Counter, Counter] = field(default_factory=dict)
    """numbers of which only bounds were known -> with the bounds that branches told since"""
    depth: int = 0
    """how many calls it is in"""
    guard: tuple[Truth, bool] | None = None
    """of the instruction that is done: its predicate, and whether it is inverted"""

    def begin(self, operation: Operation) -> None:
        """The next instruction."""
        self.guard = None
        if operation.guard is not None:
            self.guard = self.truth(operation.guard[0], False), operation.guard[1]

    def copy(self, threads: Mask, share: Any) -> State:
        """The same, for some of its threads."""
        return State(
            self.launch,
            dict(self.registers),
            dict(self.predicates),
            threads,
            share,
            dict(self.barriers),
            dict(self.cells),
            dict(self.narrowed),
            self.depth,
        )

    def learn(self, facts: tuple[Fact, ...]) -> None:
        """Take over what follows for numbers of which only bounds are known. No thread is left where that cannot be."""
        for fact in facts:
            found = narrower(Fact(fact.relation, self._current(fact.distance)), self.threads)
            if found is None:
                continue
            counter, by = found
            if by is None:
                self.threads = False
                return
            self.narrowed[counter] = by
            for key, value in self.registers.items():
                if isinstance(value, Half):
                    whole = replaced(value.whole, counter, by)
                    if whole is not value.whole:
                        self.registers[key] = Half(whole, value.upper)

    def _current(self, distance: Sum) -> Sum:
        """The sum with what was learnt since it was made."""
        for counter, _ in distance.terms:
            now = counter
            while now in self.narrowed:
                now = self.narrowed[now]
            if now is not counter:
                distance = replaced(distance, counter, now)
        return distance

    def under(self, facts: tuple[Fact, ...], address: Wide) -> Wide | Impossible:
        """An address as an instruction sees it whose guard says these facts."""
        if not isinstance(address, Sum):
            return address
        within = State(
            self.launch, {0: Half(address, upper=False)}, {}, self.threads, 1.0, narrowed=dict(self.narrowed)
        )
        within.learn(facts)
        if not some(within.threads):
            return IMPOSSIBLE
        return number_of(within.registers[0])

    # Reading --------------------------------------------------------------------------------------------------------

    def register(self, number: int | None) -> Value:
        """What a register holds; RZ (None) holds 0."""
        if number is None:
            return 0
        value = self.registers.get(number)
        return self._seen(value) if isinstance(value, Guarded) else value

    def _seen(self, value: Value) -> Value:
        """A register that was written under a predicate, as the instruction that is done sees it."""
        while isinstance(value, Guarded):
            if self.guard is not None and self.guard[0] is value.predicate:
                value = value.value if self.guard[1] == value.inverted else value.before
                continue
            threads = self.threads
            if self.guard is not None:
                threads = threads & (self.guard[0].false if self.guard[1] else self.guard[0].true)
            if not some(threads & inverse(value.holds)):
                value = value.value
            elif not some(threads & value.may_hold):
                value = value.before
            elif some(threads & value.may_hold & inverse(value.holds)):
                return None
            else:
                return select(value.holds, self._seen(value.value), self._seen(value.before))
        return value

    def value(self, source: Source) -> Value:
        """The 32 bits of an operand."""
        value = self.plain(source)
        if source.negative or source.inverted:
            found = product(number_of(value), -1)
            value = low_word(total(found, -1) if source.inverted else found)
        return value

    def plain(self, source: Source) -> Value:
        """The 32 bits of an operand, before `-` or `~` turns them."""
        operand = source.operand
        if isinstance(operand, Register):
            value = self.register(operand.number)
        elif isinstance(operand, int):
            value = wrapped(operand)
        elif isinstance(operand, Constant):
            value = self._constant(operand)
        else:
            return None
        if source.absolute:
            number = fitted(value, _SIGNED)
            if isinstance(number, int):
                return abs(number)
            if isinstance(number, np.ndarray):
                return np.abs(number)
            return value if isinstance(number, Sum) and _positive(number) else None
        return value

    def pair(self, source: Source) -> Wide:
        """The 64 bits of an operand."""
        operand = source.operand
        if isinstance(operand, Register):
            found = self.wide(operand.number)
        elif isinstance(operand, int):
            found = wrapped_wide(operand)
        elif isinstance(operand, Constant):
            found = joined(self._constant(operand), self._constant(replace(operand, offset=operand.offset + 4)))
        else:
            return None
        if source.negative:
            found = product(found, -1)
        return found

    def wide(self, number: int | None) -> Wide:
        """The 64 bits of a register and the one behind it."""
        return 0 if number is None else joined(self.register(number), self.register(number + 1))

    def _constant(self, operand: Constant) -> Value:
        word = self._words_of(operand.bank)
        return None if word is None else self._chosen(operand, word)

    def _words_of(self, bank: int) -> Callable[[int], Value] | None:
        return self.launch.constant if bank == 0 else self.launch.address if bank == _ADDRESSES else None

    def _chosen(self, operand: Constant, word: Callable[[int], Value], further: int = 0) -> Value:
        """What `word` gives for the place in constant memory that each thread names, `further` bytes behind it."""
        begin = operand.offset + further
        if operand.index is None:
            return word(begin)
        index = number_of(self.register(operand.index))
        if isinstance(index, int):
            return word(begin + index)
        if not isinstance(index, np.ndarray):
            return None
        indices: NDArray[np.int64] = np.unique(among(index, self.threads))
        if not 0 < len(indices) <= _MOST_CHOSEN:
            return None
        found = [word(begin + each) for each in indices.tolist()]
        numbers = [each for each in found if isinstance(each, int)]
        if len(found) == 1:
            return found[0]
        if len(numbers) < len(found):
            return None  # one register has addresses of one word
        chosen: Array = np.array(numbers, np.int64)[np.searchsorted(indices, index).clip(max=len(indices) - 1)]
        return chosen

    def constant_words(self, source: Source, suffixes: frozenset[str], count: int) -> list[Value]:
        """What a load from constant memory brings, for `count` registers."""
        operand = source.operand
        word = self._words_of(operand.bank) if isinstance(operand, Constant) else None
        if word is None or not isinstance(operand, Constant):
            return [None] * count
        for suffix, size in (("U8", 1), ("S8", 1), ("U16", 2), ("S16", 2)):
            if suffix in suffixes:
                part = partial(self.launch.part, size=size, signed=suffix[0] == "S")
                return [self._chosen(operand, part) if operand.bank == 0 else None]
        return [self._chosen(operand, word, 4 * place) for place in range(count)]

    def truth(self, name: str, inverted: bool) -> Truth:
        """What a predicate is."""
        found = TRUE if name in ("PT", "UPT") else self.predicates.get(name, EITHER)
        if found.under is not None and not self._guarded_by(*found.under):
            found = Truth(found.true, found.false)
        return not_(found) if inverted else found

    def _guarded_by(self, predicate: Truth, inverted: bool) -> bool:
        return self.guard is not None and self.guard[0] is predicate and self.guard[1] == inverted

    # Writing --------------------------------------------------------------------------------------------------------

    def write(self, operation: Operation, values: list[Value]) -> None:
        """Put values into the registers from the instruction's first one on, where its guard holds."""
        if operation.target is None:
            return
        for place in range(max(operation.targets, len(values))):
            number = operation.target + place
            value = values[place] if place < len(values) else None
            if self.guard is not None and number in self.registers:
                value = self._under(self.guard, value, self.registers[number])
            self.registers[number] = value

    def _under(self, guard: tuple[Truth, bool], new: Value, old: Value) -> Value:
        predicate, inverted = guard
        truth = not_(predicate) if inverted else predicate
        if not some(truth.false & self.threads):
            return new
        while isinstance(old, Guarded) and old.predicate is predicate and old.inverted == inverted:
            old = old.before
        open_question = some(truth.true & truth.false & self.threads)
        found = joint(new, old) if open_question else select(truth.true, new, old)
        if _guards(old) >= _MOST_GUARDS:
            old = None
        # A half of a pair is chosen with the other one, when both are read.
        halved = isinstance(new, Half) or isinstance(old, Half)
        if (found is None and (new is not None or old is not None)) or (halved and not same(new, old)):
            return Guarded(predicate, inverted, inverse(truth.false), truth.true, new, old)
        return found

    def write_truth(self, operation: Operation, names: tuple[str, ...], truths: list[Truth]) -> None:
        """Set predicates, in the threads of the instruction's guard."""
        guard = None
        if self.guard is not None:
            guard = not_(self.guard[0]) if self.guard[1] else self.guard[0]
        for name, truth in zip(names, truths, strict=False):
            if name in ("PT", "UPT"):
                continue
            if guard is not None:
                old = self.predicates.get(name)
                if old is not None:
                    truth = Truth(
                        (truth.true & guard.true) | (old.true & guard.false),
                        (truth.false & guard.true) | (old.false & guard.false),
                        truth.addends,
                        under=self.guard if truth.addends else None,
                    )
            self.predicates[name] = truth

    def forget(self, operation: Operation) -> None:
        """Leave all unknown that an instruction writes."""
        self.write(operation, [])
        self.registers.update(dict.fromkeys(operation.others))
        self.write_truth(operation, operation.outs, [EITHER] * len(operation.outs))
        if operation.name in ("R2P", "UR2UP"):
            for number in range(8):
                self.predicates[f"{'U' if operation.name == 'UR2UP' else ''}P{number}"] = EITHER


def _guards(value: Value) -> int:
    count = 0
    while isinstance(value, Guarded):
        value = value.before
        count += 1
    return count


def _positive(number: Sum) -> bool:
    limits = bounds(number)
    return limits is not None and every(limits[0] >= 0)


def joint(first: Value, second: Value) -> Value:
    """A value that may be either of the two, in every thread."""
    if first is None or second is None:
        return None
    if same(first, second):
        return first
    if is_number(first) and is_number(second):
        return low_word(bounded(min(least(first), least(second)), max(greatest(first), greatest(second))))
    return None


def merged(first: State, second: State, needed: frozenset[Key]) -> State:
    """Threads that come to one place from two. Only what is `needed` is kept."""
    shared = first.threads & second.threads
    overlap = some(shared)
    registers: dict[Key, Value] = {}
    predicates: dict[str, Truth] = {}
    for key in needed:
        if isinstance(key, str):
            one, two = first.predicates.get(key), second.predicates.get(key)
            if one is None or two is None:
                # Not set yet for some of them: nobody reads it there.
                if one is not None or two is not None:
                    predicates[key] = one if one is not None else two  # type: ignore[assignment]
            elif one is two:
                predicates[key] = one
            else:
                predicates[key] = _either(first.threads, second.threads, one, two)
            continue
        if key not in first.registers or key not in second.registers:
            if key in first.registers or key in second.registers:
                registers[key] = first.registers.get(key, second.registers.get(key))
            continue
        registers[key] = _both(first, second, overlap, first.registers[key], second.registers[key])
    cells = {
        place: _both(first, second, overlap, first.cells[place], second.cells[place])
        for place in first.cells.keys() & second.cells.keys()
    }
    barriers = {name: block for name, block in first.barriers.items() if second.barriers.get(name, block) == block}
    for name, block in second.barriers.items():
        if name not in first.barriers:
            barriers[name] = block
    for name in (first.barriers.keys() & second.barriers.keys()) - barriers.keys():
        barriers[name] = -1
    share = _part(first.share, first.threads) + _part(second.share, second.threads)
    threads = first.threads | second.threads
    narrowed = {each: by for each, by in first.narrowed.items() if second.narrowed.get(each) is by}
    return State(first.launch, registers, predicates, threads, share, barriers, cells, narrowed, first.depth)


def _part(share: Any, threads: Mask) -> Any:
    if isinstance(threads, bool):
        return share if threads else 0.0
    return np.where(threads, share, 0.0)


def _both(first: State, second: State, overlap: bool, one: Value, two: Value) -> Value:
    if one is two:
        return one
    if overlap:
        return joint(one, two)
    return select(first.threads, one, two)


def _either(here: Mask, there: Mask, one: Truth, two: Truth) -> Truth:
    if isinstance(here, bool) or isinstance(there, bool):
        return Truth(one.true | two.true, one.false | two.false)
    return Truth(
        (one.true & here) | (two.true & there) | (one.true & two.true & inverse(here | there)),
        (one.false & here) | (two.false & there) | (one.false & two.false & inverse(here | there)),
    )


Effect = Callable[[State, Operation, Cutting], None]
"""what an instruction does; it raises `Split` or `Spread` where the launch must be cut first"""
