"""One kernel's machine code by itself: taken out of its cubin, and kept as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from msgspec import Struct

from streamsan.machine_code import address_code as addresses_of
from streamsan.machine_code.address_code import AddressCode
from streamsan.machine_code.constant_bank import BANK, ConstantVariable, sound_variables
from streamsan.machine_code.cubin import Cubin, KernelLayout, Parameter
from streamsan.machine_code.disassembler import Instruction, disassembled
from streamsan.machine_code.handle_flow import HandleFlow
from streamsan.machine_code.image_instructions import IMAGE_ACCESSES
from streamsan.machine_code.pointer_flow import PointerFlow
from streamsan.machine_code.tensor_maps import copies_by_maps, tensor_maps

_FORM = 2
"""of the JSON: another number is another form"""


class KernelCode(Struct, frozen=True, dict=True):
    """The decoded code of one kernel, and all that is needed to read it."""

    layout: KernelLayout
    instructions: tuple[Instruction, ...]
    labels: dict[str, int]
    """name -> byte offset in the code"""
    addresses: dict[int, str]
    """offset in constant bank 4 -> symbol"""
    constants: tuple[ConstantVariable, ...] = ()
    """the variables in constant memory, where the kernel reads there"""

    @cached_property
    def tensor_maps(self) -> dict[int, int] | None:
        """The words of the parameters that are tensor maps, as `tensor_maps` has them; None: nobody knows which are."""
        return tensor_maps(self.instructions, self.labels, self.layout) if copies_by_maps(self.instructions) else {}

    @cached_property
    def address_code(self) -> AddressCode:
        """What of the code decides addresses: read once for all launches."""
        images = {} if self.handle_flow is None else self.handle_flow.accesses()
        return addresses_of.address_code(self.pointer_flow, self.instructions, self.labels, self.tensor_maps, images)

    @cached_property
    def pointer_flow(self) -> PointerFlow:
        """Which register may hold which address: most of the time that the reading of a kernel takes."""
        flow = PointerFlow(self.layout, self.addresses, self.constants)
        flow.run(self.instructions, self.labels)
        return flow

    @cached_property
    def handle_flow(self) -> HandleFlow | None:
        """Which register may hold the number of which texture or surface object; None: the kernel accesses none."""
        if not any(each.opcode.partition(".")[0] in IMAGE_ACCESSES for each in self.instructions):
            return None
        flow = HandleFlow(self.layout, self.addresses)
        flow.run(self.instructions, self.labels)
        return flow

    def as_json(self) -> dict[str, Any]:
        """What `from_json` takes: strings are numbered, since most instructions are like others."""
        texts: dict[str, int] = {}

        def number(text: str) -> int:
            return texts.setdefault(text, len(texts))

        code = [
            [number(each.predicate), number(each.opcode), int(each.jumps), *map(number, each.operands)]
            for each in self.instructions
        ]
        return {
            "form": _FORM,
            "symbol": self.layout.symbol,
            "base": self.layout.base,
            "parameters": [[each.offset, each.size] for each in self.layout.parameters],
            "labels": self.labels,
            "addresses": [[offset, symbol] for offset, symbol in self.addresses.items()],
            "constants": [list(each) for each in self.constants],
            "texts": list(texts),
            "code": code,
        }

    @staticmethod
    def from_json(kept: Any) -> KernelCode:
        """The kernel of which `as_json` was kept. Raises `ValueError` where it is something else."""
        try:
            if kept["form"] != _FORM:
                raise ValueError(f"kept code of form {kept['form']}")
            texts = [str(text) for text in kept["texts"]]
            if any(number < 0 for line in kept["code"] for number in line):
                raise ValueError("kept code has a negative number")
            return KernelCode(
                KernelLayout(
                    str(kept["symbol"]),
                    int(kept["base"]),
                    tuple(Parameter(int(offset), int(size)) for offset, size in kept["parameters"]),
                ),
                tuple(
                    Instruction(texts[guard], texts[opcode], tuple(texts[each] for each in operands), bool(jumps))
                    for guard, opcode, jumps, *operands in kept["code"]
                ),
                {str(name): int(offset) for name, offset in kept["labels"].items()},
                {int(offset): str(symbol) for offset, symbol in kept["addresses"]},
                sound_variables(
                    ConstantVariable(int(begin), int(size), str(symbol)) for begin, size, symbol in kept["constants"]
                ),
            )
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise ValueError(f"no kept code: {error}") from None


def kernels_of(content: bytes, cubin: Cubin, symbols: Iterable[str] | None = None) -> dict[str, KernelCode]:
    """The kernels (those of `symbols`, or all) of a cubin, whose bytes are `content`. Raises `DisassemblyError`."""
    if symbols is None:
        wanted, numbers = list(cubin.kernels), []
    else:
        wanted = [symbol for symbol in symbols if symbol in cubin.kernels]
        # Of a library's cubin with its thousands of kernels few were launched.
        numbers = [cubin.numbers[symbol] for symbol in wanted if symbol in cubin.numbers]
        if not numbers:
            return {}
    functions = disassembled(content, numbers)
    return {
        symbol: KernelCode(
            cubin.kernels[symbol],
            functions[symbol],
            cubin.labels.get(symbol, {}),
            cubin.addresses,
            cubin.constants if _reads_constants(functions[symbol]) else (),
        )
        for symbol in wanted
        if symbol in functions
    }


def _reads_constants(instructions: Iterable[Instruction]) -> bool:
    bank = f"c[{BANK:#x}]"
    return any(bank in text for each in instructions for text in each.operands)
