"""Where a kernel polls memory: loads that others are to be seen by, in a loop that what they bring ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from streamsan.machine_code import opcodes
from streamsan.machine_code.control_flow import Block, TooManyWaysError, blocks_of
from streamsan.machine_code.disassembler import Instruction
from streamsan.machine_code.instruction_operands import Constant, Register
from streamsan.machine_code.machine_operations import Key, Operation, defined_by, operation_of, used_by

MOST_LOADS = 64
"""of a kernel that are looked at"""
LONGEST_LOOP = 4096
"""instructions; what waits is short"""
_CHANGE_NOTHING = frozenset({"ADD", "OR", "XOR"})
"""atomic operations that, with 0, only read"""
_ENDS = frozenset({"EXIT", "KILL", "RET"})


def polls_in(instructions: Sequence[Instruction], labels: Mapping[str, int]) -> list[int]:
    """Return the indices of the instructions that poll.

    They are strong loads (`volatile`, `ld.acquire`, those of atomic objects), atomic operations that only read
    (`atomicAdd(p, 0)`), and exchanges for one value that is always the same (locks).
    """
    found = [at for at, each in enumerate(instructions) if _may_poll(each)]
    if not found or len(found) > MOST_LOADS:
        return []
    try:
        blocks, _ = blocks_of(instructions, labels)
    except TooManyWaysError:
        return []
    polls = []
    for loop in _loops(blocks):
        inside = [at for at in found if any(blocks[each].begin <= at < blocks[each].end for each in loop)]
        if not inside or sum(blocks[each].end - blocks[each].begin for each in loop) > LONGEST_LOOP:
            continue
        code = {
            each: [operation_of(at, instructions[at]) for at in range(blocks[each].begin, blocks[each].end)]
            for each in loop
        }
        polls += [at for at in inside if _awaits_one_value(code, at) and _ends_loop(blocks, code, at)]
    return sorted(polls)


def _may_poll(instruction: Instruction) -> bool:
    name, *suffixes = instruction.opcode.split(".")
    if name in opcodes.READS:
        return "STRONG" in suffixes or "MMIO" in suffixes
    if name not in ("ATOM", "ATOMG"):
        return False
    only_reads = not _CHANGE_NOTHING.isdisjoint(suffixes) and instruction.operands[-1:] == ("RZ",)
    return only_reads or "CAS" in suffixes


def _loops(blocks: Sequence[Block]) -> Iterator[frozenset[int]]:
    """Yield the blocks of each loop, with those in it: the strongly connected components (Kosaraju's algorithm)."""
    before: list[list[int]] = [[] for _ in blocks]
    for number, block in enumerate(blocks):
        for follower in block.successors:
            before[follower].append(number)
    finished: list[int] = []
    seen: set[int] = set()
    for root in range(len(blocks)):
        todo = [(root, False)]
        while todo:
            number, left = todo.pop()
            if left:
                finished.append(number)
            elif number not in seen:
                seen.add(number)
                todo.append((number, True))
                todo += [(follower, False) for follower in blocks[number].successors]
    taken: set[int] = set()
    for root in reversed(finished):
        if root in taken:
            continue
        loop = {root}
        taken.add(root)
        path = [root]
        while path:
            for each in before[path.pop()]:
                if each not in taken:
                    taken.add(each)
                    loop.add(each)
                    path.append(each)
        if len(loop) > 1 or root in blocks[root].successors:
            yield frozenset(loop)


def _awaits_one_value(code: Mapping[int, Sequence[Operation]], at: int) -> bool:
    """Tell whether an exchange always compares with the same value: others compute something with what they read."""
    load = next(each for block in code.values() for each in block if each.at == at)
    if "CAS" not in load.suffixes:
        return True
    values = [each.operand for each in load.sources if isinstance(each.operand, Register)]
    if not values:
        return False
    compared = values[0].number
    return all(
        isinstance(source.operand, int | Constant) or source.operand == Register(None)
        for block in code.values()
        for each in block
        if compared in defined_by(each) and each.at != at
        for source in each.sources
    )


def _ends_loop(blocks: Sequence[Block], code: Mapping[int, Sequence[Operation]], at: int) -> bool:
    """Tell whether a branch out of the loop, or an exit in it, depends on what an instruction of it loads."""
    before: dict[int, frozenset[Key]] = {}
    todo = [number for number in code if blocks[number].begin <= at < blocks[number].end]
    while todo:
        number = todo.pop()
        known = set(before.get(number, ()))
        for each in code[number]:
            depends = each.at == at or not known.isdisjoint(used_by(each))
            leaves = each.name in _ENDS or (
                each.at == blocks[number].end - 1 and any(to not in code for to in blocks[number].successors)
            )
            if depends and each.at != at and leaves:
                return True
            if depends:
                known |= defined_by(each)
            elif each.guard is None:
                known -= defined_by(each)
        for follower in blocks[number].successors:
            if follower not in code:
                continue
            old = before.get(follower)
            if old is None or not known <= old:
                before[follower] = (old or frozenset()) | known
                todo.append(follower)
    return False
