"""Lines of a text before and after edits."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping

from streamsan.cuda_syntax.file_content import decode
from streamsan.findings.finding import Edit

_LINES = re.compile(r"\blines? \d+(?:(?: to | and )\d+)*")
_NUMBER = re.compile(r"\d+")


class LineMap:
    """Says which line of a text a line of its edited version was."""

    def __init__(self, before: bytes, after: bytes) -> None:
        first, second = before.splitlines(), after.splitlines()
        # Edits are few: what is the same at both ends need not be searched.
        shorter = min(len(first), len(second))
        head = next((n for n in range(shorter) if first[n] != second[n]), shorter)
        most = shorter - head
        tail = next((n for n in range(most) if first[-1 - n] != second[-1 - n]), most)
        middle = first[head : len(first) - tail], second[head : len(second) - tail]
        matcher = difflib.SequenceMatcher(None, *middle, autojunk=False)
        found = [difflib.Match(a + head, b + head, size) for a, b, size in matcher.get_matching_blocks()]
        ends = difflib.Match(0, 0, head), difflib.Match(len(first) - tail, len(second) - tail, tail)
        self._blocks = [block for block in (ends[0], *found, ends[1]) if block.size]
        self._ends = len(first) + 1, len(second) + 1

    def line(self, number: int) -> int:
        """Return the number of the same line before, of the nearest one above it where there was none."""
        last = 1
        for block in self._blocks:
            if block.b + block.size >= number > block.b:
                return block.a + number - block.b
            if block.b < number:
                last = block.a + block.size
        return last

    def same(self, number: int) -> int | None:
        """Return the number of the same line before, None where there was none. What is behind all lines is one."""
        if number == self._ends[1]:
            return self._ends[0]
        return next((b.a + number - b.b for b in self._blocks if b.b < number <= b.b + b.size), None)

    def has(self, number: int) -> bool:
        """Tell whether a line of the edited version was there before."""
        return any(block.b < number <= block.b + block.size for block in self._blocks)

    def words(self, text: str) -> str:
        """Return a text in which the lines that it names are those before."""
        return _LINES.sub(lambda match: _NUMBER.sub(lambda each: str(self.line(int(each[0]))), match[0]), text)


def edits_between(
    names: Mapping[str, str], before: Callable[[str], bytes], after: Mapping[str, bytes]
) -> Iterator[Edit]:
    """Yield the edits that turn files into what they are after: whole lines, in the order of the text.

    `names` are the names of files by their real paths, `before` gives the bytes of a real path.
    """
    for real, data in after.items():
        name = names.get(real)
        old = before(real)
        if name is None or old == data:
            continue
        first, second = (decode(each)[0].split("\n") for each in (old, data))
        matcher = difflib.SequenceMatcher(None, first, second, autojunk=False)
        for tag, begin, end, new_begin, new_end in matcher.get_opcodes():
            if tag == "equal":
                continue
            lines = second[new_begin:new_end]
            if end < len(first):
                text = "".join(f"{line}\n" for line in lines)
                yield Edit(name, begin + 1, 1, end + 1, 1, text)
            elif begin:
                # The last line has no end: what is before it ends with it.
                text = "".join(f"\n{line}" for line in lines)
                yield Edit(name, begin, len(first[begin - 1]) + 1, end, len(first[end - 1]) + 1, text)
            else:
                yield Edit(name, 1, 1, end, len(first[end - 1]) + 1, "\n".join(lines))
