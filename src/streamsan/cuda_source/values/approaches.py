"""What a loop comes nearer to turn by turn: `if (head + bytes > size) head = 0;`, the first slot again of `i % slots`.

The first two turns of a loop say how many more it takes until a comparison has another answer, or a remainder begins
anew. That is where a ring uses its memory for the second time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

WATCHED = 2
"""turns of a loop that are looked at"""


class Nearing:
    """The first turns of one run of a loop."""

    def __init__(self) -> None:
        self._distances: list[dict[int, int]] = []
        """by turn: what was computed -> how far it is from another answer, in the end"""

    def begin_turn(self) -> None:
        """A turn begins; what comes between it and the one before, the loop's own condition, is not looked at."""
        self._distances.append({})

    def take_back_turn(self) -> None:
        """The turn that began last was none: the loop waited for another thread."""
        self._distances.pop()

    def met(self, what: int, distance: int) -> None:
        """Note a computation of this turn."""
        if self._distances:
            self._distances[-1][what] = distance

    @property
    def turns_seen(self) -> int:
        """How many turns were looked at."""
        return len(self._distances)

    def nearer(self) -> frozenset[int]:
        """Return what the latest turn came nearer to than the one before."""
        before, now = self._distances[-2:]
        return frozenset(what for what, distance in now.items() if distance < before.get(what, distance))

    def turns(self) -> list[int]:
        """Return the turns in which something is different for the first time, if all goes on as it began."""
        before, now = self._distances
        found = []
        for what, distance in now.items():
            nearer = before.get(what, distance) - distance
            if nearer > 0 < distance:
                found.append(WATCHED - -distance // nearer)
        return found


class Approaches:
    """Those of one path."""

    def __init__(self) -> None:
        self.watched: list[Nearing] = []
        """loops in their first turns"""

    @contextmanager
    def of_loop(self) -> Iterator[Nearing]:
        """Look at a loop's first turns."""
        nearing = Nearing()
        self.watched.append(nearing)
        try:
            yield nearing
        finally:
            self.ends(nearing)

    def ends(self, nearing: Nearing) -> None:
        """A loop is past its first turns."""
        if nearing in self.watched:
            self.watched.remove(nearing)

    def met(self, what: int, operator: str, left: object, right: object) -> None:
        """Note that numbers were compared, or a remainder computed."""
        if isinstance(left, int) and isinstance(right, int):
            distance = _distance(operator, left, right)
            for nearing in self.watched:
                nearing.met(what, distance)


def _distance(operator: str, left: int, right: int) -> int:
    """Return how far one number must go for another answer; 0: that is not known."""
    if operator in (">", ">="):
        left, right, operator = right, left, "<" if operator == ">" else "<="
    match operator:
        case "<":
            return right - left if left < right else left - right + 1
        case "<=":
            return right - left + 1 if left <= right else left - right
        case "==" | "!=":
            return abs(left - right)
        case "%":
            return right - left % right if left >= 0 < right else 0
    return 0
