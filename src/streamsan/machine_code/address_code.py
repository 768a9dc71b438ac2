"""What of a kernel's code decides addresses, with its operands read once, so that it can be run for many launches.

Most instructions compute data. Those that no address and no branch depends on are left out: what they do need not even
be known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from streamsan.machine_code.constant_bank import ConstantBank
from streamsan.machine_code.constant_reads import CONSTANT_READ, with_constant_reads
from streamsan.machine_code.control_flow import Block, blocks_of
from streamsan.machine_code.cubin import KernelLayout
from streamsan.machine_code.disassembler import Instruction
from streamsan.machine_code.image_instructions import is_on_line
from streamsan.machine_code.machine_operations import (
    BRANCHES,
    MEMORY,
    STACK_STORES,
    Key,
    Operation,
    defined_by,
    operation_of,
    used_by,
)
from streamsan.machine_code.pointer_flow import PointerFlow

_TWO_TARGETS = "ENL2"
"""of loads of 32 bytes: their registers are in two places"""
_STRUCTURE_BYTES = 64
"""a parameter of this size may be the description of a tensor, which has an address inside"""
_OWN_TABLES = "__cudart_"


class AddressCode(Struct, frozen=True):
    """Blocks with the operations that addresses and branches depend on."""

    layout: KernelLayout
    blocks: list[Block]
    operations: list[tuple[Operation, ...]]
    needed: list[frozenset[Key]]
    """before each block: what is read later on"""
    order: list[int]
    """the place of each block where those that lead to others come first, but for the ways back of loops"""
    begins_loop: list[bool]
    """whether a way leads back to the block"""
    block_at: dict[int, int]
    """index of the first instruction -> block"""
    words: dict[int, tuple[int | str, ...]]
    """index of an instruction that touches memory -> words of the parameters, and variables, through which it may"""
    unclear: frozenset[int | str]
    """words and variables whose address is stored, or used in a way that is not followed"""
    chooses: bool
    """which words of the parameters it reads, or of its own memory, may depend on registers"""
    whole: bool
    """False: nothing is known of this kernel"""
    labels: Mapping[str, int]
    addresses: Mapping[int, str]
    """offset in constant bank 4 -> symbol"""
    constants: ConstantBank
    variables: frozenset[str]
    """those of the device that it may touch"""
    images: Mapping[int | str, bool]
    """words that are numbers of texture and surface objects; whether each is accessed as a line of texels only"""


def address_code(
    flow: PointerFlow,
    instructions: Sequence[Instruction],
    labels: Mapping[str, int],
    tensor_maps: Mapping[int, int] | None,
    images: Mapping[int, tuple[int, ...]],
) -> AddressCode:
    """Read the operands of a kernel's code, whose pointers were followed, and leave out what decides no address.

    `tensor_maps`: the words that are tensor maps; None: nobody knows which are. `images`: index of each access of an
    image -> the words by which it may go.
    """
    layout, constants, touched = flow.layout, flow.constants, flow.touched
    blocks, _ = blocks_of(instructions, labels)
    words = {
        at: tuple(name for name in flow.named(origins) if not _is_own_table(name))
        for at, origins in flow.places.items()
    }
    words.update(images)
    unclear = set(flow.named(touched.unsure | flow.shared))
    if tensor_maps is not None:
        unclear.update(tensor_maps)
    else:
        unclear.update(
            word for parameter in layout.parameters if parameter.size >= _STRUCTURE_BYTES for word in parameter.words
        )
    every = [[operation_of(at, instructions[at]) for at in range(block.begin, block.end)] for block in blocks]
    bank = ConstantBank(constants)
    if constants:
        every = [with_constant_reads(block, bank) for block in every]
    kept, needed = _slice(blocks, every, words)
    order = _order(blocks)
    return AddressCode(
        layout,
        blocks,
        [tuple(_with_low_compares(each)) for each in kept],
        needed,
        order,
        [any(order[each] >= order[number] for each in before) for number, before in enumerate(_before(blocks))],
        {block.begin: number for number, block in enumerate(blocks)},
        words,
        frozenset(unclear),
        any(each.indices or each.name == "LDL" for block in kept for each in block),
        bool(layout.base or not layout.parameters)
        and not touched.anything
        and not any(_TWO_TARGETS in each.opcode for each in instructions),
        labels,
        flow.addresses,
        bank,
        frozenset(
            [name for found in words.values() for name in found if isinstance(name, str)]
            + [each.symbol for each in constants]
        ),
        _lines(instructions, images),
    )


def _lines(instructions: Sequence[Instruction], images: Mapping[int, tuple[int, ...]]) -> dict[int | str, bool]:
    found: dict[int | str, bool] = {}
    for at, words in images.items():
        line = is_on_line(instructions[at].opcode, instructions[at].operands)
        for word in words:
            found[word] = found.get(word, True) and line
    return found


def _is_own_table(name: int | str) -> bool:
    """Tell whether it is a variable of the compiler's, which nobody writes."""
    return isinstance(name, str) and name.startswith(_OWN_TABLES)


