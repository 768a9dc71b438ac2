"""Runs a kernel's code for all threads of a part of a launch at once, as far as addresses go.

Threads that go different ways are different `State`s; those in a function that was called go first, then those that are
first in the code, and where two meet they become one again. Where memory decides, threads go both ways, and have a
share of themselves in each.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

import numpy as np

from streamsan.machine_code import opcodes
from streamsan.machine_code.address_code import AddressCode
from streamsan.machine_code.constant_reads import CONSTANT_READ
from streamsan.machine_code.constant_uses import constant_uses
from streamsan.machine_code.disassembler import INSTRUCTION_BYTES
from streamsan.machine_code.image_instructions import ImageAccess
from streamsan.machine_code.image_places import images_named, texel_of
from streamsan.machine_code.lane_comparison import EITHER, FALSE, TRUE, Cutting, Split, Spread, Truth, and_
from streamsan.machine_code.lane_loads import address_of
from streamsan.machine_code.lane_operations import run
from streamsan.machine_code.lane_state import STACK, Impossible, Launch, State, merged
from streamsan.machine_code.lane_values import (
    Base,
    Counter,
    Mask,
    Place,
    Sum,
    Wide,
    every,
    inverse,
    mask_of,
    same,
    some,
)
from streamsan.machine_code.loop_strides import (
    Strides,
    advanced,
    follows,
    iterations_at_most,
    same_strides,
    same_truth,
    strides,
)
from streamsan.machine_code.machine_operations import BRANCHES, MEMORY, STACK_STORES, Operation

_SMALLEST_SHARE = 2.0**-40
"""below this a share is 0, so that sums of shares are exact"""
_PATIENCE = 10
"""how often threads may come to a loop's begin, each time less sure, before its values are given up"""
_FEWEST_ITERATIONS = 4
"""below this it is not worth while to look how many are alike"""
_TRIES = 4
_REST = 6
"""iterations until that is tried again"""
_LANES_PER_UNIT = 1024
_UNITS_OF_ACCESS = 4

Note = tuple[Base, str, Wide, int, Mask, Mask]
Touch = Callable[[Base, str, Wide, int, Mask, Mask], None]
"""word or variable, mode, address (None: any), bytes, threads that may touch them, threads that do"""


class NotKnown(Exception):  # noqa: N818
    """The code does something that is not known, or more than there is time for."""


class Budget:
    """How much may be done for one launch."""

    def __init__(self, units: int):
        self.units = units

    def spend(self, units: int) -> None:
        """Raises `NotKnown` when nothing is left."""
        self.units -= units
        if self.units < 0:
            raise NotKnown("it takes too long")


