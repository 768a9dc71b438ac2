"""The names and places of stories: factories, helpers, threads, locals, rounds of loops."""

from __future__ import annotations

from pathlib import Path

from expectations import check_text
from streamsan.findings.finding import Finding
from streamsan.replay.replayed_findings import with_replays

PRELUDE = """\
#include <cuda_runtime.h>
#include <cstdio>
#include <thread>
#include <vector>
__global__ void fill(float* p, int n) { int i = threadIdx.x; if (i < n) p[i] = 1.0f; }
__global__ void sum(const float* p, float* out, int n) { int i = threadIdx.x; if (i < n) out[i] += p[i]; }
"""


def only(text: str, code: str, folder: Path) -> Finding:
    found = [finding for finding in check_text(PRELUDE + text, folder) if finding.code == code]
    assert len(found) == 1
    return found[0]


def line_of(text: str, part: str) -> int:
    """Return the line of the only place of a part of a program."""
    assert text.count(part) == 1
    return (PRELUDE + text)[: (PRELUDE + text).index(part)].count("\n") + 1


def said_at(finding: Finding, line: int) -> list[str]:
    return [related.message for related in finding.related if related.line == line]


# -- what a factory makes is called as who asked for it calls it ----------------------------------------------

FACTORY = """\
struct View { float* at = nullptr; int count = 0; };
View zeroed(int count, cudaStream_t stream) {
    View made;
    cudaMallocAsync(&made.at, count * sizeof(float), stream);
    cudaMemsetAsync(made.at, 0, count * sizeof(float), stream);
    made.count = count;
    return made;
}
void give_back(View& view, cudaStream_t stream) { cudaFreeAsync(view.at, stream); }
int main() {
    cudaStream_t stream, other;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    View weights = zeroed(256, stream);
    View bias = zeroed(256, stream);
    cudaStreamSynchronize(stream);
    sum<<<1, 256, 0, other>>>(bias.at, weights.at, 256);
    give_back(bias, stream);  // the free of bias
    cudaStreamSynchronize(other);
    give_back(weights, other);
    cudaStreamSynchronize(other);
    cudaStreamDestroy(other);
    cudaStreamDestroy(stream);
}
"""


def test_a_block_of_a_factory_is_named_after_the_variable_that_holds_it(tmp_path: Path) -> None:
    finding = only(FACTORY, "SS102", tmp_path)
    assert finding.message == "kernel `sum` may still be reading `bias.at` when it is freed"
    helper, call = line_of(FACTORY, "void give_back"), line_of(FACTORY, "// the free of bias")
    assert finding.witness[1].startswith(
        f"stream `stream` reaches `cudaFreeAsync` of `bias.at` (line {helper}, from line {call}) "
        "while stream `other` has not begun kernel `sum`"
    )
    assert said_at(finding, line_of(FACTORY, "View bias = ")) == ["(allocated from here in `main`)"]
    assert said_at(finding, call) == ["(reached from here in `main`)"]


def test_a_free_in_a_helper_shows_its_caller_where_the_use_is_reported(tmp_path: Path) -> None:
    text = FACTORY.replace("256);\n    give_back(bias", "256);\n    cudaDeviceSynchronize();\n    give_back(bias")
    text = text.replace(
        "// the free of bias\n", "// the free of bias\n    sum<<<1, 256, 0, stream>>>(bias.at, weights.at, 256);\n"
    )
    finding = only(text, "SS101", tmp_path)
    assert finding.message == "kernel `sum` uses `bias.at` after it was freed"
    assert said_at(finding, line_of(text, "// the free of bias")) == ["(freed from here in `main`)"]


