"""Findings against seconds: what does a check take that finds 250, 1,000 and 4,000 mistakes?

    python bench/many_findings.py
    python bench/many_findings.py --counts 250 1000 --inputs trace

Each input has as many wrong frees as the row says: a source of functions with one each, a source with all of them in
one function, and a trace whose calls stand in so many places. Prints the CPU seconds of each check (what else the
machine does is not in them), with witnesses and fixes for what is shown, and the milliseconds per finding; the ratio
holds these against the first row of the same input: 1.0 is linear.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from streamsan.analysis.inputs import analyse_path
from streamsan.trace.builder import TraceBuilder
from streamsan.trace.references import Reference
from streamsan.trace.site import Site
from streamsan.trace.writer import write
from streamsan.vocabulary import AccessMode, FreeClass, MemoryKind, OperationKind, StreamKind

COUNTS = (250, 1_000, 4_000)
BLOCK = 1 << 12
HEAD = "#include <cuda_runtime.h>\n__global__ void scale(float* x, int n);\n\n"
FUNCTION = """void step_{number}(int n) {{
    cudaStream_t copies, compute;
    cudaStreamCreate(&copies);
    cudaStreamCreate(&compute);
    float* rows = nullptr;
    cudaMallocAsync(&rows, n * sizeof(float), compute);
    scale<<<n / 256, 256, 0, compute>>>(rows, n);
    cudaFreeAsync(rows, copies);
    cudaStreamDestroy(copies);
    cudaStreamDestroy(compute);
}}

"""
MAIN = """int main() {{
    cudaStream_t copies, compute;
    cudaStreamCreate(&copies);
    cudaStreamCreate(&compute);
{calls}    cudaDeviceSynchronize();
}}
"""
LINES = """    float* rows_{number} = nullptr;
    cudaMallocAsync(&rows_{number}, 4096, compute);
    scale<<<4, 256, 0, compute>>>(rows_{number}, 1024);
    cudaFreeAsync(rows_{number}, copies);
"""


def functions(folder: Path, count: int) -> Path:
    """Write a source of functions with one wrong free each."""
    path = folder / f"functions_{count}.cu"
    path.write_text(HEAD + "".join(FUNCTION.format(number=number) for number in range(count)))
    return path


def one_function(folder: Path, count: int) -> Path:
    """Write a source of one function with all the wrong frees."""
    path = folder / f"one_function_{count}.cu"
    path.write_text(HEAD + MAIN.format(calls="".join(LINES.format(number=number) for number in range(count))))
    return path


def trace(folder: Path, count: int) -> Path:
    """Write a trace with a wrong free at each of so many places."""
    path = folder / f"trace_{count}.sst"
    builder = TraceBuilder(str(path), origin="recording")
    thread = builder.thread(0, "main")
    context, compute, copies = 0x10, 0x1000, 0x2000
    builder.append(OperationKind.CONTEXT_CURRENT, thread=thread, object=context)
    for stream in (compute, copies):
        kind = StreamKind.NON_BLOCKING
        builder.append(OperationKind.STREAM_CREATE, thread=thread, api="cudaStreamCreate", object=stream, detail=kind)
    for number in range(count):
        file, address = f"step_{number % 16}.py", (1 << 40) + number * BLOCK
        line = 10 + 4 * (number // 16)
        block = Reference(address, BLOCK, number + 1, AccessMode.READ_WRITE)
        labels = ("", "scale", "")
        at = [
            builder.site(Site(file, line + each, 5, function="step", label=label)) for each, label in enumerate(labels)
        ]
        builder.append(
            OperationKind.ALLOC, thread=thread, api="cudaMallocAsync", site=at[0], stream=compute,
            references=[block], detail=MemoryKind.STREAM_ORDERED,
        )  # fmt: skip
        builder.append(
            OperationKind.LAUNCH, thread=thread, api="cuLaunchKernel", site=at[1], stream=compute, references=[block]
        )
        builder.append(
            OperationKind.FREE, thread=thread, api="cudaFreeAsync", site=at[2], stream=copies,
            references=[block], detail=FreeClass.ASYNC,
        )  # fmt: skip
    builder.append(OperationKind.CONTEXT_SYNCHRONIZE, thread=thread, api="cudaDeviceSynchronize", object=context)
    write(builder.finish(), path)
    return path


INPUTS: dict[str, Callable[[Path, int], Path]] = {
    "functions": functions,
    "one function": one_function,
    "trace": trace,
}


def main() -> int:
    """Check each input, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=int, nargs="+", default=COUNTS)
    parser.add_argument("--inputs", nargs="+", choices=INPUTS, default=list(INPUTS))
    arguments = parser.parse_args()
    print(f"{'input':14}{'findings':>10}{'seconds':>10}{'ms each':>10}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.inputs:
            first = 0.0
            for count in arguments.counts:
                path = INPUTS[name](Path(folder), count)
                began = time.process_time()
                found = len(analyse_path(path).findings)
                seconds = time.process_time() - began
                each = 1000 * seconds / max(1, found)
                first = first or each
                print(f"{name:14}{found:>10,}{seconds:>10.2f}{each:>10.2f}{each / first:>8.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
