"""A release moves behind a use only where nothing between the two tells that it came later."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsan.cli import main

HEAD = """\
#include <cuda_runtime.h>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>
__global__ void scale(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2.0f; }
struct Nothing { void operator()(float*) const {} };
struct Box { float* raw; float* get() const { return raw; } };
float* pop(std::vector<float*>& v) { float* p = v.back(); v.pop_back(); return p; }
struct Both { float *first, *second; };
void destroy(Both* both, cudaStream_t s) { cudaFreeAsync(both->first, s); cudaFreeAsync(both->second, s); }
void drop(float*& p, cudaStream_t s) { cudaFreeAsync(p, s); p = nullptr; }
float* kept(float* p) { float* same = p; return same; }
class Pool {
public:
    explicit Pool(cudaStream_t s) : s_(s) { cudaMallocAsync(&block_, 4096, s_); }
    void drop() { cudaFreeAsync(block_, s_); block_ = nullptr; }
    bool holds() const { return block_ != nullptr; }
    float* raw() const { return block_; }
private:
    cudaStream_t s_; float* block_ = nullptr;
};
int main() {
    cudaStream_t a;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    float *p, *other = nullptr;
    cudaMallocAsync(&p, 4096, a);
"""
END = """\
    scale<<<1, 32, 0, a>>>(q, 32);
    cudaStreamSynchronize(a);
    std::printf("done\\n");
}
"""
SAME = "    float* q = p;\n"


def edited(folder: Path, capsys: pytest.CaptureFixture[str], body: str) -> tuple[str, str]:
    """Return a program's text after `--fix`, and what was said of the edits."""
    path = folder / "a.cu"
    path.write_text(HEAD + body + END, encoding="utf-8")
    main(["check", "--fix", str(path)])
    return path.read_text(encoding="utf-8"), capsys.readouterr().err


@pytest.mark.parametrize(
    ("before", "release", "between", "reason"),
    [
        (
            "    int refs = 1;\n",
            "if (--refs == 0) cudaFreeAsync(p, a);",
            'std::printf("%d", refs);',
            "`refs` would change",
        ),
        (
            "    float* slots[4]; int top = 0; slots[top++] = p;\n",
            "while (top > 0) cudaFreeAsync(slots[--top], a);",
            'std::printf("%d", top);',
            "`top` would change later",
        ),
        ("", "cudaFreeAsync(p, a); p = nullptr;", 'std::printf("%d", p != nullptr);', "`p` would change later"),
        ("", "drop(p, a);", 'std::printf("%d", p != nullptr);', "`p` would change later"),
        ("", "cudaFreeAsync(p, a);", "p = other;", "`p` changes before its new place"),
        ("", "cudaFreeAsync(p, a);", "cudaMallocAsync(&p, 4096, a);", "`p` changes before its new place"),
        (
            "    Pool pool(a); q = pool.raw();\n",
            "pool.drop();",
            'std::printf("%d", pool.holds());',
            "`block_` would change",
        ),
    ],
)
def test_what_a_release_sets_and_reads_is_left_alone_in_between(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], before: str, release: str, between: str, reason: str
) -> None:
    before, release, between = SAME + before, f"    {release}\n", f"    {between}\n"
    text, said = edited(tmp_path, capsys, before + release + between)
    assert reason in said
    assert text == HEAD + before + release + between + END
    text, said = edited(tmp_path, capsys, before + release + '    std::printf("between\\n");\n')
    assert "fixed: move line" in said
    assert release.strip() in text.split("(q, 32);")[1]


@pytest.mark.parametrize(
    ("before", "pointer", "call"),
    [
        ("    std::vector<float*> v; v.push_back(p);\n", "pop(v)", "pop"),
        ("", "std::exchange(p, nullptr)", "exchange"),
        ("    std::unique_ptr<float, Nothing> owner(p);\n", "owner.release()", "release"),
    ],
)
def test_an_argument_that_does_something_is_not_moved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], before: str, pointer: str, call: str
) -> None:
    body = f"{SAME}{before}    cudaFreeAsync({pointer}, a);\n"
    text, said = edited(tmp_path, capsys, body)
    assert f"`{call}` would be called later, too" in said
    assert text == HEAD + body + END


@pytest.mark.parametrize(
    ("before", "pointer"),
    [("    Box box{p};\n", "box.get()"), ("    std::vector<float*> v{p};\n", "v.at(0)"), ("", "kept(p)")],
)
def test_an_argument_that_only_looks_moves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], before: str, pointer: str
) -> None:
    release = f"    cudaFreeAsync({pointer}, a);\n"
    text, said = edited(tmp_path, capsys, SAME + before + release)
    assert "fixed: move line" in said
    assert text == HEAD + SAME + before + END.replace("(q, 32);\n", f"(q, 32);\n{release}")


def test_a_helper_that_is_given_an_address_and_only_releases_moves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, release = "    Both both{p, nullptr};\n", "    destroy(&both, a);\n"
    text, said = edited(tmp_path, capsys, SAME + before + release + "    other = both.second;\n")
    assert "fixed: move line" in said
    assert text.endswith(END.replace("(q, 32);\n", f"(q, 32);\n{release}"))
