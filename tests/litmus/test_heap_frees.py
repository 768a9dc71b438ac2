"""`free` and `delete` of memory that CUDA gave out: wrong, but where the program says what `delete` does."""

from __future__ import annotations

from pathlib import Path

import pytest

from expectations import check_file


@pytest.mark.parametrize(
    ("declarations", "body", "wrong"),
    [
        ("", "float* p; cudaMallocManaged(&p, 4); delete p;", True),
        ("", "float* p; cudaMalloc(&p, 64); delete[] p;", True),
        ("struct T { int x; };", "T* p; cudaMallocManaged(&p, sizeof(T)); delete p;", True),
        ("", "void* p; cudaMallocHost(&p, 64); std::free(p);", True),
        ("", "void* p = malloc(64); cudaHostRegister(p, 64, 0); cudaHostUnregister(p); free(p);", False),
        (
            "struct T { int x; void operator delete(void* p) { cudaFree(p); } };",
            "T* p; cudaMallocManaged(&p, sizeof(T)); delete p;",
            False,
        ),
        (
            "struct M { void operator delete(void* p) { cudaFree(p); } }; struct T : M { int x; };",
            "T* p; cudaMallocManaged(&p, sizeof(T)); delete p;",
            False,
        ),
        (
            "void operator delete(void* p) noexcept { cudaFree(p); }",
            "float* p; cudaMallocManaged(&p, 4); delete p;",
            False,
        ),
        (
            "",
            "void* p; if (argc > 1) cudaMalloc(&p, 64); else p = malloc(64); if (argc > 1) cudaFree(p); else free(p);",
            False,
        ),
    ],
)
def test_family(tmp_path: Path, declarations: str, body: str, wrong: bool) -> None:
    path = tmp_path / "program.cu"
    path.write_text(
        f"#include <cuda_runtime.h>\n#include <cstdlib>\n{declarations}\n"
        f"int main(int argc, char** argv) {{\n{body}\nreturn 0;\n}}\n",
        encoding="utf-8",
    )
    codes = [finding.code for finding in check_file(path)]
    assert codes == ["SS202"] if wrong else "SS202" not in codes
