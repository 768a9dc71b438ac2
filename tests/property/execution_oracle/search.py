"""The executions of a machine: which steps may be unfinished when another one happens.

A state is the set of steps that have happened, as the bits of a number. A step may happen in each state that has all
steps of its guard; none takes another's chance away. `every_state` walks through all states. `delayed` asks the same of
fewer: a step x may happen while y is unfinished exactly if it happens in the executions that put y off for ever, for an
execution that reaches x without y is one of those up to there. So for each y one run, in which all else happens as
early as it can, answers for all x. The tests compare both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Unfinished = list[int]
"""for each step the bits of those that may be unfinished when it happens (its own among them)"""


class StuckError(Exception):
    """A step can never happen: no program."""


def delayed(guards: Sequence[int], watched: Iterable[int]) -> Unfinished:
    """Return which of the watched steps may be unfinished at each step."""
    result = [0] * len(guards)
    ordered = [(step, 1 << step, guards[step]) for step in possible_order(guards)]
    for late in watched:
        mine = 1 << late
        gone = mine
        for step, bit, guard in ordered:
            if guard & gone:
                gone |= bit
            else:
                result[step] |= mine
        result[late] |= mine
    return result


def possible_order(guards: Sequence[int]) -> list[int]:
    """Return the steps in an order in which they can happen."""
    done = 0
    order: list[int] = []
    waiting = list(range(len(guards)))
    while waiting:
        left = []
        for step in waiting:
            if guards[step] & ~done:
                left.append(step)
            else:
                done |= 1 << step
                order.append(step)
        if len(left) == len(waiting):
            raise StuckError(left)
        waiting = left
    return order


def every_state(guards: Sequence[int], watched: Iterable[int], most: int) -> tuple[Unfinished | None, int]:
    """Walk through every state; return the same as `delayed`, and how many states there are.

    Steps that are not watched happen as soon as they can: that another one comes first is of no consequence then. None
    where there are more than `most` states.
    """
    chosen = set(watched)
    mask = sum(1 << step for step in chosen)
    steps = [(step, 1 << step, guard) for step, guard in enumerate(guards)]
    late = [each for each in steps if each[0] in chosen]
    prompt = [each for each in steps if each[0] not in chosen]
    everything = (1 << len(guards)) - 1
    result = [0] * len(guards)

    def settle(missing: int) -> int:
        again = True
        while again:
            again = False
            for step, bit, guard in prompt:
                if missing & bit and not guard & missing:
                    result[step] |= missing & mask
                    missing &= ~bit
                    again = True
        return missing

    first = settle(everything)
    seen = {first}
    open_ = [first]
    while open_:
        missing = open_.pop()
        for step, bit, guard in late:
            if missing & bit and not guard & missing:
                result[step] |= missing & mask
                following = settle(missing & ~bit)
                if following not in seen:
                    if len(seen) >= most:
                        return None, most
                    seen.add(following)
                    open_.append(following)
    return result, len(seen)
