"""What macros make outside functions is checked; findings in it quote the place where the macro is used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from streamsan.cli import main

HEAD = "#include <cuda_runtime.h>\n"
WRONG = "float* p; cudaMallocAsync(&p, 64, a); cudaMemsetAsync(p, 0, 64, b); cudaFreeAsync(p, a);"
RIGHT = "float* p; cudaMallocAsync(&p, 64, a); cudaMemsetAsync(p, 0, 64, a); cudaFreeAsync(p, a);"
STREAMS = "cudaStream_t a, b; cudaStreamCreate(&a); cudaStreamCreate(&b);"
ONE = "#define ONE(n, ...) void f##n() { " + STREAMS + " __VA_ARGS__ cudaStreamDestroy(a); cudaStreamDestroy(b); }\n"


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def report(capsys: pytest.CaptureFixture[str], text: str, *options: str) -> dict[str, Any]:
    Path("a.cu").write_text(HEAD + text, encoding="utf-8")
    main(["check", "--exit-zero", "--format", "json", *options, "a.cu"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize(("body", "codes"), [(WRONG, {"SS102", "SS103"}), (RIGHT, set())])
@pytest.mark.parametrize("use", ["ONE(1, {0})\n", "#define TWO(x) ONE(x##0, {0}) ONE(x##1, {0})\nTWO(1);\n"])
def test_a_function_that_a_macro_makes_is_checked(body, codes, use, capsys):
    found = report(capsys, ONE + use.format(body))
    line = 2 + use.count("\n")
    assert {each["code"] for each in found["findings"]} == codes
    assert {each["location"]["line"] for each in found["findings"]} <= {line}
    unread = found["summary"]["unread"]
    assert not any(what for sort, what in unread.items() if sort != "calls_reached")


@pytest.mark.parametrize(("stream", "codes"), [("b", {"SS109"}), ("a", set())])
def test_a_kernel_that_a_macro_makes_is_known(stream, codes, capsys):
    text = (
        "#define NAME(f, T) f##_##T\n"
        "#define MAKE(T) __global__ void NAME(scale, T)(T* x) { x[threadIdx.x] *= 2; }\nMAKE(float)\n"
        f"int main() {{ {STREAMS} float *p, *q; cudaMalloc(&p, 64); cudaMalloc(&q, 64);\n"
        f"scale_float<<<1, 16, 0, a>>>(p);\ncudaMemcpyAsync(q, p, 64, cudaMemcpyDeviceToDevice, {stream}); "
        "cudaStreamSynchronize(a); cudaStreamSynchronize(b); cudaFree(p); cudaFree(q); }\n"
    )
    found = report(capsys, text)
    assert {each["code"] for each in found["findings"] if each["severity"] != "note"} == codes
    unread = found["summary"]["unread"]
    assert not any(what for sort, what in unread.items() if sort != "calls_reached")


def test_nothing_is_edited_where_a_macro_is_used(capsys):
    text = HEAD + ONE + f"ONE(1, {WRONG})\n"
    Path("a.cu").write_text(text, encoding="utf-8")
    main(["check", "--exit-zero", "--fix", "a.cu"])
    assert "SS102" in capsys.readouterr().out
    assert Path("a.cu").read_text(encoding="utf-8") == text


def test_what_a_macro_makes_and_no_path_comes_to(capsys):
    text = "#define F(n) static void n() { if (0) cudaDeviceSynchronize(); }\nF(unused)\nint main() { }\n"
    assert report(capsys, text)["summary"]["unread"]["calls_not_reached"] == [
        {"file": "a.cu", "line": 3, "column": 1, "reason": "no path that was taken comes here"}
    ]
