"""Which kernels may talk to the host while they run: those with volatile memory, atomics or fences of the system."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsan.machine_code.cubin import read_cubin
from streamsan.machine_code.disassembler import disassemblers
from streamsan.machine_code.kernel_accesses import accesses_of

HERE = Path(__file__).parent
CUBINS = [HERE / f"talk_kernels.{architecture}.cubin" for architecture in ("sm_75", "sm_90", "sm_120")]


@pytest.mark.skipif(not disassemblers(), reason="no nvdisasm")
@pytest.mark.parametrize("path", CUBINS, ids=lambda path: path.suffixes[0])
def test_kernels_that_may_talk(path: Path) -> None:
    content = path.read_bytes()
    talks = {name: each.talks for name, each in accesses_of(content, read_cubin(content)).items()}
    assert {name for name, each in talks.items() if not each} == {"writes", "counts", "fences_on_device"}
    assert {name for name, each in talks.items() if each} == {"announces", "sets_volatile", "polls", "counts_for_all"}
