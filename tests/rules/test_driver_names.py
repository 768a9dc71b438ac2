"""What is said of driver-API programs names the driver's functions; host functions that only read are readers."""

from __future__ import annotations

from pathlib import Path

import pytest

from expectations import check_text
from streamsan.findings.finding import Contract
from streamsan.platforms import CUDA
from streamsan.rules.catalogue.reset import EXIT_CONTRACT
from streamsan.rules.every_rule import RULES
from streamsan.rules.interfaces import of_low_level

RULES_FOLDER = Path(__file__).resolve().parents[2] / "src" / "streamsan" / "rules"
DRIVER = """\
#include <cuda.h>
int main() {
    CUdevice device;
    CUcontext context;
    cuInit(0);
    cuDeviceGet(&device, 0);
    cuCtxCreate(&context, 0, device);
    CUstream first, second;
    cuStreamCreate(&first, CU_STREAM_NON_BLOCKING);
    cuStreamCreate(&second, CU_STREAM_NON_BLOCKING);
    CUdeviceptr kept, block;
    cuMemAlloc(&kept, 1024);
    cuMemAllocAsync(&block, 1024, first);
    cuStreamSynchronize(first);
    cuMemsetD8Async(block, 0, 1024, second);
    cuMemFreeAsync(block, first);
    cuCtxSynchronize();
    cuStreamDestroy(second);
    cuStreamDestroy(first);
    cuCtxDestroy(context);
}
"""


def test_a_driver_program_is_told_of_the_driver_s_functions(tmp_path: Path) -> None:
    found = {finding.code: finding for finding in check_text(DRIVER, tmp_path)}
    race, leak = found["SS102"], found["SS401"]
    assert race.contract is not None
    assert race.contract.source == "CUDA Driver API, cuMemFreeAsync"
    assert leak.fix is not None
    assert "cuMemFree(kept)" in leak.fix.summary
    assert leak.contract is not None
    assert leak.contract.source == "CUDA Driver API, Memory Management"


def test_a_program_that_calls_the_runtime_is_told_of_the_runtime_s(tmp_path: Path) -> None:
    text = DRIVER.replace("cuMemFreeAsync(block, first)", "cudaFreeAsync((void*)block, (cudaStream_t)first)")
    race = next(finding for finding in check_text(text, tmp_path) if finding.code == "SS102")
    assert race.contract is not None
    assert race.contract.source == "CUDA Runtime API, cudaFreeAsync"


def test_names_without_a_counterpart_stay() -> None:
    assert CUDA.in_low_level_names("cudaFree(x); cudaGetLastError();") == "cuMemFree(x); cudaGetLastError();"
    contracts = CUDA.rule_texts["SS102"]["contract"]
    assert of_low_level(Contract(*contracts["asynchronous"]), CUDA).source == "CUDA Driver API, cuMemFreeAsync"
    assert "cuMemFree may wait" in of_low_level(Contract(*contracts["waits"]), CUDA).text
    assert of_low_level(EXIT_CONTRACT, CUDA) == EXIT_CONTRACT


@pytest.mark.parametrize("rule", [rule for rule in CUDA.rule_texts if rule not in ("release", "call")])
def test_no_text_of_a_platform_is_left_over(rule: str) -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in RULES_FOLDER.rglob("*.py"))
    parts = CUDA.rule_texts[rule]
    keys = {key for part in parts.values() for key in part} if rule in RULES else set(parts)
    assert [key for key in keys if f'"{key}"' not in code and f"'{key}'" not in code] == []


HOST_FUNCTION = """\
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
struct Order { int number; int answer; };
void handle(void* given) { BODY }
int main() {
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    Order* order = (Order*)malloc(sizeof(Order));
    order->number = 1;
    cudaLaunchHostFunc(stream, handle, order);
    int seen = order->answer;
    cudaStreamSynchronize(stream);
    std::printf("%d", seen);
    free(order);
    cudaStreamDestroy(stream);
}
"""


def read_before_written(body: str, folder: Path) -> bool:
    found = check_text(HOST_FUNCTION.replace("BODY", body), folder)
    return any(finding.code == "SS108" for finding in found)


def test_a_host_function_whose_body_only_reads_is_a_reader(tmp_path: Path) -> None:
    assert not read_before_written('std::printf("%d", ((Order*)given)->number);', tmp_path)


def test_a_host_function_that_writes_is_none(tmp_path: Path) -> None:
    assert read_before_written("((Order*)given)->answer = 2;", tmp_path)
