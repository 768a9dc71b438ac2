"""PyTorch's allocator, as a library that stands for it: its blocks are recorded, and judged (SS105, SS303)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from expectations import Expectations
from fake_device import FakeDevice, Ran, compile_fake
from streamsan.order.recordings import NOT_SEEN, NOT_SEEN_BESIDE_BLOCKS

PROGRAM = """\
#include <cstdio>
#include <cstring>
#include "torch_allocator.hpp"
#include "torch_profiler.hpp"
constexpr fake::Kernel fill("_Z4fillPfi", {8, 4});             // fill(float*, int)
constexpr fake::Kernel sum("_Z3sumPfPKfS1_", {8, 8, 8});       // sum(float*, float const* begin, float const* end)
constexpr std::size_t bytes = 4096;
cudaStream_t stream() {
    cudaStream_t made = nullptr;
    cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
    return made;
}
void prefetch(cudaStream_t main, cudaStream_t side, bool recorded, unsigned pool) {
    for (int step = 0; step < 3; ++step) {
        void* const batch = torch_alloc(bytes, side, pool);
        LAUNCH(fill, side, batch, 1);
        cudaEvent_t ready = nullptr;
        cudaEventCreate(&ready);
        cudaEventRecord(ready, side);
        cudaStreamWaitEvent(main, ready, 0);
        cudaEventDestroy(ready);
        LAUNCH(fill, main, batch, 2);
        if (recorded) torch_record_stream(batch, main);
        torch_free(batch);  // expect: SS105
    }
}
void waits(cudaStream_t later, cudaStream_t earlier) {
    cudaEvent_t event = nullptr;
    cudaEventCreate(&event);
    cudaEventRecord(event, earlier);
    cudaStreamWaitEvent(later, event, 0);
    cudaEventDestroy(event);
}
void tell(cudaStream_t main, cudaStream_t side, bool joined) {
    for (int step = 0; step < 3; ++step) {
        void* const batch = torch_alloc(bytes, side);  // handed out
        LAUNCH(fill, side, batch, 1);
        waits(main, side);
        LAUNCH(fill, main, batch, 2);
        torch_record_stream(batch, main);
        if (joined) waits(side, main);
        torch_free(batch);  // given back
    }
}
void beside(cudaStream_t main, cudaStream_t side) {
    void* const data = torch_alloc(bytes, main);
    void* const next = torch_alloc(bytes, main);
    void* const result = torch_alloc(bytes, side);
    cudaDeviceSynchronize();
    LAUNCH(sum, side, result, data, static_cast<char*>(data) + bytes);
    torch_free(next);
    LAUNCH(fill, main, torch_alloc(bytes, main), 3);
    cudaStreamSynchronize(side);
    torch_free(data);
    torch_free(result);
}
cudaGraphExec_t captured(cudaStream_t on, void* block, unsigned pool) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t made = nullptr;
    cudaStreamBeginCapture(on, cudaStreamCaptureModeRelaxed);
    void* const inside = torch_alloc(bytes, on, pool);
    LAUNCH(fill, on, block, 1);
    LAUNCH(fill, on, inside, 1);
    torch_free(inside);
    cudaStreamEndCapture(on, &graph);
    cudaGraphInstantiate(&made, graph, 0);
    cudaGraphDestroy(graph);
    return made;
}
void replay(cudaStream_t main, cudaStream_t side, bool dropped, unsigned pool, unsigned graphs) {
    void* const input = torch_alloc(bytes, main, pool);
    cudaGraphExec_t graph = captured(main, input, graphs);
    cudaGraphExec_t second = captured(main, input, graphs);  // uses the first one's private blocks again
    cudaGraphLaunch(graph, main);
    cudaGraphLaunch(second, main);
    if (dropped) torch_free(input);
    void* const other = torch_alloc(bytes, main, pool);
    LAUNCH(fill, main, other, 3);
    cudaGraphLaunch(graph, main);  // expect: SS303
    cudaStreamSynchronize(main);
    cudaStreamSynchronize(side);
    cudaGraphExecDestroy(graph);
    cudaGraphExecDestroy(second);
}
void conflict(cudaStream_t main, cudaStream_t side) {
    void* const block = torch_alloc(bytes, main);  // it is kept to the end
    cudaMemsetAsync(block, 1, bytes, main);
    cudaMemsetAsync(block, 2, bytes, side);  // expect: SS109
}
// A tensor of 320 bytes, whose block has 512.
void rounded(cudaStream_t main, cudaStream_t side, std::size_t filled, bool joined) {
    constexpr std::size_t asked = 320;
    void* const tensor = torch_alloc(asked, main);
    void* const result = torch_alloc(asked, side);
    cudaMemsetAsync(tensor, 1, filled, main);
    if (joined) waits(side, main);
    LAUNCH(sum, side, result, tensor, static_cast<char*>(tensor) + asked);  // reads the tensor
    cudaDeviceSynchronize();
    torch_free(tensor);
    torch_free(result);
}
// As cudagraph trees do: eager runs, captures and eager runs again get each other's blocks.
void in_turns(cudaStream_t main, cudaStream_t side) {
    constexpr unsigned pool = 1;
    const auto eager = [&] {
        void* const block = torch_alloc(bytes, main, pool);
        LAUNCH(fill, main, block, 1);
        return block;
    };
    torch_free(eager());
    void* const input = torch_alloc(bytes, main);
    void* const kept = torch_alloc(bytes, main, pool);  // what the first eager run had
    cudaGraphExec_t graph = captured(main, input, pool);
    torch_free(kept);
    cudaGraphExec_t second = captured(main, input, pool);  // ... and this graph has now
    for (int step = 0; step < 2; ++step) {
        cudaGraphLaunch(graph, main);
        cudaGraphLaunch(second, main);
        void* const dropped = eager();  // what a graph has
        torch_free(dropped);
        void* const again = eager();
        cudaGraphLaunch(second, main);
        torch_free(again);
        torch_free(torch_alloc(bytes, side, pool));
    }
    cudaStreamSynchronize(main);
    cudaGraphExecDestroy(graph);
    cudaGraphExecDestroy(second);
}
// As cudagraph trees do: the input of a graph is dropped in its capture, and filled by its address before each replay.
void dropped_inside(cudaStream_t main) {
    constexpr unsigned pool = 3;
    void* const input = torch_alloc(bytes, main, pool);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t made = nullptr;
    cudaStreamBeginCapture(main, cudaStreamCaptureModeRelaxed);
    LAUNCH(fill, main, input, 1);
    torch_free(input);
    cudaStreamEndCapture(main, &graph);
    cudaGraphInstantiate(&made, graph, 0);
    for (int step = 0; step < 2; ++step) {
        void* const other = torch_alloc(bytes, main, pool);
        LAUNCH(fill, main, other, 2);
        torch_free(other);
        cudaMemsetAsync(input, 1, bytes, main);
        cudaGraphLaunch(made, main);
    }
    cudaStreamSynchronize(main);
    cudaGraphExecDestroy(made);
    cudaGraphDestroy(graph);
}
int main(int count, char** words) {
    if (count < 2) return 2;
    cudaStream_t main = stream(), side = stream();
    const char* const what = words[1];
    if (!std::strcmp(what, "prefetch_wrong")) prefetch(main, side, false, 0);
    if (!std::strcmp(what, "prefetch_right")) prefetch(main, side, true, 0);
    if (!std::strcmp(what, "told_needlessly")) tell(main, side, true);
    if (!std::strcmp(what, "told_for_a_reason")) tell(main, side, false);
    if (!std::strcmp(what, "beside")) beside(main, side);
    if (!std::strcmp(what, "conflict")) conflict(main, side);
    if (!std::strcmp(what, "rounded_wrong")) rounded(main, side, 320, false);
    if (!std::strcmp(what, "rounded_half")) rounded(main, side, 160, false);
    if (!std::strcmp(what, "rounded_right")) rounded(main, side, 320, true);
    if (!std::strcmp(what, "replay_wrong")) replay(main, side, true, 0, 1);
    if (!std::strcmp(what, "replay_right")) replay(main, side, false, 0, own_pools);
    if (!std::strcmp(what, "private_prefetch_wrong")) prefetch(main, side, false, 2);
    if (!std::strcmp(what, "private_prefetch_right")) prefetch(main, side, true, 2);
    if (!std::strcmp(what, "private_input_wrong")) replay(main, side, true, 2, own_pools);
    if (!std::strcmp(what, "private_input_right")) replay(main, side, false, 2, 1);
    if (!std::strcmp(what, "graphs_pool")) replay(main, side, true, 1, 1);
    if (!std::strcmp(what, "in_turns")) in_turns(main, side);
    if (!std::strcmp(what, "dropped_inside")) dropped_inside(main);
    cudaDeviceSynchronize();
    cudaStreamDestroy(main);
    cudaStreamDestroy(side);
    std::printf("%zu\\n", torch_profiled());
    return 0;
}
"""


class Builds:
    """Builds of the library and the program, each made once."""

    def __init__(self, device: FakeDevice, folder: Path) -> None:
        self.device = device
        self.folder = folder
        source = folder / "uses_torch.cpp"
        source.write_text(PROGRAM)
        self.base = folder / "libc10.so"
        compile_fake(self.base, ["torch_profiler.cpp"], "-shared", "-Wl,-soname,libc10.so")
        self.usual = self.library("usual")
        self.program = device.compiled(source, str(self.usual), str(self.base))

    def library(self, name: str, *flags: str) -> Path:
        """Return a build of the library."""
        library = self.folder / name / "libc10_cuda.so"
        library.parent.mkdir()
        runtime = str(self.device.folder / "lib64" / "libcudart.so.13")
        shared = ("-shared", "-fvisibility=hidden", "-Wl,-soname,libc10_cuda.so")
        compile_fake(library, ["torch_allocator.cpp"], *shared, *flags, str(self.base), runtime)
        return library

    def run(self, folder: Path, what: str, library: Path | None = None, *options: str, **variables: str) -> Ran:
        """Record the program with a build of the library."""
        environment = {"LD_LIBRARY_PATH": self.libraries(library), **variables}
        return self.device.run(folder, [self.program, what], *options, environment=environment)

    def libraries(self, library: Path | None = None) -> str:
        """Return where the program's libraries are, with a build of the library."""
        return f"{(library or self.usual).parent}:{self.folder}:{self.device.folder / 'lib64'}"