def _order(blocks: Sequence[Block]) -> list[int]:
    """Reverse postorder; what stands last in the text is visited first, so that loops come before what follows them."""
    seen = {0}
    finished: list[int] = []
    path = [(0, sorted(blocks[0].successors))] if blocks else []
    while path:
        number, left = path[-1]
        follower = left.pop() if left else None
        if follower is None:
            finished.append(number)
            path.pop()
        elif follower not in seen:
            seen.add(follower)
            path.append((follower, sorted(blocks[follower].successors)))
    place = {number: at for at, number in enumerate(reversed(finished))}
    return [place.get(number, len(blocks)) for number in range(len(blocks))]


def _with_low_compares(operations: Sequence[Operation]) -> list[Operation]:
    """Mark the comparisons of lower halves: by themselves they mean nothing."""
    marked = list(operations)
    for at, each in enumerate(operations):
        if (
            each.name not in ("ISETP", "UISETP")
            or "EX" in each.suffixes
            or len(each.outs) != 2
            or each.outs[1] not in ("PT", "UPT")
        ):
            continue
        for later in operations[at + 1 :]:
            if (
                later.name == each.name
                and "EX" in later.suffixes
                and later.ins
                and later.ins[-1] == (each.outs[0], False)
            ):
                marked[at] = _low(each)
                break
            if _reads(later, each.outs[0]):
                break
    return marked


def _low(operation: Operation) -> Operation:
    values = {name: getattr(operation, name) for name in Operation.__struct_fields__}
    return Operation(**(values | {"low_compare": True}))


def _reads(operation: Operation, predicate: str) -> bool:
    return predicate in used_by(operation) or predicate in operation.outs


# What decides addresses -----------------------------------------------------------------------------------------------


def _slice(
    blocks: Sequence[Block], every: Sequence[Sequence[Operation]], words: Mapping[int, tuple[int | str, ...]]
) -> tuple[list[list[Operation]], list[frozenset[Key]]]:
    """The operations of each block that are needed, and what is needed before each."""
    uses = [[used_by(each) for each in block] for block in every]
    defines = [[defined_by(each) for each in block] for block in every]
    before = _before(blocks)
    stack = False
    while True:
        needed: list[frozenset[Key]] = [frozenset()] * len(blocks)
        kept: list[list[Operation]] = [[] for _ in blocks]
        todo = list(range(len(blocks)))
        queued = set(todo)
        while todo:
            number = todo.pop()
            queued.discard(number)
            alive: set[Key] = set()
            for follower in blocks[number].successors:
                alive |= needed[follower]
            chosen = []
            for at in range(len(every[number]) - 1, -1, -1):
                operation = every[number][at]
                written = defines[number][at]
                wanted = _seed(operation, words, stack) or not alive.isdisjoint(written)
                if wanted:
                    chosen.append(operation)
                    if operation.guard is None and operation.targets <= 2:
                        alive.difference_update(written)
                    alive.update(uses[number][at])
            kept[number] = chosen[::-1]
            now = frozenset(alive)
            if now != needed[number]:
                needed[number] = now
                for each in before[number]:
                    if each not in queued:
                        queued.add(each)
                        todo.append(each)
        if not stack and any(each.name == "LDL" for block in kept for each in block):
            stack = True
            continue
        return kept, needed


def _before(blocks: Sequence[Block]) -> list[list[int]]:
    """The blocks from which each one is come to."""
    found: list[list[int]] = [[] for _ in blocks]
    for number, block in enumerate(blocks):
        for follower in block.successors:
            found[follower].append(number)
    return found


def _seed(operation: Operation, words: Mapping[int, tuple[int | str, ...]], stack: bool) -> bool:
    return (
        operation.name in BRANCHES
        or operation.name == CONSTANT_READ
        or ((operation.name in MEMORY or operation.image is not None) and bool(words.get(operation.at)))
        or (stack and operation.name in STACK_STORES)
    )
