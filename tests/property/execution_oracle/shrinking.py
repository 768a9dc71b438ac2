"""A program that fails, made small without Hypothesis: steps are left out, and their numbers made small."""

from __future__ import annotations

from collections.abc import Callable

from execution_oracle.choices import Step

Fails = Callable[[int, list[Step]], bool]


def shrink(shape: int, steps: list[Step], fails: Fails) -> tuple[int, list[Step]]:
    """Return a smaller program that still fails."""
    shape = _simpler_shape(shape, steps, fails)
    steps = _fewer(shape, steps, fails)
    for index in range(len(steps)):
        for place in range(1, 5):
            for number in range(min(6, steps[index][place])):
                changed = list(steps)
                numbers = list(steps[index])
                numbers[place] = number
                name, a, b, c, d = numbers
                changed[index] = (name, a, b, c, d)
                if fails(shape, changed):
                    steps = changed
                    break
    return shape, _fewer(shape, steps, fails)


def _simpler_shape(shape: int, steps: list[Step], fails: Fails) -> int:
    return next((simple for simple in range(shape) if fails(simple, steps)), shape)


def _fewer(shape: int, steps: list[Step], fails: Fails) -> list[Step]:
    again = True
    while again:
        again = False
        for index in reversed(range(len(steps))):
            fewer = steps[:index] + steps[index + 1 :]
            if fails(shape, fewer):
                steps = fewer
                again = True
    return steps