@pytest.fixture(scope="module")
def builds(fake_device: FakeDevice, tmp_path_factory: pytest.TempPathFactory) -> Builds:
    """Return what is built for this module."""
    return Builds(fake_device, tmp_path_factory.mktemp("torch"))


def expected(code: str) -> set[tuple[int, str]]:
    """Return the marks of one code in the program."""
    return {mark for mark in Expectations.of(PROGRAM).loud if mark[1] == code}


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ("prefetch_wrong", "SS105"),
        ("replay_wrong", "SS303"),
        ("private_prefetch_wrong", "SS105"),
        ("private_input_wrong", "SS303"),
    ],
)
def test_blocks_that_another_owner_got(builds: Builds, tmp_path: Path, what: str, code: str) -> None:
    """`private`: in a pool of the program's, of which no graph has anything."""
    ran = builds.run(tmp_path, what)
    assert ran.loud == expected(code), ran.report["findings"]
    assert (ran.problems, ran.errors) == ([], "")


def test_two_streams_in_a_block_that_is_kept(builds: Builds, tmp_path: Path) -> None:
    """The block is named, not the memory that it is cut from; what a framework keeps to the end is no leak."""
    ran = builds.run(tmp_path, "conflict")
    assert (ran.loud, ran.codes) == (expected("SS109"), ["SS109"])
    (finding,) = ran.report["findings"]
    (made,) = [each for each in finding["related"] if each["role"] == "alloc"]
    line = next(number for number, text in enumerate(PROGRAM.splitlines(), 1) if "it is kept to the end" in text)
    assert (made["line"], "handed out" in made["message"]) == (line, True), made


