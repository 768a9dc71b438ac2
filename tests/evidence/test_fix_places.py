"""Where the text of a fix goes: behind last uses, around blocks, through members and the program's own events."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from streamsan.cli import main

HEAD = """\
#include <cuda_runtime.h>
__global__ void write(float* v) { v[threadIdx.x] = 1.0f; }
__global__ void look(const float* v, float* w) { w[threadIdx.x] = v[threadIdx.x]; }
"""
STREAMS = """\
    cudaStream_t s, t;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    float *v, *w;
"""
MEMORY = "    cudaMalloc(&v, 1024);\n    cudaMalloc(&w, 1024);\n"
POOLED = "    cudaMallocAsync(&v, 1024, s);\n    cudaMallocAsync(&w, 1024, s);\n"
END = "    cudaDeviceSynchronize();\n"


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def changes(body: str, before: str = "", begin: str = STREAMS + MEMORY, end: str = END) -> list[str]:
    """Fix a program, require that nothing above a note is left, and return the lines that changed, with - and +."""
    text = f"{HEAD}{before}int main() {{\n{begin}{body}{end}}}\n"
    Path("a.cu").write_text(text, encoding="utf-8")
    assert main(["check", "--fix", "a.cu"]) == 0
    after = Path("a.cu").read_text(encoding="utf-8")
    lines = difflib.ndiff(text.splitlines(), after.splitlines())
    return [line[0] + line[2:].strip() for line in lines if line[0] in "+-"]


# -- the free behind the last use ------------------------------------------------------------------


def test_a_free_goes_behind_a_use_in_a_function_that_is_called() -> None:
    before = "static void last(const float* v, float* w, cudaStream_t s) { look<<<1, 32, 0, s>>>(v, w); }\n"
    body = "    write<<<1, 32, 0, s>>>(v);\n    cudaFreeAsync(v, s);\n    last(v, w, s);\n"
    changes(body, before, STREAMS + POOLED)
    assert "    last(v, w, s);\n    cudaFreeAsync(v, s);\n" in Path("a.cu").read_text(encoding="utf-8")


def test_a_free_leaves_its_block_for_a_use_behind_it() -> None:
    body = "    write<<<1, 32, 0, s>>>(v);\n    {\n        write<<<1, 32, 0, s>>>(w);\n"
    body += "        cudaFreeAsync(v, s);\n    }\n"
    body += "    look<<<1, 32, 0, s>>>(v, w);\n"
    changed = changes(body, begin=STREAMS + POOLED)
    assert changed == ["-cudaFreeAsync(v, s);", "+cudaFreeAsync(v, s);"]
    assert "(v, w);\n    cudaFreeAsync(v, s);\n" in Path("a.cu").read_text(encoding="utf-8")


def test_a_free_that_stands_in_another_streams_order_then_is_freed_there() -> None:
    body = "    write<<<1, 32, 0, s>>>(v);\n    cudaFreeAsync(v, s);\n    cudaEvent_t e;\n    cudaEventCreate(&e);\n"
    body += "    cudaEventRecord(e, s);\n    cudaStreamWaitEvent(t, e, 0);\n    look<<<1, 32, 0, t>>>(v, w);\n"
    assert changes(body, begin=STREAMS + POOLED) == ["-cudaFreeAsync(v, s);", "+cudaFreeAsync(v, t);"]


def test_a_loop_of_frees_goes_behind_a_loop_of_uses() -> None:
    begin = "    cudaStream_t s;\n    cudaStreamCreate(&s);\n    float* p[2];\n"
    begin += "    for (int i = 0; i < 2; ++i) cudaMallocAsync(&p[i], 1024, s);\n"
    body = "    for (int i = 0; i < 2; ++i) {\n        cudaFreeAsync(p[i], s);\n    }\n"
    body += "    for (int i = 0; i < 2; ++i) {\n        write<<<1, 32, 0, s>>>(p[i]);\n    }\n"
    changes(body, begin=begin)
    after = Path("a.cu").read_text(encoding="utf-8")
    assert after.index("cudaFreeAsync") > after.index("write<<<")


def test_a_pointer_is_set_to_null_behind_the_free_that_moves() -> None:
    body = (
        "    const float* view = v;\n    cudaFreeAsync(v, s);\n    v = nullptr;\n    look<<<1, 32, 0, s>>>(view, w);\n"
    )
    changes(body, begin=STREAMS + POOLED)
    after = Path("a.cu").read_text(encoding="utf-8")
    assert "(view, w);\n    cudaFreeAsync(v, s);\n    v = nullptr;\n" in after


def test_an_owner_that_is_assigned_to_says_why_nothing_is_moved(capsys: pytest.CaptureFixture[str]) -> None:
    before = "struct Buffer {\n    float* p;\n    ~Buffer() { cudaFree(p); }\n};\n"
    before += "static float* made() {\n    Buffer b;\n    cudaMalloc(&b.p, 1024);\n    return b.p;\n}\n"
    body = "    float* view = made();\n    write<<<1, 32, 0, s>>>(view);\n    cudaStreamSynchronize(s);\n"
    text = f"{HEAD}{before}int main() {{\n    cudaStream_t s;\n    cudaStreamCreate(&s);\n{body}}}\n"
    Path("a.cu").write_text(text, encoding="utf-8")
    assert main(["check", "--diff", "a.cu"]) == 0
    assert (
        "no automatic edit: the memory lives until `made` ends, and what owns it would have" in capsys.readouterr().err
    )


# -- events ------------------------------------------------------------------------------------------


def test_an_event_is_declared_in_the_block_around_both_places() -> None:
    begin = "    float *v, *w;\n" + MEMORY
    body = "    {\n        cudaStream_t a;\n        cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);\n"
    body += "        write<<<1, 32, 0, a>>>(v);\n        cudaStreamDestroy(a);\n    }\n"
    body += "    cudaStream_t b;\n    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);\n"
    body += "    look<<<1, 32, 0, b>>>(v, w);\n"
    assert changes(body, begin=begin) == [
        "+cudaEvent_t streamsan_event;",
        "+cudaEventCreateWithFlags(&streamsan_event, cudaEventDisableTiming);",
        "+cudaEventRecord(streamsan_event, a);",
        "+cudaStreamWaitEvent(b, streamsan_event, 0);",
        "+cudaEventDestroy(streamsan_event);",
    ]


def test_an_event_goes_from_one_round_of_a_loop_to_the_next() -> None:
    begin = (
        "    cudaStream_t s[2];\n    for (auto& each : s) cudaStreamCreateWithFlags(&each, cudaStreamNonBlocking);\n"
    )
    begin += "    float* v;\n    cudaMalloc(&v, 1024);\n"
    changes("    for (int i = 0; i < 4; ++i) {\n        write<<<1, 32, 0, s[i % 2]>>>(v);\n    }\n", begin=begin)
    after = Path("a.cu").read_text(encoding="utf-8")
    assert after.index("cudaEvent_t streamsan_event;") < after.index("for (int i = 0;")
    assert after.index("cudaStreamWaitEvent(s[i % 2], ") < after.index("write<<<1, 32, 0, s[i % 2]>>>")
    assert after.index("cudaEventRecord(streamsan_event, s[i % 2])") > after.index("write<<<1, 32, 0, s[i % 2]>>>")


def test_a_second_event_has_another_name() -> None:
    begin = "    float *v, *w;\n    int streamsan_event = 0;\n" + MEMORY
    body = "    {\n        cudaStream_t a;\n        cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);\n"
    body += "        write<<<1, 32, 0, a>>>(v);\n        cudaStreamDestroy(a);\n    }\n"
    body += "    cudaStream_t b;\n    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);\n"
    body += "    look<<<1, 32, 0, b>>>(v, w);\n"
    assert "+cudaEvent_t streamsan_event_2;" in changes(body, begin=begin)


def test_an_event_of_the_program_is_awaited_first() -> None:
    body = "    cudaEvent_t e;\n    cudaEventCreate(&e);\n    write<<<1, 32, 0, s>>>(v);\n    cudaEventRecord(e, s);\n"
    body += "    look<<<1, 32, 0, t>>>(v, w);\n"
    assert changes(body) == ["+cudaStreamWaitEvent(t, e, 0);"]


def test_a_record_that_comes_too_early_is_moved() -> None:
    body = "    cudaEvent_t e;\n    cudaEventCreate(&e);\n    cudaEventRecord(e, s);\n    write<<<1, 32, 0, s>>>(v);\n"
    body += "    cudaStreamWaitEvent(t, e, 0);\n    look<<<1, 32, 0, t>>>(v, w);\n"
    changes(body)
    assert ">>>(v);\n    cudaEventRecord(e, s);\n    cudaStreamWaitEvent" in Path("a.cu").read_text(encoding="utf-8")


def test_what_waits_for_each_round_stands_before_a_loop_that_issues_nothing() -> None:
    body = "    float* host;\n    cudaMallocHost(&host, 1024);\n"
    body += "    cudaMemcpyAsync(host, v, 1024, cudaMemcpyDeviceToHost, s);\n"
    body += "    float sum = 0;\n    for (int i = 0; i < 32; ++i) sum += host[i];\n"
    assert changes(body, end="    return sum > 0;\n") == ["+cudaStreamSynchronize(s);"]
    assert "(s);\n    for (int i = 0; i < 32; ++i) sum += host[i];\n" in Path("a.cu").read_text(encoding="utf-8")


# -- names -------------------------------------------------------------------------------------------


STREAM = """\
class Stream {
public:
    Stream() { cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking); }
    ~Stream() { cudaStreamDestroy(s_); }
    ACCESS
    void write_to(float* v) { write<<<1, 32, 0, s_>>>(v); }
