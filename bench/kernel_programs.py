"""Which programs are recorded, and how: each by `streamsan run --accesses`, several at a time."""

# ruff: noqa: SIM905  (names are easier to read as words)

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent / "kernel_truth"
PARTS = {
    "torch_elementwise.py": ("float", "half", "double", "integer"),
    "torch_reductions.py": ("reductions", "indexing", "moves"),
    "torch_networks.py": ("layers", "sequences", "optimisers"),
    "torch_products.py": ("products", "libraries", "sparse"),
    "cupy_kernels.py": ("texts", "ufuncs", "arrays", "libraries"),
    "triton_kernels.py": ("",),
    "inductor_kernels.py": ("",),
}
"""programs in Python and the words that each is started with, once for each"""
SAMPLES = """matrixMul mergeSort simpleAWBarrier simpleAtomicIntrinsics simpleCallback simpleCooperativeGroups
    simpleMultiCopy simpleOccupancy simpleStreams simpleTemplates simpleVoteIntrinsics simpleZeroCopy systemWideAtomics
    vectorAdd asyncAPI clock fp16ScalarProduct UnifiedMemoryStreams MC_EstimatePiInlineP MC_EstimatePiInlineQ
    MC_EstimatePiP MC_EstimatePiQ MC_SingleAsianOptionP convolutionSeparable dct8x8 eigenvalues histogram inlinePTX
    interval radixSortThrust reduction reductionMultiBlockCG scalarProd scan shfl_scan sortingNetworks
    streamOrderedAllocation threadFenceReduction StreamPriorities bf16TensorCoreGemm binaryPartitionCG
    cudaTensorCoreGemm dmmaTensorCoreGemm globalToShmemAsyncCopy immaTensorCoreGemm jacobiCudaGraphs newdelete
    tf32TensorCoreGemm warpAggregatedAtomicsCG conjugateGradientMultiBlockCG conjugateGradient
    conjugateGradientPrecond lineOfSight simpleCUFFT simpleCUBLAS batchCUBLAS BlackScholes FDTD3d HSOpticalFlow
    MonteCarloMultiGPU SobolQRNG binomialOptions convolutionFFT2D dwtHaar1D dxtc fastWalshTransform
    quasirandomGenerator stereoDisparity LargeKernelParameter alignedTypes transpose graphMemoryNodes""".split()
"""those of NVIDIA/cuda-samples that need one GPU, no window and no library that a toolkit lacks"""
_LIBRARIES = ("cublas", "cufft", "cusparse", "curand", "cusolver")
_SOURCES = (".cu", ".cpp")


@dataclass(frozen=True)
class Program:
    """One program to record. `sources`: what is compiled first; none: it is Python."""

    name: str
    command: tuple[str, ...]
    sources: tuple[Path, ...] = ()
    folder: Path = HERE


def programs(samples: Path | None) -> Iterator[Program]:
    """All programs, those that take longest first; `samples`: a checkout of NVIDIA/cuda-samples."""
    for file, parts in PARTS.items():
        for part in parts:
            words = (part,) if part else ()
            yield Program("-".join((file.removesuffix(".py"), *words)), (sys.executable, str(HERE / file), *words))
    yield Program("own_kernels", (), (HERE / "own_kernels.cu",))
    for folder in sorted((samples or Path("/nowhere")).glob("Samples/*/*")):
        sources = tuple(sorted(path for path in folder.rglob("*") if path.suffix in _SOURCES))
        if folder.name in SAMPLES:
            yield Program(f"sample-{folder.name}", (), sources, folder)


def record_all(
    chosen: Sequence[Program], target: Path, samples: Path | None, seconds: float, jobs: int
) -> Iterator[tuple[Program, str]]:
    """Record programs into a folder; yield each with what became of it."""
    target.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(jobs) as pool:
        yield from zip(chosen, pool.map(lambda each: recorded(each, target, samples, seconds), chosen), strict=True)


def recorded(program: Program, target: Path, samples: Path | None, seconds: float) -> str:
    """Compile and record one program; return how it ended, in a line."""
    command = program.command
    if program.sources:
        executable = target / program.name
        compiler = ["nvcc", "-arch=native", "-O2", "-std=c++17", "--extended-lambda", "-w", "-o", executable]
        if samples is not None:
            compiler += ["-I", samples / "Common", "-I", program.folder, "-I", program.folder / "inc"]
        text = "".join(path.read_text(encoding="utf-8", errors="replace") for path in program.sources)
        libraries = [f"-l{name}" for name in _LIBRARIES if re.search(rf'#include\s*[<"]{name}', text)]
        made = subprocess.run([*compiler, *program.sources, *libraries], capture_output=True, text=True, check=False)
        if made.returncode:
            return f"nvcc refuses it: {made.stdout[-300:]}{made.stderr[-300:]}"
        command = (str(executable),)
    trace = target / f"{program.name}.sst"
    words = ["run", "--accesses", "--no-check", "--no-sites", "-o", str(trace), "--", *command]
    environment = {**os.environ, "KERNEL_TRUTH_SECONDS": str(seconds), "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
    with open(target / f"{program.name}.txt", "w+", encoding="utf-8") as output:
        done = subprocess.Popen(
            [sys.executable, "-m", "streamsan", *words],
            cwd=program.folder, env=environment, stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip
        try:
            status: int | str = done.wait(2 * seconds + 30)
        except subprocess.TimeoutExpired:
            os.killpg(done.pid, 9)
            status = "out of time"
        output.seek(0)
        lines = output.read().strip().splitlines()
    return f"{status} {lines[-1] if lines else ''}{'' if trace.exists() else ' NO TRACE'}"
