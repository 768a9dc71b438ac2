"""Questions to code nobody can see: what is asked in the same words again, of the same object, has the same answer.

`options.get("managed")` in one function and again in another one is one option: a path on which it is true first and
false then is no path of the program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streamsan.cuda_source.values.cells import Cell, CellPointer, Operand, SymbolPointer, Term
from streamsan.cuda_source.values.classes import last_name
from streamsan.model.values import Symbol
from streamsan.patterns.late_pattern import late_pattern

_ASKS = late_pattern(
    r"^(?i:get|has|is|find|query|look_?up|exists?|contains|count|check|want|use|at|value)(?![a-z])"
    r"|(?i:opt|arg|flag|param|conf|setting|env|key)"
)
_GOES_ON = late_pattern(
    r"(?i)next|pop|read|recv|receive|rand|create|make|new|alloc|open|load|add|inc|err|put|set(?![a-z])"
)

Question = tuple[Any, ...]


class Questions:
    """What was asked on one path, and the answers."""

    def __init__(self) -> None:
        self._answers: dict[Question, Symbol] = {}

    def answer(self, name: str, operands: list[Operand], this: Cell | None, new: Callable[[], Symbol]) -> Symbol:
        """Return what the same question was answered before, else a new answer, which is kept.

        A call that is no question may change what it is given: that is asked anew.
        """
        question = _question(name, operands, this)
        if question is None:
            self._forget_about(operands, this)
            return new()
        if question not in self._answers:
            self._answers[question] = new()
        return self._answers[question]

    def _forget_about(self, operands: list[Operand], this: Cell | None) -> None:
        if not self._answers:
            return
        given = {this, *(each.cell for each in operands)}
        given |= {each.held.cell for each in operands if isinstance(each.held, CellPointer)}
        given.discard(None)
        self._answers = {asked: known for asked, known in self._answers.items() if given.isdisjoint(asked)}


def _question(name: str, operands: list[Operand], this: Cell | None) -> Question | None:
    """Return what is asked: of which object, by which name, with which words; None where it is no question."""
    short = last_name(name)
    if not _ASKS.search(short) or _GOES_ON.search(short) or not any(isinstance(each.held, str) for each in operands):
        return None
    words: list[Any] = [name, this]
    for operand in operands:
        value = operand.held
        if isinstance(value, str | int | float | Symbol | Term | SymbolPointer):
            words.append((type(value), value))
        elif isinstance(value, CellPointer):
            return None  # the answer may be put there
        elif operand.cell is not None:
            words.append(operand.cell)
        else:
            return None
    return tuple(words)