def test_blocks_and_streams_of_one_place_have_names_of_their_own(tmp_path: Path) -> None:
    text = """\
float* block() { float* made; cudaMalloc(&made, 1024); return made; }
cudaStream_t queue() { cudaStream_t made; cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking); return made; }
int main() {
    cudaStream_t reader = queue(), writer = queue();
    std::vector<float*> parts;
    for (int i = 0; i < 2; ++i) parts.push_back(block());
    float* result = block();
    fill<<<1, 256, 0, writer>>>(parts[1], 256);
    sum<<<1, 256, 0, reader>>>(parts[1], result, 256);
    cudaDeviceSynchronize();
    cudaFree(result);
    for (float* part : parts) cudaFree(part);
    cudaStreamDestroy(writer);
    cudaStreamDestroy(reader);
}
"""
    finding = only(text, "SS109", tmp_path)
    assert finding.message == "kernel `sum` reads `parts[1]` while kernel `fill` may still be writing it"
    assert finding.witness[2].startswith(
        "stream `reader` runs kernel `sum` while stream `writer` has not begun kernel `fill`"
    )


def test_members_entries_and_globals_name_what_they_hold(tmp_path: Path) -> None:
    text = """\
#include <map>
#include <memory>
float* block() { void* made; cudaMalloc(&made, 1024); return static_cast<float*>(made); }
struct Layer { float* weights; Layer() : weights(block()) {} ~Layer() { cudaFree(weights); } };
float* shared;
void set_up() { shared = block(); }
void twice(float* p, cudaStream_t s, cudaStream_t t) {
    fill<<<1, 256, 0, s>>>(p, 256);
    cudaMemsetAsync(p, 0, 1024, t);
}
int main() {
    cudaStream_t s, t;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    WANTED
    cudaDeviceSynchronize();
    cudaStreamDestroy(t);
    cudaStreamDestroy(s);
}
"""
    for made, name in (
        ("auto layer = std::make_unique<Layer>(); twice(layer->weights, s, t);", "layer->weights"),
        ("std::map<int, float*> by; by[7] = block(); twice(by[7], s, t);", "by[7]"),
        ("set_up(); twice(shared, s, t);", "shared"),
        ("float* both[2] = {block(), block()}; twice(both[1], s, t);", "both[1]"),
    ):
        assert f"`{name}`" in only(text.replace("WANTED", made), "SS109", tmp_path).message


def test_a_variable_of_a_function_that_still_runs_keeps_its_name(tmp_path: Path) -> None:
    text = """\
void work(float* given, cudaStream_t where) { fill<<<1, 256, 0, where>>>(given, 256); }
int main() {
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    float* pixels;
    cudaMallocAsync(&pixels, 1024, stream);
    work(pixels, stream);
    cudaFree(pixels);
    cudaStreamDestroy(stream);
}
"""
    assert "`pixels`" in only(text, "SS102", tmp_path).message


# -- helpers that make nodes ----------------------------------------------------------------------------------


def test_nodes_of_one_helper_are_told_by_who_called_it(tmp_path: Path) -> None:
    text = """\
cudaGraphNode_t zero(cudaGraph_t graph, void* at, int value) {
    cudaMemsetParams wanted = {};
    wanted.dst = at;
    wanted.value = value;
    wanted.elementSize = 1;
    wanted.width = 1024;
    wanted.height = 1;
    cudaGraphNode_t node;
    cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &wanted);
    return node;
}
int main() {
    float* table;
    cudaMalloc(&table, 1024);
    cudaGraph_t graph;
    cudaGraphCreate(&graph, 0);
    zero(graph, table, 0);  // once
    zero(graph, table, 1);  // twice
    cudaGraphExec_t ready;
    cudaGraphInstantiate(&ready, graph, 0);
    cudaGraphLaunch(ready, 0);
    cudaDeviceSynchronize();
    cudaGraphExecDestroy(ready);
    cudaGraphDestroy(graph);
    cudaFree(table);
}
"""
    finding = only(text, "SS109", tmp_path)
    helper, once, twice = (line_of(text, part) for part in ("cudaGraphAddMemsetNode", "// once", "// twice"))
    step = finding.witness[1]
    assert f"(line {helper}, from line {twice}) runs while" in step
    assert f"(line {helper}, from line {once}) has not begun" in step
    assert f"of line {once} to" in step
    replayed = with_replays([finding])[0].properties["replay"]
    assert f"after the fill node (line {helper}, from line {once})" in str(replayed)
    assert said_at(finding, once) == ["(used from here in `main`: the fill (`cudaGraphAddMemsetNode`))"]
    assert said_at(finding, twice) == ["(reached from here in `main`: the fill (`cudaGraphAddMemsetNode`))"]