@pytest.mark.parametrize(
    ("what", "severities"), [("rounded_wrong", ["warning"]), ("rounded_half", ["note"]), ("rounded_right", [])]
)
def test_all_that_the_owner_asked_for_is_all_of_a_block(
    builds: Builds, tmp_path: Path, what: str, severities: list[str]
) -> None:
    """The block is larger than the tensor: nobody uses what is behind it."""
    ran = builds.run(tmp_path, what)
    line = next(number for number, text in enumerate(PROGRAM.splitlines(), 1) if "// reads the tensor" in text)
    found = [each for each in ran.report["findings"] if each["code"] == "SS109"]
    assert [(each["severity"], each["location"]["line"]) for each in found] == [(each, line) for each in severities]
    assert (ran.problems, ran.errors) == ([], "")


def test_the_fix_is_the_one_that_pytorch_has(builds: Builds, tmp_path: Path) -> None:
    found = builds.run(tmp_path, "prefetch_wrong").report["findings"]
    (finding,) = [each for each in found if each["code"] == "SS105"]
    assert finding["fix"]["verified"]
    line = next(number for number, text in enumerate(PROGRAM.splitlines(), 1) if "fill, main, batch" in text)
    assert f"after line {line}: <the tensor of line " in finding["fix"]["summary"]
    assert ".record_stream(<stream 1, made at uses_torch.cpp:" in finding["fix"]["summary"]
    (released,) = [each["message"] for each in finding["related"] if each["role"] == "free"]
    assert "no record_stream has told it of stream 1" in released
    assert "record_stream" in finding["contract"]["text"]


