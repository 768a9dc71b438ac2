"""What of a kernel's code decides addresses, with its operands read once, so that it can be run for many launches.

Most instructions compute data. Those that no address and no branch depends on are left out: what they do need not even
be known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streamsan.machine_code import opcodes
from streamsan.machine_code.control_flow import Block, blocks_of
from streamsan.machine_code.cubin import KernelLayout
from streamsan.machine_code.disassembler import Instruction
from streamsan.machine_code.instruction_operands import Address, Constant, Operand, Register, is_predicate, operand
from streamsan.machine_code.instructions import half_floats
from streamsan.machine_code.pointer_flow import PointerFlow

_WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "F64": 8, "U64": 8, "S64": 8, "128": 16, "256": 32}
_VECTORS = re.compile(r".*(x\d|V\d|_V\d)|V\d")
_COMPARES = frozenset(
    {"ISETP", "UISETP", "FSETP", "UFSETP", "DSETP", "HSETP2", "FCHK", "PLOP3", "UPLOP3", "R2P", "UR2UP"}
)
"""their first operands are predicates, and they write no register"""
_PAIRS = frozenset({"64", "S64", "U64", "F64"})
_LAST_PAIR = frozenset({"WIDE", "HI"})
_ROWS_OF_TILES = {"HMMA": 4, "IMMA": 4, "QMMA": 4, "OMMA": 4, "BMMA": 8, "DMMA": 8}
_ALL_REGISTERS = 128
_TEXTURE_LOADS = frozenset({"TEX", "TLD", "TLD4", "TMML", "TXD", "TXQ", "UTXQ"})
_SCALED = ".X"
_TWO_TARGETS = "ENL2"
"""of loads of 32 bytes: their registers are in two places"""
_STRUCTURE_BYTES = 64
"""a parameter of this size may be the description of a tensor, which has an address inside"""
MEMORY = opcodes.READS | opcodes.WRITES | opcodes.UPDATES | opcodes.COPIES_TO_SHARED | opcodes.BULK_COPIES
STACK_STORES = frozenset({"STL", "ST", "ATOM"})
"""what may change the thread's own memory: generic addresses too"""
BRANCHES = frozenset(
    {"BRA", "EXIT", "KILL", "RET", "CALL", "BRX", "BRXU", "JMP", "JMX", "BSSY", "BSYNC", "BMOV", "RTT"}
)
_FAMILIAR = (
    opcodes.COPIES
    | opcodes.CONSTANT_LOADS
    | opcodes.SHARED
    | opcodes.LOCAL
    | MEMORY
    | {"IMAD", "UIMAD", "LEA", "ULEA", "VIADD", "UVIADD", "UIADD"}
)
Key = int | str
"""a register by its number, or a predicate by its name"""


@dataclass(frozen=True, slots=True)
class Source:
    """An operand that is read."""

    operand: Operand
    text: str
    negative: bool = False
    inverted: bool = False
    absolute: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """One instruction, its operands told apart."""

    at: int
    name: str
    suffixes: frozenset[str]
    opcode: str
    guard: tuple[str, bool] | None
    """predicate; whether it must be false"""
    outs: tuple[str, ...]
    """predicates that it writes; PT takes nothing"""
    target: int | None
    sources: tuple[Source, ...]
    ins: tuple[tuple[str, bool], ...]
    """predicates that it reads; whether each is inverted"""
    address: Address | None
    width: int
    """bytes of memory that each thread touches; 0: not known"""
    targets: int
    """registers that it writes at most"""
    others: tuple[int, ...] = ()
    """further registers that it writes"""
    indices: tuple[int, ...] = ()
    """registers that choose words of constant memory"""
    low_compare: bool = False
    """it compares the lower halves for the instruction that compares the upper ones"""


@dataclass(frozen=True, slots=True)
class AddressCode:
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
    words: dict[int, tuple[int, ...]]
    """index of an instruction that touches memory -> words of the parameters through which it may"""
    unclear: frozenset[int]
    """words that are stored, or used in a way that is not followed"""
    chooses: bool
    """which words of the parameters it reads, or of its own memory, may depend on registers"""
    whole: bool
    """False: nothing is known of this kernel"""
    labels: Mapping[str, int]