# -- host threads ---------------------------------------------------------------------------------------------

THREADS = """\
void produce(float* p) { fill<<<1, 256, 0, cudaStreamPerThread>>>(p, 256); }
int main() {
    float *data, *out;
    cudaMalloc(&data, 1024);
    cudaMalloc(&out, 1024);
    START
    sum<<<1, 256, 0, cudaStreamPerThread>>>(data, out, 256);
    cudaDeviceSynchronize();
    cudaFree(out);
    cudaFree(data);
}
"""


def test_a_lambda_s_thread_is_named_after_the_variable_that_holds_it(tmp_path: Path) -> None:
    text = THREADS.replace("START", "std::thread feeder([&] { produce(data); });\n    feeder.join();")
    finding = only(text, "SS109", tmp_path)
    assert finding.witness[0].startswith(
        "host thread `feeder` issues kernel `fill` to the per-thread default stream of `feeder`"
    )
    assert finding.witness[1].startswith("host thread `main` issues kernel `sum` to")
    other = "used here, in the order of the per-thread default stream of `feeder`"
    assert f"{other}: it writes all of `data` (from its source)" in {r.message for r in finding.related}
    own = "the per-thread default stream of `main`"
    assert said_at(finding, line_of(text, "sum<<<")) == [
        f"used here, in the order of {own}: it reads all of `data` (from its source); "
        f"nothing orders {own} after the kernel"
    ]


def test_a_thread_without_a_name_is_told_by_its_line(tmp_path: Path) -> None:
    start = "std::vector<std::thread> all;\n    all.emplace_back([&] { produce(data); });\n    all[0].join();"
    text = THREADS.replace("START", start)
    started = line_of(text, "all.emplace_back")
    assert only(text, "SS109", tmp_path).witness[0].startswith(f"the thread of line {started} issues kernel `fill`")


def test_two_threads_with_one_name_are_counted(tmp_path: Path) -> None:
    start = (
        "std::thread a(produce, data), b(produce, data);\n    a.join();\n    b.join();\n    cudaDeviceSynchronize();"
    )
    finding = only(THREADS.replace("START", start), "SS109", tmp_path)
    issued = [step.partition(" issues")[0] for step in finding.witness[:2]]
    assert issued == ["the first host thread `produce`", "the second host thread `produce`"]


# -- local memory ---------------------------------------------------------------------------------------------


def test_a_local_that_goes_out_of_scope_has_no_next_owner(tmp_path: Path) -> None:
    text = """\
struct Note { int number; };
void show(void* given) { std::printf("%d\\n", static_cast<Note*>(given)->number); }
void announce(int number, cudaStream_t stream) {
    Note note{number};
    cudaLaunchHostFunc(stream, show, &note);
}
int main() {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    announce(1, stream);
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
}
"""
    finding = only(text, "SS108", tmp_path)
    assert finding.message == "host function `show` may still be using `note` when it goes out of scope"
    assert finding.witness[0].startswith("the host issues host function `show` to stream `stream`")
    assert finding.witness[2:] == (
        "the place of `note` on the stack is used for something else",
        "the host function runs: it reads what is there now",
    )
    replayed = with_replays([finding])[0].properties["replay"]
    assert "next owner" not in str(replayed)


# -- the host's waits, and rounds of loops --------------------------------------------------------------------