@pytest.mark.parametrize(("what", "needless"), [("told_needlessly", True), ("told_for_a_reason", False)])
def test_record_stream_of_a_block_whose_streams_have_joined(
    builds: Builds, tmp_path: Path, what: str, needless: bool
) -> None:
    """Within the release the allocator records an event, which the trace has beside the block."""
    lines = {text.rpartition("// ")[2]: number for number, text in enumerate(PROGRAM.splitlines(), 1)}
    ran = builds.run(tmp_path, what)
    found = [each for each in ran.report["findings"] if "record_stream" in each["message"]]
    assert (ran.loud, ran.problems, ran.errors) == (set(), [], "")
    assert [(each["code"], each["severity"], each["location"]["line"]) for each in found] == [
        ("SS504", "note", lines["given back"])
    ] * needless
    for each in found:
        assert {one["line"] for one in each["related"] if one["role"] == "alloc"} == {lines["handed out"]}
        assert f"leave out `record_stream` of the tensor of line {lines['handed out']}" in each["fix"]["summary"]
        assert each["properties"]["instances"] == 3


@pytest.mark.parametrize(
    "what",
    [
        "prefetch_right",
        "replay_right",
        "beside",
        "private_prefetch_right",
        "private_input_right",
        "in_turns",
        "dropped_inside",
    ],
)
def test_right_programs(builds: Builds, tmp_path: Path, what: str) -> None:
    """`beside`: the end of a block is where the next one begins, which has another owner by then.

    `in_turns`, `dropped_inside`: what a capture allocated or freed stays the graph's, whoever else has it of the pool.
    """
    ran = builds.run(tmp_path, what)
    assert ran.loud == set(), ran.report["findings"]
    assert (ran.problems, ran.errors) == ([], "")


@pytest.mark.parametrize(("what", "blocks"), [("prefetch_wrong", 2), ("beside", 0), ("replay_right", 0)])
def test_blocks_are_overwritten_before_their_next_owners_first_use(
    builds: Builds, tmp_path: Path, what: str, blocks: int
) -> None:
    """`beside`: one block ends where the other begins. `replay_right`: no block has a second owner."""
    ran = builds.run(tmp_path, what, None, "--poison")
    (line,) = ran.problems
    assert f"0 allocations when freed and {blocks} blocks of pools" in line
    assert ("1: the pointer may be the end" in line) == (what == "beside")
    assert (ran.status, ran.errors) == (0, "")