private:
    cudaStream_t s_;
};
"""


@pytest.mark.parametrize(
    ("access", "name"),
    [
        ("cudaStream_t get() const { return s_; }", "a.get()"),
        ("operator cudaStream_t() const { return s_; }", "a"),
    ],
)
def test_a_private_stream_is_named_as_its_class_gives_it(access: str, name: str) -> None:
    begin = "    float *v, *w;\n" + MEMORY + "    Stream a;\n    cudaStream_t t;\n"
    begin += "    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);\n"
    body = "    a.write_to(v);\n    look<<<1, 32, 0, t>>>(v, w);\n"
    changed = changes(body, STREAM.replace("ACCESS", access), begin)
    assert f"+cudaEventRecord(streamsan_event, {name});" in changed


def test_a_private_stream_without_a_way_to_it_is_not_named() -> None:
    begin = "    float *v, *w;\n" + MEMORY + "    Stream a;\n    cudaStream_t t;\n"
    begin += "    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);\n"
    body = "    a.write_to(v);\n    look<<<1, 32, 0, t>>>(v, w);\n"
    changed = changes(body, STREAM.replace("    ACCESS\n", ""), begin)
    assert not any(".s_" in line for line in changed)


def test_members_are_visible_in_other_methods_of_the_class() -> None:
    before = (
        "struct Pipe {\n    cudaStream_t a, b;\n    float *v, *w;\n    void first() { write<<<1, 32, 0, a>>>(v); }\n"
    )
    before += "    void second() {\n        look<<<1, 32, 0, b>>>(v, w);\n    }\n};\n"
    begin = "    Pipe p;\n    cudaStreamCreateWithFlags(&p.a, cudaStreamNonBlocking);\n"
    begin += "    cudaStreamCreateWithFlags(&p.b, cudaStreamNonBlocking);\n"
    begin += "    cudaMalloc(&p.v, 1024);\n    cudaMalloc(&p.w, 1024);\n"
    changed = changes("    p.first();\n    p.second();\n", before, begin)
    assert "+cudaStreamWaitEvent(b, streamsan_event, 0);" in changed


def test_names_of_a_loop_are_not_used_before_it() -> None:
    begin = "    cudaStream_t s[2];\n    cudaEvent_t e[2];\n    for (int i = 0; i < 2; ++i) {\n"
    begin += (
        "        cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking);\n        cudaEventCreate(&e[i]);\n    }\n"
    )
    begin += (
        "    float *v[2], *w;\n    for (int i = 0; i < 2; ++i) cudaMalloc(&v[i], 1024);\n    cudaMalloc(&w, 1024);\n"
    )
    body = "    for (int i = 0; i < 2; ++i) {\n        write<<<1, 32, 0, s[i]>>>(v[i]);\n"
    body += "        cudaEventRecord(e[i], s[i]);\n    }\n"
    body += "    for (int i = 0; i < 2; ++i) look<<<1, 32, 0, s[0]>>>(v[i], w);\n"
    changes(body, begin=begin)
    for line in Path("a.cu").read_text(encoding="utf-8").split("\n"):
        if "cudaStreamWaitEvent" in line and "e[i]" in line:
            assert "for (int i" in line or line.startswith("        "), line


# -- waits that nothing needs --------------------------------------------------------------------------

TWICE = "    cudaStreamSynchronize(s);\n"


def removed(body: str, before: str = "") -> list[str]:
    """Return the lines that the removal of needless waits takes out."""
    needed = f"    write<<<1, 32, 0, t>>>(w);\n{END}"
    text = f"{HEAD}{before}int main() {{\n{STREAMS}{MEMORY}{body}{needed}}}\n"
    Path("a.cu").write_text(text, encoding="utf-8")
    main(["check", "--fix", "--select", "SS504", "a.cu"])
    left = Path("a.cu").read_text(encoding="utf-8").split("\n")
    return [line[2:] for line in difflib.ndiff(text.split("\n"), left) if line.startswith("- ")]


def test_a_needless_wait_goes_with_its_condition() -> None:
    body = f"    write<<<1, 32, 0, s>>>(v);\n{TWICE}    if (v)\n        cudaStreamSynchronize(s);\n"
    assert removed(body) == ["    if (v)", "        cudaStreamSynchronize(s);"]


@pytest.mark.parametrize(
    ("before", "call"),
    [
        ("static void wait(cudaStream_t s) { cudaStreamSynchronize(s); }\n", "wait(s);"),
        ("static void close(cudaStream_t s, float* p) { cudaStreamSynchronize(s); cudaFree(p); }\n", "close(s, v);"),
        ("struct Last {\n    cudaStream_t s;\n    ~Last() { cudaStreamSynchronize(s); s = 0; }\n};\n", "Last l{s};"),
    ],
)  # fmt: skip
def test_waits_that_others_may_count_on_stay(before: str, call: str) -> None:
    assert removed(f"    write<<<1, 32, 0, s>>>(v);\n{TWICE}    {call}\n", before) == []


def test_a_wait_in_a_header_stays() -> None:
    header = (
        "inline int wait(cudaStream_t s) {\n    int n = 1;\n    cudaStreamSynchronize(s);\n    ++n;\n    return n;\n}\n"
    )
    Path("wait.cuh").write_text(f"#include <cuda_runtime.h>\n{header}", encoding="utf-8")
    assert removed(f"    write<<<1, 32, 0, s>>>(v);\n{TWICE}    wait(s);\n", '#include "wait.cuh"\n') == []
    assert "cudaStreamSynchronize" in Path("wait.cuh").read_text(encoding="utf-8")
