"""Which parameters kernels copy by as tensor maps, and in which direction, by their machine code."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsan.kernels.uses import Use
from streamsan.machine_code.cubin import KernelLayout, Parameter, read_cubin
from streamsan.machine_code.disassembler import Instruction, disassemblers
from streamsan.machine_code.kernel_accesses import accesses_of
from streamsan.machine_code.tensor_maps import MOST_VALUES, READS, UPDATES, WRITES, copies_by_maps, tensor_maps
from streamsan.vocabulary import AccessMode, SlotFlag

HERE = Path(__file__).parent
CUBINS = [HERE / f"tensor_kernels.{architecture}.cubin" for architecture in ("sm_90", "sm_120")]
READ, WRITE = Use(AccessMode.READ), Use(AccessMode.WRITE)
ATOMIC = Use(AccessMode.READ_WRITE, int(SlotFlag.ATOMIC))
COUNTER = Use(AccessMode.READ_WRITE, int(SlotFlag.ATOMIC))


@pytest.mark.skipif(not disassemblers(), reason="no nvdisasm")
@pytest.mark.parametrize("path", CUBINS, ids=lambda path: path.suffixes[0])
def test_kernels_that_copy_by_maps(path: Path) -> None:
    content = path.read_bytes()
    cubin = read_cubin(content)
    found = {}
    for symbol, accesses in accesses_of(content, cubin).items():
        first = cubin.kernels[symbol].parameters[0].offset
        found[symbol] = {word - first: use for word, use in accesses.words.items()}
    assert found["loads"] == {0: READ, 128: WRITE}
    assert found["copies"] == {0: READ, 128: WRITE}
    assert found["chooses"] == {0: READ, 128: READ}
    assert found["solves"] == {8: COUNTER, 64: READ, 192: WRITE, 320: ATOMIC}
    # Maps that lie in memory, and one of an array: any word may lead to them.
    assert found["follows"] == {0: Use(AccessMode.OPAQUE), 8: WRITE}
    assert set(found["counts"].values()) == {Use(AccessMode.OPAQUE)}


LAYOUT = KernelLayout("kernel", 0x210, (Parameter(0, 128), Parameter(128, 128)))
BASE = ("", "ULDC.64", ("UR4", "c[0x0][0x198]"))
LOAD = ("", "UTMALDG.2D", ("[UR8]", "[UR4]"))


def maps(*lines: tuple[str, str, tuple[str, ...]], layout: KernelLayout = LAYOUT) -> dict[int, int] | None:
    code = [Instruction(guard, opcode, operands, opcode == "BRA") for guard, opcode, operands in lines]
    assert copies_by_maps(code)
    return tensor_maps([*code, Instruction("", "EXIT", (), True)], {}, layout)


def test_a_sum_is_followed_through_copies_and_choices() -> None:
    add = ("", "UIADD3", ("UR6", "UP0", "UR4", "0x80", "URZ"))
    assert maps(BASE, LOAD) == {0: READS}
    assert maps(BASE, add, ("", "UMOV", ("UR4", "UR6")), LOAD) == {128: READS}
    assert maps(BASE, add, ("", "USEL", ("UR4", "UR6", "UR4", "UP0")), LOAD) == {0: READS, 128: READS}
    assert maps(BASE, add, ("@UP0", "UMOV", ("UR4", "UR6")), LOAD) == {0: READS, 128: READS}


def test_each_direction_is_told() -> None:
    store, reduce = ("", "UTMASTG.2D", ("[UR8]", "[UR4]")), ("", "UTMAREDG.2D.ADD", ("[UR8]", "[UR4]"))
    assert maps(BASE, store) == {0: WRITES}
    assert maps(BASE, reduce) == {0: UPDATES}
    assert maps(BASE, LOAD, store) == {0: READS | WRITES}


@pytest.mark.parametrize(
    "between",
    [
        ("", "UIMAD", ("UR4", "UR5", "0x80", "UR4")),
        ("", "UIADD3", ("UR4", "UP0", "UR4", "UR7", "URZ")),
        ("", "UIADD3", ("UR4", "UP0", "-UR4", "0x80", "URZ")),
        ("", "UMOV", ("UR4", "0x80")),
        ("", "ULDC.64", ("UR4", "c[0x0][0x210]")),
        ("", "ULDC.64", ("UR4", "c[0x0][UR7+0x198]")),
        ("", "UIADD3", ("UR4", "UP0", "UR4", "0x400", "URZ")),
        ("@UP0", "ULDC.64", ("UR4", "c[0x0][0x210]")),
    ],
)
def test_a_map_that_cannot_be_told_hides_all(between: tuple[str, str, tuple[str, ...]]) -> None:
    assert maps(BASE, LOAD, between, LOAD) is None


def test_a_loop_that_goes_on_to_other_maps_ends() -> None:
    step = ("", "UIADD3", ("UR4", "UP0", "UR4", "0x8", "URZ"))
    assert maps(BASE, LOAD, step, ("@P0", "BRA", ("0x10",))) is None
    short = KernelLayout("kernel", 0x210, (Parameter(0, 8 * MOST_VALUES * 4),))
    assert maps(BASE, LOAD, step, ("@P0", "BRA", ("0x10",)), layout=short) is None


def test_an_unknown_place_of_the_parameters_hides_all() -> None:
    assert maps(BASE, LOAD, layout=KernelLayout("kernel", 0x160, LAYOUT.parameters)) is None
