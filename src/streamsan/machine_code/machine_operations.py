"""One instruction with its operands told apart: what it reads, what it writes, where it touches memory."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from streamsan.machine_code import opcodes
from streamsan.machine_code.disassembler import Instruction
from streamsan.machine_code.image_instructions import ImageAccess, image_access
from streamsan.machine_code.instruction_operands import Address, Constant, Operand, Register, is_predicate, operand
from streamsan.machine_code.instructions import half_floats

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


class Source(Struct, frozen=True):
    """An operand that is read."""

    operand: Operand
    text: str
    negative: bool = False
    inverted: bool = False
    absolute: bool = False


class Operation(Struct, frozen=True):
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
    image: ImageAccess | None = None
    """the memory behind a texture or surface that it accesses"""
    low_compare: bool = False
    """it compares the lower halves for the instruction that compares the upper ones"""


def operation_of(at: int, instruction: Instruction) -> Operation:
    """Tell the operands of the instruction with the index `at` apart."""
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
        image_access(instruction.opcode, instruction.operands),
    )


def _others(name: str, sources: Sequence[Source]) -> tuple[int, ...]:
    """`TEX RZ,R7,R8,R6` has two results. Its last operand says which of the four values it loads, if not all."""
    second = sources[0].operand if name in _TEXTURE_LOADS and sources else None
    if not isinstance(second, Register) or second.number is None:
        return ()
    values = sources[-1].operand
    only = isinstance(values, int) and values.bit_count() == 1 and sources[-2].operand is None
    return tuple(range(second.number, second.number + (1 if only else 4)))


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
    if name in _TEXTURE_LOADS or name == "LDSM" or (name == "SULD" and "D" not in suffixes):
        return 8
    wide = max((_WIDTHS.get(suffix, 4) for suffix in suffixes), default=4) // 4
    if name == "SULD":
        return max(1, wide)
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


def used_by(operation: Operation) -> set[Key]:
    """Return the registers and predicates that decide addresses and branches, of those that it reads."""
    found: set[Key] = {name for name, _ in operation.ins if name not in ("PT", "UPT")}
    if operation.guard is not None and operation.guard[0] not in ("PT", "UPT"):
        found.add(operation.guard[0])
    if operation.image is not None:
        where = operation.image.coordinates
        found.update(number for number in (where.registers if where else ()) if number is not None)
        if isinstance(operation.image.handle, Register) and operation.image.handle.number is not None:
            found.add(operation.image.handle.number)
        return found
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


def defined_by(operation: Operation) -> set[Key]:
    """Return the registers and predicates that it may write."""
    found: set[Key] = {name for name in operation.outs if name not in ("PT", "UPT")}
    found.update(operation.others)
    if operation.target is not None:
        found.update(range(operation.target, operation.target + operation.targets))
    if operation.name == "R2P":
        found.update(f"P{number}" for number in range(7))
    if operation.name == "UR2UP":
        found.update(f"UP{number}" for number in range(8))
    return found