RING = """\
int main() {
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    float *slots[2], *device;
    cudaEvent_t sent[2];
    cudaMalloc(&device, 1024);
    for (int i = 0; i < 2; ++i) {
        cudaMallocHost(&slots[i], 1024);
        cudaEventCreate(&sent[i]);
    }
    for (int round = 0; round < 6; ++round) {
        int i = round % 2;
        cudaEventSynchronize(sent[i]);
        slots[i][0] = round;  // written
        BODY
    }
    cudaStreamSynchronize(stream);
    for (int i = 0; i < 2; ++i) {
        cudaEventDestroy(sent[i]);
        cudaFreeHost(slots[i]);
    }
    cudaFree(device);
    cudaStreamDestroy(stream);
}
"""
SEND = "cudaMemcpyAsync(device, slots[i], 1024, cudaMemcpyHostToDevice, stream);"
RECORD = "cudaEventRecord(sent[i], stream);"


def test_a_host_wait_for_an_event_that_was_recorded_too_early_is_named(tmp_path: Path) -> None:
    text = RING.replace("BODY", f"{RECORD}\n        {SEND}")
    finding = only(text, "SS108", tmp_path)
    written, record = line_of(text, "// written"), line_of(text, RECORD)
    assert finding.witness[1] == (
        f"the host overwrites `slots[0]` (line {written}, two rounds later) while stream `stream` has not begun "
        f"the copy: the host has waited for stream `stream` only up to the event of line {record}, "
        "recorded before the copy"
    )


def test_the_same_ring_with_the_record_behind_the_copy_is_right(tmp_path: Path) -> None:
    text = PRELUDE + RING.replace("BODY", f"{SEND}\n        {RECORD}")
    assert not [finding for finding in check_text(text, tmp_path) if finding.code == "SS108"]


def test_a_host_wait_before_the_record_is_named(tmp_path: Path) -> None:
    text = """\
int main() {
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaEvent_t done;
    cudaEventCreate(&done);
    float *host, *device;
    cudaMalloc(&device, 1024);
    cudaMallocHost(&host, 1024);
    cudaMemcpyAsync(host, device, 1024, cudaMemcpyDeviceToHost, stream);
    cudaEventSynchronize(done);
    cudaEventRecord(done, stream);
    std::printf("%f", host[0]);
    cudaStreamSynchronize(stream);
    cudaEventDestroy(done);
    cudaFreeHost(host);
    cudaFree(device);
    cudaStreamDestroy(stream);
}
"""
    wait = line_of(text, "cudaEventSynchronize")
    gap = only(text, "SS108", tmp_path).witness[1]
    assert gap.endswith(f": the wait of line {wait} came before the event's record, and waits for nothing")


def test_a_kernel_that_overtakes_begins_after_the_one_before_it_has_begun(tmp_path: Path) -> None:
    text = """\
__global__ void first(float* p) { p[threadIdx.x] = 1.0f; cudaTriggerProgrammaticLaunchCompletion(); }
__global__ void second(const float* p, float* out) { out[threadIdx.x] = p[threadIdx.x]; }
int main() {
    float *p, *out;
    cudaMalloc(&p, 1024);
    cudaMalloc(&out, 1024);
    first<<<1, 256>>>(p);
    cudaLaunchAttribute wanted[1];
    wanted[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    wanted[0].val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t how = {};
    how.gridDim = dim3(1);
    how.blockDim = dim3(256);
    how.attrs = wanted;
    how.numAttrs = 1;
    cudaLaunchKernelEx(&how, second, (const float*)p, out);
    cudaDeviceSynchronize();
    cudaFree(out);
    cudaFree(p);
}
"""
    finding = only(text, "SS109", tmp_path)
    assert finding.witness[2].startswith(
        "the default stream begins kernel `second` while kernel `first` has not ended: "
    )
    assert (
        finding.witness[3]
        == "kernel `second` reads `p` before what kernel `first` writes there is complete and visible"
    )