def address_code(
    layout: KernelLayout,
    instructions: Sequence[Instruction],
    labels: Mapping[str, int],
    addresses: Mapping[int, str],
) -> AddressCode:
    """Read the operands of a kernel's code, and leave out what decides no address."""
    blocks, _ = blocks_of(instructions, labels)
    flow = PointerFlow(layout, addresses)
    touched = flow.run(instructions, labels)
    words = {
        at: tuple(name for name in flow.named(origins) if isinstance(name, int)) for at, origins in flow.places.items()
    }
    unclear = {name for name in flow.named(touched.unsure | flow.shared) if isinstance(name, int)}
    if any(each.opcode.startswith("UTMA") for each in instructions):
        unclear.update(
            word for parameter in layout.parameters if parameter.size >= _STRUCTURE_BYTES for word in parameter.words
        )
    every = [[_operation(at, instructions[at]) for at in range(block.begin, block.end)] for block in blocks]
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
    )


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


# Operands -------------------------------------------------------------------------------------------------------------


def _operation(at: int, instruction: Instruction) -> Operation:
    name, *suffixes = instruction.opcode.split(".")
    texts = list(instruction.operands)
    outs: list[str] = []
    ins: list[tuple[str, bool]] = []
    target = None
    count = 0
    if name not in BRANCHES:
        leading = 2 if name in ("PLOP3", "UPLOP3") else len(texts)
        while texts and len(outs) < leading and is_predicate(texts[0]):
            outs.append(texts.pop(0))
        if name not in _COMPARES and name not in opcodes.WRITES and texts:
            first = operand(texts[0])
            if isinstance(first, Register):
                target = first.number
                count = _targets(name, suffixes)
                texts.pop(0)
                while len(texts) > 1 and is_predicate(texts[0]):
                    outs.append(texts.pop(0))
    sources = []
    for text in texts:
        if is_predicate(text):
            ins.append((text.lstrip("!"), text.startswith("!")))
        else:
            sources.append(_source(text))
    floats = half_floats(name, instruction.operands)
    if floats is not None:
        name, sources = "MOV", [Source(floats, "")]
    found = [each.operand for each in sources if isinstance(each.operand, Address)]
    address = (found[0] if name in opcodes.WRITES | opcodes.UPDATES else found[-1]) if found else None
    guard = None
    if instruction.predicate:
        text = instruction.predicate.lstrip("@")
        guard = (text.lstrip("!"), text.startswith("!"))
    return Operation(
        at,
        name,
        frozenset(suffixes),
        instruction.opcode,
        guard,
        tuple(outs),
        target,
        tuple(sources),
        tuple(ins),
        address,
        0
        if any(_SCALED in each.text for each in sources if isinstance(each.operand, Address))
        else _bytes(name, suffixes),
        count,
        _others(name, sources),
        tuple(
            each.operand.index
            for each in sources
            if isinstance(each.operand, Constant) and each.operand.index is not None
        ),
    )


def _others(name: str, sources: Sequence[Source]) -> tuple[int, ...]:
    """`TEX RZ,R7,R8,R6` has two results."""
    second = sources[0].operand if name in _TEXTURE_LOADS and sources else None
    if not isinstance(second, Register) or second.number is None:
        return ()
    return tuple(range(second.number, second.number + 4))


def _source(text: str) -> Source:
    plain = text.lstrip("-~!|+")
    sign = text[: len(text) - len(plain)]
    found = operand(text)
    if isinstance(found, int):
        found = int(text.rstrip("|").lstrip("|~+"), 0) if "~" in sign or "-" in sign else found
        return Source(found, text, inverted="~" in sign)
    return Source(found, text, "-" in sign, "~" in sign, "|" in sign)


