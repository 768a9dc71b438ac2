"""Which kernels poll memory that others may write, by their machine code."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsan.machine_code.cubin import read_cubin
from streamsan.machine_code.disassembler import disassemblers
from streamsan.machine_code.kernel_accesses import accesses_of

HERE = Path(__file__).parent
CUBINS = [HERE / f"poll_kernels.{architecture}.cubin" for architecture in ("sm_75", "sm_90", "sm_120")]
POLLS = {
    *("polls_volatile", "polls_acquire", "polls_assembly", "polls_by_adding_nothing"),
    *("takes_lock", "stops_when_told", "answers", "looks_back"),
}


@pytest.mark.skipif(not disassemblers(), reason="no nvdisasm")
@pytest.mark.parametrize("path", CUBINS, ids=lambda path: path.suffixes[0])
def test_kernels_that_poll(path: Path) -> None:
    content = path.read_bytes()
    polls = {name: each.polls for name, each in accesses_of(content, read_cubin(content)).items() if each.polls}
    assert polls == {**{name: {0} for name in POLLS}, "polls_variable": {"gate"}}
