"""The blocks of a function in SPIR-V, where ways that part meet again, and its loops. Kernels do not say it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from streamsan.kernels.axis_sums import NotFollowedError
from streamsan.kernels.spirv import spirv_instructions as op
from streamsan.kernels.spirv.spirv_module import Instruction, SpirvFunction

MOST_BLOCKS = 400
MOST_INSTRUCTIONS = 20_000
MOST_ROUNDS = 30
"""over all blocks, until it is known where ways meet: a compiler's take a few"""
END = 0
"""stands for the end of the function: no block has this label"""
_ENDS = frozenset((op.BRANCH, op.BRANCH_CONDITIONAL, op.SWITCH, op.RETURN, op.RETURN_VALUE, 252, 255))


class Block(Struct):
    """One block."""

    label: int
    body: list[Instruction] = field(default_factory=list)
    """without its last one"""
    last: Instruction = field(default_factory=lambda: Instruction(255, ()))

    @property
    def followers(self) -> tuple[int, ...]:
        """The blocks that may come next; none: the function ends."""
        words = self.last.words
        if self.last.opcode == op.BRANCH:
            return words[:1]
        if self.last.opcode == op.BRANCH_CONDITIONAL:
            return words[1:3]
        if self.last.opcode == op.SWITCH:
            return tuple(dict.fromkeys((*words[1:2], *words[3::2])))
        return ()


class Flow:
    """How control goes through a function. Raises NotFollowedError where that is not plain."""

    def __init__(self, function: SpirvFunction) -> None:
        if len(function.body) > MOST_INSTRUCTIONS:
            raise NotFollowedError
        self.blocks = _blocks(function.body)
        self.first = next(iter(self.blocks), END)
        if not self.first or len(self.blocks) > MOST_BLOCKS:
            raise NotFollowedError
        order, backwards = self._walked()
        self.loops = self._loops(backwards)
        """header -> the labels of the loop, its own included"""
        self.meet = self._meets(order)
        """label -> where all ways from there meet again"""

    def _walked(self) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the labels that can be reached, each behind all that follow it, and the edges that lead back."""
        order: list[int] = []
        backwards: list[tuple[int, int]] = []
        state = {self.first: 1}
        stack = [(self.first, iter(self._following(self.first)))]
        while stack:
            label, rest = stack[-1]
            follower = next(rest, None)
            if follower is None:
                state[label] = 2
                order.append(label)
                stack.pop()
            elif follower not in state:
                state[follower] = 1
                stack.append((follower, iter(self._following(follower))))
            elif state[follower] == 1:
                backwards.append((label, follower))
        return order, backwards

    def _following(self, label: int) -> Sequence[int]:
        if label not in self.blocks:
            raise NotFollowedError
        return self.blocks[label].followers

    def _loops(self, backwards: Sequence[tuple[int, int]]) -> dict[int, set[int]]:
        loops: dict[int, set[int]] = {}
        leading: dict[int, list[int]] = {}
        for label, block in self.blocks.items():
            for follower in block.followers:
                leading.setdefault(follower, []).append(label)
        for latch, header in backwards:
            body = loops.setdefault(header, {header})
            pending = [latch]
            while pending:
                label = pending.pop()
                if label not in body:
                    body.add(label)
                    pending += leading.get(label, ())
        for header, body in loops.items():
            others = (name for name in body if name != header)
            if header != self.first and self.first in body:
                raise NotFollowedError
            if any(before not in body for name in others for before in leading.get(name, ())):
                raise NotFollowedError  # a loop that is entered at several places
        return loops

    def _meets(self, order: Sequence[int]) -> dict[int, int]:
        # The end comes first: where ways meet is found from behind, until nothing changes.
        place = {label: at for at, label in enumerate((END, *order))}
        meet = {END: END}
        changed = True
        rounds = 0
        while changed:
            changed = False
            rounds += 1
            if rounds > MOST_ROUNDS:
                raise NotFollowedError
            for label in order:
                known = [each for each in self.blocks[label].followers or (END,) if each in meet]
                if not known:
                    continue
                found = known[0]
                for other in known[1:]:
                    found = _common(found, other, meet, place)
                if meet.get(label) != found:
                    meet[label] = found
                    changed = True
        if len(meet) <= len(order):
            raise NotFollowedError  # a loop without an end
        return meet


def _common(one: int, other: int, meet: dict[int, int], place: dict[int, int]) -> int:
    while one != other:
        while place[one] > place[other]:
            one = meet[one]
        while place[other] > place[one]:
            other = meet[other]
    return one


def _blocks(body: Sequence[Instruction]) -> dict[int, Block]:
    found: dict[int, Block] = {}
    block: Block | None = None
    for each in body:
        if each.opcode == op.LABEL and each.words:
            block = found[each.words[0]] = Block(each.words[0])
        elif block is not None and each.opcode in _ENDS:
            block.last, block = each, None
        elif block is not None:
            block.body.append(each)
    return found