def _targets(name: str, suffixes: Sequence[str]) -> int:
    if name in _ROWS_OF_TILES:
        return _ROWS_OF_TILES[name]
    if name.endswith("GMMA") or name == "LDTM":
        return _ALL_REGISTERS
    if name in _TEXTURE_LOADS or name in ("SULD", "LDSM"):
        return 8
    wide = max((_WIDTHS.get(suffix, 4) for suffix in suffixes), default=4) // 4
    if (name == "CS2R" and "32" in suffixes) or name in ("SHF", "USHF"):
        return 1
    if name in opcodes.NUMBERS:
        return max(opcodes.NUMBERS[name], wide)
    if "WIDE" in suffixes:
        return 2
    return max(1, wide) if name in _FAMILIAR or wide > 1 else 4


def _bytes(name: str, suffixes: Sequence[str]) -> int:
    if name in opcodes.UPDATES and any(_VECTORS.fullmatch(suffix) and "16" not in suffix for suffix in suffixes):
        return 0
    if "ENL2" in suffixes:
        return 0
    return next((_WIDTHS[suffix] for suffix in reversed(suffixes) if suffix in _WIDTHS), 4)


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
    values = {name: getattr(operation, name) for name in Operation.__slots__}
    return Operation(**(values | {"low_compare": True}))


def _reads(operation: Operation, predicate: str) -> bool:
    return predicate in _uses(operation) or predicate in operation.outs


# What decides addresses -----------------------------------------------------------------------------------------------


def _slice(
    blocks: Sequence[Block], every: Sequence[Sequence[Operation]], words: Mapping[int, tuple[int, ...]]
) -> tuple[list[list[Operation]], list[frozenset[Key]]]:
    """The operations of each block that are needed, and what is needed before each."""
    uses = [[_uses(each) for each in block] for block in every]
    defines = [[_defines(each) for each in block] for block in every]
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


def _seed(operation: Operation, words: Mapping[int, tuple[int, ...]], stack: bool) -> bool:
    return (
        operation.name in BRANCHES
        or (operation.name in MEMORY and bool(words.get(operation.at)))
        or (stack and operation.name in STACK_STORES)
    )


def _uses(operation: Operation) -> set[Key]:
    found: set[Key] = {name for name, _ in operation.ins if name not in ("PT", "UPT")}
    if operation.guard is not None and operation.guard[0] not in ("PT", "UPT"):
        found.add(operation.guard[0])
    # `IMAD.WIDE R2,R4,R5,R6` and `IMAD.HI` add a pair; others with a suffix of 64 bits read nothing but pairs.
    last_pair = operation.name in ("IMAD", "UIMAD") and not _LAST_PAIR.isdisjoint(operation.suffixes)
    all_pairs = not _PAIRS.isdisjoint(operation.suffixes) and operation.name not in ("SHF", "USHF")
    all_pairs = all_pairs or operation.name in ("RET", "CALL", "STL")
    stored = operation.name in MEMORY
    for source in operation.sources:
        each = source.operand
        pair = all_pairs or (last_pair and source is operation.sources[-1])
        if isinstance(each, Address):
            registers: Sequence[Register] = each.registers
        elif isinstance(each, Register) and not stored:
            registers = (each,)
        else:
            index = getattr(each, "index", None)
            registers = (Register(index),) if index is not None else ()
        for register in registers:
            if register.number is not None:
                found.add(register.number)
                if pair or isinstance(each, Address):
                    found.add(register.number + 1)
                if operation.name == "STL":
                    found.update((register.number + 2, register.number + 3))
    if operation.name == "P2R":
        found.update(f"P{number}" for number in range(7))
    return found


def _defines(operation: Operation) -> set[Key]:
    found: set[Key] = {name for name in operation.outs if name not in ("PT", "UPT")}
    found.update(operation.others)
    if operation.target is not None:
        found.update(range(operation.target, operation.target + operation.targets))
    if operation.name == "R2P":
        found.update(f"P{number}" for number in range(7))
    if operation.name == "UR2UP":
        found.update(f"UP{number}" for number in range(8))
    return found