class LaneMachine:
    """One run of a kernel."""

    def __init__(self, code: AddressCode, launch: Launch, cutting: Cutting, budget: Budget, touch: Touch, lanes: int):
        self._code = code
        self._launch = launch
        self._cutting = cutting
        self._budget = budget
        self._touch = touch
        self._cost = 1 + lanes // _LANES_PER_UNIT
        self._waiting: dict[int, State] = {}
        self._order: list[tuple[int, int, int]] = []
        self._seen: dict[int, State] = {}
        self._leaks: dict[int, int] = {}
        self._paces: dict[int, tuple[State | None, Strides | None]] = {}
        self._rests: dict[int, int] = {}

    def run(self) -> None:
        """Follow all threads to their end. Raises `Split` and `Spread` (to be run again in parts), and `NotKnown`."""
        self._arrive(0, State(self._launch, {}, {}, True, 1.0))
        while self._order:
            block = heappop(self._order)[2]
            state = self._hurried(block, self._waiting.pop(block))
            if not self._again(block, state):
                self._block(block, state)

    def _arrive(self, block: int | None, state: State) -> None:
        if block is None:
            raise NotKnown("it goes on where no code is")
        if not some(state.threads):
            return
        waiting = self._waiting.get(block)
        if waiting is None:
            self._waiting[block] = state
            heappush(self._order, (-state.depth, self._code.order[block], block))
        else:
            self._waiting[block] = merged(waiting, state, self._code.needed[block])

    def _block(self, number: int, state: State) -> None:
        operations = self._code.operations[number]
        self._budget.spend(1 + self._cost * len(operations))
        last = self._code.blocks[number].end - 1
        for operation in operations:
            name = operation.name
            if name in BRANCHES:
                if operation.at == last and name != "BMOV":
                    self._leave(number, state, operation)
                    return
                if name != "BMOV":
                    raise NotKnown(f"{name} inside of a block")
                self._move_barrier(state, operation)
            elif name in MEMORY and self._code.words.get(operation.at):
                self._budget.spend(_UNITS_OF_ACCESS * self._cost)
                state.begin(operation)
                if name in STACK_STORES and not _by_parameter(state, operation):
                    state.cells.clear()
                self._access(state, operation)
                run(state, operation, self._cutting)
            elif operation.image is not None and self._code.words.get(operation.at):
                self._budget.spend(_UNITS_OF_ACCESS * self._cost)
                state.begin(operation)
                self._access_image(state, operation, operation.image)
                run(state, operation, self._cutting)
            elif name == CONSTANT_READ:
                state.begin(operation)
                self._read_constant(state, operation)
            else:
                if name in STACK_STORES and name != "STL":
                    state.cells.clear()
                run(state, operation, self._cutting)
        self._arrive(self._next(number), state)

    def _next(self, number: int) -> int | None:
        return number + 1 if number + 1 < len(self._code.blocks) else None

    # Branches -------------------------------------------------------------------------------------------------------

    def _leave(self, number: int, state: State, operation: Operation) -> None:
        name = operation.name
        state.begin(operation)
        truth = TRUE if operation.guard is None else state.truth(*operation.guard)
        for each in operation.ins:
            truth = and_(truth, state.truth(*each))
        behind = self._next(number)
        target: int | None = None
        if name in ("BRA", "JMP"):
            if "DIV" in operation.suffixes:
                # Where the threads of a warp are not together, they do the same in another way.
                truth = FALSE
            target = self._target(operation)
        elif name == "BSSY":
            state.barriers[self._barrier(operation)] = self._known(self._target(operation))
            truth = FALSE
        elif name == "BSYNC":
            target = state.barriers.get(self._barrier(operation), -1)
            if target < 0:
                raise NotKnown("threads meet at a place that is not known")
        elif name == "CALL":
            target = self._target(operation)
            if target is None:
                raise NotKnown("a call of code that is not here")
            state.depth += 1
        elif name == "RET":
            target = self._returned(state, operation)
            state.depth -= 1
        elif name not in ("EXIT", "KILL"):
            raise NotKnown(name)
        taken, rest = state.threads & truth.true, state.threads & truth.false
        both = taken & rest
        share = state.share
        if some(both):
            share = np.where(both, share / 2, share)
            share = np.where(share < _SMALLEST_SHARE, 0.0, share)
        goes, stays = some(taken), some(rest)
        if stays:
            staying = state.copy(rest, share)
            staying.learn(truth.if_false)
            self._arrive(behind, staying)
        if goes and name not in ("EXIT", "KILL"):
            state.threads, state.share = taken, share
            state.learn(truth.if_true)
            self._arrive(target, state)

    def _target(self, operation: Operation) -> int | None:
        for source in operation.sources:
            label = source.text.strip("`()")
            offset = self._code.labels.get(label)
            if offset is None and isinstance(source.operand, int):
                offset = source.operand
            if offset is not None:
                return self._code.block_at.get(offset // INSTRUCTION_BYTES)
        return None

    def _known(self, block: int | None) -> int:
        if block is None:
            raise NotKnown("threads meet where no code is")
        return block

    def _barrier(self, operation: Operation) -> str:
        return next((source.text.split(".")[0] for source in operation.sources if source.text.startswith("B")), "")

    def _returned(self, state: State, operation: Operation) -> int | None:
        """`RET.REL.NODEC R4, FUNCTION`: the pair of registers holds the place, counted from the function."""
        register = getattr(operation.sources[0].operand, "number", None) if operation.sources else None
        place = state.wide(register) if register is not None else None
        if not isinstance(place, int):
            raise NotKnown("a return to a place that is not known")
        label = operation.sources[1].text.strip("`()") if len(operation.sources) > 1 else ""
        return self._code.block_at.get((self._code.labels.get(label, 0) + place) // INSTRUCTION_BYTES)

    def _move_barrier(self, state: State, operation: Operation) -> None:
        texts = [source.text for source in operation.sources]
        if len(texts) < 2 or operation.guard is not None:
            raise NotKnown("a barrier's threads are changed")
        register = getattr(operation.sources[1 if texts[0].startswith("B") else 0].operand, "number", None)
        if texts[0].startswith("B"):
            held = state.registers.get(register) if register is not None else None
            state.barriers[texts[0]] = held.block if isinstance(held, Place) else -1
        elif register is not None:
            state.registers[register] = Place(state.barriers.get(texts[1], -1))

    # Loops that are known ---------------------------------------------------------------------------------------------

    def _hurried(self, block: int, state: State) -> State:
        """At a loop's begin, where the last iterations all added the same: the state after as many more as do so too.

        That is tried, not believed: one iteration is run for a counter of iterations in place of a number. It must end
        one step further, and no thread may leave or turn off.
        """
        if not self._code.begins_loop[block]:
            return state
        needed = self._code.needed[block]
        before, steps = self._paces.get(block, (None, None))
        now = None if before is None else strides(before, state, needed)
        self._paces[block] = (state.copy(state.threads, state.share), now)
        if not now or steps is None or not same_strides(steps, now):
            return state
        if self._rests.get(block, 0) > 0:
            self._rests[block] -= 1
            return state
        count = self._iterations(block, state, now)
        if count < _FEWEST_ITERATIONS:
            self._rests[block] = _REST
            return state
        later = advanced(state, now, count)
        self._paces[block] = (later.copy(later.threads, later.share), now)
        return later

    def _iterations(self, block: int, state: State, steps: Strides) -> int:
        """How many iterations all do the same; what they touch is noted. 0: none."""
        most = iterations_at_most(state, steps)
        for _ in range(_TRIES):
            if most < _FEWEST_ITERATIONS:
                return 0
            counter = Counter(0, most - 1)
            notes: list[Note] = []
            first = advanced(state, steps, counter)
            try:
                last = self._iteration(block, first, notes)
            except Split as split:
                if split.counter is not counter:
                    raise
                most = min(split.cuts)
                continue
            except Spread as spread:
                if spread.counter is not counter:
                    raise
                return 0
            if last is None or not follows(first, last, steps, self._code.needed[block]):
                return 0
            for note in notes:
                self._touch(*note)
            return most
        return 0

    def _iteration(self, header: int, state: State, notes: list[Note]) -> State | None:
        """Run the loop's body once by itself; None: not all threads come back."""
        inside = self._loop(header)
        kept = (self._waiting, self._order, self._seen, self._leaks, self._paces, self._rests, self._touch)
        self._waiting, self._order, self._seen, self._leaks, self._paces, self._rests = {}, [], {}, {}, {}, {}
        self._touch = lambda *note: notes.append(note)
        try:
            self._block(header, state.copy(state.threads, state.share))
            while self._order:
                block = heappop(self._order)[2]
                if block == header:
                    return None if self._order else self._waiting[block]
                if block not in inside:
                    return None
                here = self._hurried(block, self._waiting.pop(block))
                if not self._again(block, here):
                    self._block(block, here)
            return None
        finally:
            self._waiting, self._order, self._seen, self._leaks, self._paces, self._rests, self._touch = kept

    # Loops that memory decides ----------------------------------------------------------------------------------------

    def _again(self, block: int, state: State) -> bool:
        """Whether these threads were here with the same values, so that nothing new comes of it.

        Threads that come again and again, less and less sure, are in a loop whose end is not known: what changes in it
        is given up.
        """
        before = self._seen.get(block)
        if self._code.begins_loop[block]:
            # The state itself goes on and changes.
            self._seen[block] = state.copy(state.threads, state.share)
        if before is None or every((state.share >= 1) | inverse(state.threads)):
            return False
        keys = self._code.needed[block]
        if every(inverse(state.threads) | before.threads) and _covers(before, state, keys):
            self._seen[block] = before
            self._credit(block, state)
            return True
        if some(mask_of(_total(state) < _total(before))):
            self._leaks[block] = self._leaks.get(block, 0) + 1
        if self._leaks.get(block, 0) > _PATIENCE:
            for key in keys:
                if isinstance(key, str):
                    if not same_truth(before.predicates.get(key, EITHER), state.predicates.get(key, EITHER)):
                        state.predicates[key] = EITHER
                elif not same(before.registers.get(key), state.registers.get(key)):
                    state.registers[key] = None
            state.cells = {place: value for place, value in state.cells.items() if same(before.cells.get(place), value)}
        return False

    def _credit(self, block: int, state: State) -> None:
        """Threads that would only do again what was done come out of the loop where the others do."""
        inside = self._loop(block)
        out = {follower for each in inside for follower in self._code.blocks[each].successors} - inside
        ends = any(
            operation.name in ("EXIT", "KILL", "RET", "CALL")
            for each in inside
            for operation in self._code.operations[each][-1:]
        )
        waiting = self._waiting.get(next(iter(out))) if len(out) == 1 else None
        if waiting is not None and not ends and every(inverse(state.threads) | waiting.threads):
            held = state.share if isinstance(state.threads, bool) else np.where(state.threads, state.share, 0.0)
            waiting.share = waiting.share + held

    def _loop(self, header: int) -> set[int]:
        """The blocks from which the way leads back to `header`, and that do not come before it."""
        order = self._code.order
        before: dict[int, list[int]] = {}
        for number, block in enumerate(self._code.blocks):
            for follower in block.successors:
                before.setdefault(follower, []).append(number)
        inside = {header}
        todo = [each for each in before.get(header, ()) if order[each] >= order[header]]
        while todo:
            number = todo.pop()
            if number not in inside:
                inside.add(number)
                todo.extend(each for each in before.get(number, ()) if order[each] >= order[header])
        return inside

    # Memory -----------------------------------------------------------------------------------------------------------

    def _read_constant(self, state: State, operation: Operation) -> None:
        guard, threads, surely = _those_that_do(state, operation)
        if some(threads):
            for use in constant_uses(state, operation, self._code.constants, guard, threads):
                surely_here = surely & use.threads if use.sure else False
                self._touch(use.symbol, "read", use.address, use.width, use.threads, surely_here)

    def _access_image(self, state: State, operation: Operation, image: ImageAccess) -> None:
        guard, threads, surely = _those_that_do(state, operation)
        if not some(threads):
            return
        place = texel_of(state, image.coordinates)
        if guard.if_true and some(guard.false & threads):
            seen = state.under(guard.if_true, place)
            if isinstance(seen, Impossible):
                return
            place = seen
        for word, those in images_named(state, image, self._code.words[operation.at]):
            if those is None:
                self._touch(word, image.way, None, 0, threads, False)
            elif some(threads & those):
                self._touch(word, image.way, place, 1, threads & those, surely & those)

    def _access(self, state: State, operation: Operation) -> None:
        guard, threads, surely = _those_that_do(state, operation)
        if not some(threads):
            return
        name = operation.name
        if name in opcodes.READS:
            modes = ["read"]
        elif name in opcodes.WRITES:
            modes = ["write"]
        elif name in opcodes.UPDATES:
            modes = ["update"]
        elif name in opcodes.COPIES_TO_SHARED:
            modes = ["read"]
            if not _always(state, operation):
                surely = False
        else:
            modes = ["read", "write", "update"]
        simple = operation.width > 0 and len(modes) == 1 and operation.address is not None
        address = address_of(state, operation.address) if simple and operation.address is not None else None
        if isinstance(address, Sum) and address.base == STACK:
            return
        if guard.if_true and some(guard.false & threads):
            seen = state.under(guard.if_true, address)
            if isinstance(seen, Impossible):
                return
            address = seen
        based = isinstance(address, Sum) and address.base is not None
        for mode in modes:
            if based and isinstance(address, Sum) and address.base is not None:
                self._touch(address.base, mode, address, operation.width, threads, surely)
            else:
                for word in self._code.words[operation.at]:
                    self._touch(word, mode, None, 0, threads, False)


def _those_that_do(state: State, operation: Operation) -> tuple[Truth, Mask, Mask]:
    """The instruction's guard, the threads that may do it, and those that do."""
    guard = TRUE if operation.guard is None else state.truth(*operation.guard)
    threads = state.threads & guard.true
    surely: Any = inverse(guard.false) & threads & (state.share >= 1)
    return guard, threads, surely if isinstance(surely, (bool, np.ndarray)) else bool(surely)


def _by_parameter(state: State, operation: Operation) -> bool:
    """Whether the address is one that the launch was given: those are of no thread's own memory."""
    address = None if operation.address is None else address_of(state, operation.address)
    return isinstance(address, Sum) and address.base is not None and address.base != STACK


def _always(state: State, operation: Operation) -> bool:
    return all(not some(state.truth(*each).false & state.threads) for each in operation.ins)


def _covers(before: State, state: State, keys: frozenset[int | str]) -> bool:
    for key in keys:
        if isinstance(key, str):
            if not same_truth(before.predicates.get(key, EITHER), state.predicates.get(key, EITHER)):
                return False
        elif before.registers.get(key) is not None and not same(before.registers.get(key), state.registers.get(key)):
            return False
    if before.barriers != state.barriers:
        return False
    return all(value is None or same(value, state.cells.get(place)) for place, value in before.cells.items())


def _total(state: State) -> Any:
    return state.share if isinstance(state.threads, bool) else np.where(state.threads, state.share, 0.0)
