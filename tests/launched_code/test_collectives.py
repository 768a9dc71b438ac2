"""A recording with kernels of NCCL says what of them it does not see; one without says nothing of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from launched_traces import Recorded

from streamsan.launched_code.collectives import NOT_EXACT


@pytest.mark.parametrize(
    ("kernel", "told"),
    [
        ("_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE", True),
        ("_Z34ncclKernel_SendRecv_RING_SIMPLE_SumP7ncclDevComm", True),
        ("_Z9transposePKfPf", False),
    ],
)
def test_the_remark_is_there_where_the_kernels_are(kernel: str, told: bool, tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    stream, memory = recorded.stream(1), recorded.memory()
    for _ in range(2):
        recorded.launch(stream, recorded.shape(kernel, 0), memory)
    assert (NOT_EXACT in recorded.check().remarks) is told
