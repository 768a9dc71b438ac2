"""Blocks of a function's instructions, and which may follow which."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from streamsan.machine_code.disassembler import INSTRUCTION_BYTES, Instruction

_PLACE = re.compile(r"0x[0-9a-f]+$")
_REGISTER = re.compile(r"U?R\d+$")
_RETURNS = frozenset({"RET", "RTT"})
_ENDS = frozenset({"EXIT", "KILL"})
_PASSES_ON = frozenset(
    {"BSSY", "BREAK", "WARPSYNC", "YIELD", "BMOV", "BAR", "NANOSLEEP", "BPT", "CALL", "ELECT", "ENDCOLLECTIVE"}
)


MOST_WAYS = 300_000
"""from block to block, in one function: code that needs more takes minutes to read"""


class TooManyWaysError(ValueError):
    """The function is too large, or its branches lead to too many places."""


class Block(Struct, frozen=True):
    """Instructions `begin` to `end` (exclusive), always run in a row; then one of the blocks `successors`."""

    begin: int
    end: int
    successors: tuple[int, ...]


def blocks_of(instructions: Sequence[Instruction], labels: Mapping[str, int]) -> tuple[list[Block], bool]:
    """Cut a function into blocks; the first one is where it begins. The second value: all it calls
    by name is in it.

    A return may go behind every call of the function, an indirect branch to every block: more paths than there are,
    never fewer. Raises `TooManyWaysError`.
    """
    places = {name: offset // INSTRUCTION_BYTES for name, offset in labels.items()}
    targets = [_targets(each, places, len(instructions)) for each in instructions]
    leaders = {0} | {target for found in targets for target in found}
    leaders |= {at + 1 for at, each in enumerate(instructions) if each.jumps or _name(each) in _ENDS}
    begins = sorted(leader for leader in leaders if leader < len(instructions))
    block_at = {begin: number for number, begin in enumerate(begins)}
    behind_calls = [at + 1 for at, each in enumerate(instructions) if _name(each) == "CALL" and at + 1 in block_at]
    # `BSSY B0, PLACE` does not jump: the threads that come to `BSYNC B0` go on there, together.
    synchronised: dict[str, set[int]] = {}
    for at, each in enumerate(instructions):
        if _name(each) == "BSSY":
            synchronised.setdefault(_barrier(each), set()).update(targets[at])
    blocks = []
    whole = True
    ways = 0
    for begin, end in zip(begins, [*begins[1:], len(instructions)], strict=True):
        last = instructions[end - 1]
        name = _name(last)
        following: set[int] = set()
        # `BRA.U !UP0, PLACE` has its condition among its operands, as `BRA.DIV UR4, PLACE` has.
        conditional = last.predicate != "" or (name == "BRA" and len(last.operands) > 1)
        passes = not last.jumps or name in _PASSES_ON or conditional
        if name == "CALL":
            # One by an address in a register is for whoever knows what the register holds.
            whole = whole and bool(targets[end - 1] or _REGISTER.match(last.operands[0] if last.operands else ""))
        if name in _RETURNS:
            following.update(behind_calls)
        elif name == "BSYNC":
            # The place of a BSSY is right behind its BSYNC (15,190 of 15,190 in 1,560 kernels of NVIDIA's and PyTorch's
            # libraries). Another BSSY of the same barrier has its own. Were none of them here, it might be any.
            places_of = synchronised.get(_barrier(last), set())
            if end not in places_of:
                following.update(places_of)
            passes = True
        elif last.jumps and name not in _ENDS and name not in _PASSES_ON and not targets[end - 1]:
            following.update(begins)
        if name != "BSSY":
            following.update(targets[end - 1])
        if passes or name == "CALL":
            following.add(end)
        ways += len(following)
        if ways > MOST_WAYS:
            raise TooManyWaysError(f"more than {MOST_WAYS} ways from block to block")
        blocks.append(Block(begin, end, tuple(sorted(block_at[at] for at in following if at in block_at))))
    return blocks, whole


def _barrier(instruction: Instruction) -> str:
    return next((text.split(".")[0] for text in instruction.operands if text.startswith("B")), "")


def _name(instruction: Instruction) -> str:
    return instruction.opcode.partition(".")[0]


def _targets(instruction: Instruction, places: Mapping[str, int], count: int) -> list[int]:
    if not instruction.jumps:
        return []
    found = []
    for text in instruction.operands:
        label = text.strip("`()")
        if label in places:
            found.append(places[label])
        elif _PLACE.match(text) and int(text, 16) // INSTRUCTION_BYTES < count:
            found.append(int(text, 16) // INSTRUCTION_BYTES)
    # `RET.REL.NODEC R4, FUNCTION` names where the offset in the register counts from.
    return [] if _name(instruction) in _RETURNS else found
