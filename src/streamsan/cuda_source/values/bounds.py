"""What decided comparisons with numbers say of unknowns: `n > 2` decided answers `n > 1`."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.values.cells import Term
from streamsan.model.values import Symbol


class Bounds:
    """The least and greatest number that each unknown can still be."""

    def __init__(self) -> None:
        self._least: dict[Any, int] = {}
        self._most: dict[Any, int] = {}

    def range(self, value: Any) -> tuple[int | None, int | None]:
        """Return the least and the greatest number that an unknown can be; None: there is no such bound."""
        return self._least.get(value), self._most.get(value)

    def learn(self, question: Any, answer: bool) -> None:
        """Take in a decided comparison."""
        if isinstance(question, Symbol):
            return
        if not isinstance(question, Term) or len(question.operands) != 2:
            return
        left, right = question.operands
        if question.operator == "==" and isinstance(left, int) and answer:
            self._least[right] = self._most[right] = left
        elif question.operator == "<":
            if isinstance(right, int):  # left < right
                self._limit(left, most=right - 1) if answer else self._limit(left, least=right)
            elif isinstance(left, int):  # left < right
                self._limit(right, least=left + 1) if answer else self._limit(right, most=left)

    def _limit(self, value: Any, least: int | None = None, most: int | None = None) -> None:
        if least is not None:
            self._least[value] = max(least, self._least.get(value, least))
        if most is not None:
            self._most[value] = min(most, self._most.get(value, most))

    def nearest(self, value: Any, number: int) -> int:
        """Return the number that the unknown can be, nearest to the given one."""
        least, most = self.range(value)
        number = number if least is None else max(number, least)
        return number if most is None else min(number, most)

    def decide(self, question: Any) -> bool | None:
        """Answer a comparison that the known ranges decide."""
        if isinstance(question, Symbol):
            least, most = self.range(question)
            return True if (least is not None and least > 0) or (most is not None and most < 0) else None
        if not isinstance(question, Term) or len(question.operands) != 2:
            return None
        left, right = question.operands
        if question.operator == "==" and isinstance(left, int):
            least, most = self.range(right)
            outside = (least is not None and left < least) or (most is not None and left > most)
            return False if outside else None
        if question.operator == "<" and isinstance(right, int):
            least, most = self.range(left)
            if most is not None and most < right:
                return True
            return False if least is not None and least >= right else None
        if question.operator == "<" and isinstance(left, int):
            least, most = self.range(right)
            if least is not None and left < least:
                return True
            return False if most is not None and most <= left else None
        return None