def test_what_is_said_not_to_be_seen_leaves_out_what_is(
    builds: Builds, fake_device: FakeDevice, tmp_path: Path
) -> None:
    def said(report: dict[str, Any]) -> set[str]:
        return {each["message"] for each in report["summary"]["problems"]} & {NOT_SEEN, NOT_SEEN_BESIDE_BLOCKS}

    assert said(builds.run(tmp_path, "beside").report) == {NOT_SEEN_BESIDE_BLOCKS}
    assert said(fake_device.run(tmp_path, [fake_device.programs, "use_after_free_wrong"]).report) == {NOT_SEEN}


@pytest.mark.deep
def test_a_version_that_does_not_tell_of_pools_is_heard_until_a_graph_is_captured(
    builds: Builds, tmp_path: Path
) -> None:
    older = builds.library("older", "-DTELLS_NO_POOL")
    assert builds.run(tmp_path, "prefetch_wrong", older).loud == expected("SS105")
    ran = builds.run(tmp_path, "replay_wrong", older)
    assert ran.loud == set()
    assert "from the first capture of a graph on" in ran.errors


@pytest.mark.parametrize(
    ("variable", "line"),
    [
        ("TORCH_IS_PLUGGABLE", "it is one of the program's own"),
        ("TORCH_TELLS_OTHERWISE", "in a way that is not known"),
    ],
)
def test_an_allocator_that_is_not_understood_is_left_alone(
    builds: Builds, tmp_path: Path, variable: str, line: str
) -> None:
    ran = builds.run(tmp_path, "prefetch_wrong", **{variable: "1"})
    assert ran.status == 0
    assert not [mark for mark in ran.loud if mark[1] == "SS105"]
    assert line in ran.errors


@pytest.mark.parametrize(
    "closed", [pytest.param("", id="open"), pytest.param("-Wl,-z,now,-z,relro", id="closed", marks=pytest.mark.deep)]
)
def test_a_stripped_library_is_heard_by_what_it_tells_profilers(builds: Builds, tmp_path: Path, closed: str) -> None:
    """`closed`: the loader has bound all functions, and closed the place where the library finds them."""
    stripped = builds.library(f"stripped{closed}", "-s", *([closed] if closed else []))
    ran = builds.run(tmp_path, "prefetch_wrong", stripped)
    alone = builds.device.alone("prefetch_wrong", program=builds.program, LD_LIBRARY_PATH=builds.libraries(stripped))
    assert (ran.status, ran.output) == (alone.returncode, alone.stdout)
    assert ran.loud == expected("SS105"), ran.report["findings"]
    assert "recorded without their streams" in ran.errors
    if closed:
        return
    assert builds.run(tmp_path, "private_prefetch_right", stripped).loud == set()
    ran = builds.run(tmp_path, "replay_wrong", stripped)
    assert ran.loud == set()
    assert "from the first capture of a graph on" in ran.errors


@pytest.mark.deep
def test_a_stripped_library_that_tells_profilers_nothing_is_said_to_be_unknown(builds: Builds, tmp_path: Path) -> None:
    ran = builds.run(tmp_path, "prefetch_wrong", builds.library("silent", "-s", "-DTELLS_NO_PROFILER"))
    assert ran.status == 0
    assert not ran.loud
    assert "it is not known in this build" in ran.errors


def test_a_pool_that_graphs_allocate_from_is_left_to_them(builds: Builds, tmp_path: Path) -> None:
    """A tensor of the program's own in it has another owner when the graph reads it: nobody can tell which one."""
    ran = builds.run(tmp_path, "graphs_pool")
    assert ran.loud == set(), ran.report["findings"]
    assert (ran.problems, ran.errors) == ([], "")
