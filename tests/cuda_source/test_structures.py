# ruff: noqa: E501 - programs under test stay as a person would type them
from __future__ import annotations

import pytest
from calls import calls_of, one
from reading import operations, reading_of, run_main

from streamsan.model.values import Pointer
from streamsan.vocabulary import AccessMode, NodeKind, SlotFlag

G = "float* d; cudaMalloc(&d, 4096); cudaGraph_t g; cudaGraphCreate(&g, 0); cudaGraphNode_t n;"


def main(body: str) -> str:
    return f"\nint main() {{\n{body}\n}}\n"


@pytest.mark.parametrize(
    "declared",
    [
        "cudaMemsetParams p = {}; p.dst = d; p.elementSize = 4; p.width = 8; p.height = 1;",
        "cudaMemsetParams p = {0}; p.dst = d; p.elementSize = 4; p.width = 8; p.height = 1;",
        "cudaMemsetParams p; memset(&p, 0, sizeof p); p.dst = d; p.elementSize = 4; p.width = 8; p.height = 1;",
        "cudaMemsetParams p = {.dst = d, .pitch = 0, .value = 0, .elementSize = 4, .width = 8, .height = 1};",
        "cudaMemsetParams p{d, 0, 0, 4, 8, 1};",
        "struct cudaMemsetParams p = {d, 0, 0, 4, 8, 1};",
        "cudaMemsetParams q = {d, 0, 0, 4, 8, 1}; cudaMemsetParams p = q;",
        "cudaMemsetParams p; cudaMemsetParams q = {d, 0, 0, 4, 8, 1}; p = q;",
    ],
)
def test_a_structure_may_be_filled_in_any_way(tmp_path, monkeypatch, declared):
    made = one(
        calls_of(main(f"{G} {declared} cudaGraphAddMemsetNode(&n, g, nullptr, 0, &p);"), tmp_path, monkeypatch),
        "cudaGraphAddMemsetNode",
    )
    fields = dict(made.structures["pMemsetParams"])
    assert isinstance(fields.pop("dst"), Pointer)
    assert fields == {"pitch": 0, "value": 0, "elementSize": 4, "width": 8, "height": 1}


def test_structures_inside_classes_and_vectors(tmp_path, monkeypatch):
    text = f"""
struct Step {{ cudaHostNodeParams host{{}}; cudaMemcpy3DParms copy{{}}; }};
{
        main(f'''{G} std::vector<Step> steps(2); Step& last = steps[1]; float h[8];
last.copy.srcPtr = make_cudaPitchedPtr(h, 32, 8, 1); last.copy.dstPtr = make_cudaPitchedPtr(d, 32, 8, 1);
last.copy.extent = make_cudaExtent(32, 1, 1); last.copy.kind = cudaMemcpyHostToDevice;
cudaGraphAddMemcpyNode(&n, g, nullptr, 0, &steps[1].copy);''')
    }"""
    fields = one(calls_of(text, tmp_path, monkeypatch), "cudaGraphAddMemcpyNode").structures["pCopyParams"]
    assert (fields["extent.width"], fields["extent.depth"], fields["kind"], fields["srcPos.x"]) == (32, 1, 1, 0)
    assert isinstance(fields["dstPtr.ptr"], Pointer)


def test_only_the_member_that_counts_of_any_nodes_parameters(tmp_path, monkeypatch):
    body = f"{G} cudaGraphNodeParams p = {{cudaGraphNodeTypeMemset}}; p.memset.dst = d; p.memset.elementSize = 1; p.memset.width = 64; p.memset.height = 1; cudaGraphAddNode(&n, g, nullptr, nullptr, 0, &p);"
    fields = one(calls_of(main(body), tmp_path, monkeypatch), "cudaGraphAddNode").structures["nodeParams"]
    assert {name.partition(".")[0] for name in fields} == {"type", "memset"}


@pytest.mark.parametrize(
    ("list_", "count"),
    [
        ("&n", 1),
        ("all", 2),
        ("all + 1", 1),
        ("v.data()", 2),
        ("&v[1]", 1),
        ("a.data()", 2),
    ],
)
def test_lists_of_nodes(tmp_path, monkeypatch, list_, count):
    body = f"""{G} cudaGraphNode_t m, e; cudaGraphAddEmptyNode(&n, g, nullptr, 0); cudaGraphAddEmptyNode(&m, g, NULL, 0);
cudaGraphNode_t all[] = {{n, m}}; std::vector<cudaGraphNode_t> v; v.push_back(n); v.push_back(m); std::array<cudaGraphNode_t, 2> a = {{n, m}};
cudaGraphAddEmptyNode(&e, g, {list_}, {count});"""
    made = calls_of(main(body), tmp_path, monkeypatch)
    nodes = [call.outcome.outputs["pGraphNode"] for call in made if call.api == "cudaGraphAddEmptyNode"]
    given = made[-1].structures["pDependencies"]
    assert given == {
        str(i): node for i, node in enumerate(nodes[:2] if count == 2 else [nodes[0] if list_ == "&n" else nodes[1]])
    }


def test_a_kernels_arguments_behind_its_node(tmp_path, monkeypatch):
    text = f"""
template <typename T> __global__ void scale(T* data, const T* by, int n) {{ int i = threadIdx.x; if (i < n) data[i] *= by[0]; }}
{
        main(f'''{G} float* by; cudaMalloc(&by, 4); int count = 7; void* args[] = {{&d, &by, &count}};
cudaKernelNodeParams p = {{}}; p.func = (void*)scale<float>; p.gridDim = dim3(2, 3); p.blockDim = dim3(64); p.kernelParams = args;
cudaGraphAddKernelNode(&n, g, nullptr, 0, &p);''')
    }"""
    made = one(calls_of(text, tmp_path, monkeypatch), "cudaGraphAddKernelNode")
    assert [argument[1:3] for argument in made.kernel_arguments] == [
        (AccessMode.READ_WRITE, SlotFlag.TOUCHES),
        (AccessMode.READ, SlotFlag.TOUCHES),
    ]
    fields = made.structures["pNodeParams"]
    assert (fields["gridDim.x"], fields["gridDim.y"], fields["blockDim.x"]) == (2, 3, 64)


def test_what_get_params_gave_goes_back_without_arguments(tmp_path, monkeypatch):
    body = f"""{G} int count = 7; void* args[] = {{&d, &count}}; cudaKernelNodeParams p = {{}}; p.func = (void*)fill; p.gridDim = p.blockDim = dim3(1); p.kernelParams = args;
cudaGraphAddKernelNode(&n, g, nullptr, 0, &p); cudaKernelNodeParams q; cudaGraphKernelNodeGetParams(n, &q); q.gridDim.x = 8; cudaGraphKernelNodeSetParams(n, &q);"""
    made = one(calls_of(main(body), tmp_path, monkeypatch), "cudaGraphKernelNodeSetParams")
    assert made.kernel_arguments is None
    assert made.outcome.status == 0


def test_addresses_come_back_into_the_structure(tmp_path):
    body = f"""  {G} cudaGraphNode_t fill_, free_;
  cudaMemAllocNodeParams a = {{}}; a.bytesize = 256; a.poolProps.allocType = cudaMemAllocationTypePinned; a.poolProps.location.type = cudaMemLocationTypeDevice;
  cudaGraphAddMemAllocNode(&n, g, nullptr, 0, &a);
  float* mine = (float*)a.dptr;
  cudaMemsetParams m = {{mine, 0, 0, 1, 256, 1}};
  cudaGraphAddMemsetNode(&fill_, g, &n, 1, &m);
  cudaGraphAddMemFreeNode(&free_, g, &fill_, 1, mine);
  cudaGraphExec_t e; cudaGraphInstantiate(&e, g, 0);"""
    ops = run_main(body, tmp_path)
    made = next(op for op in ops if op.kind == "ALLOC" and op.line == 5)
    assert (made.label, made.size) == ("a.dptr", 256)
    nodes = [NodeKind(op.detail) for op in ops if op.kind == "GRAPH_NODE"]
    assert nodes == [NodeKind.ALLOC, NodeKind.MEMSET, NodeKind.FREE]
    assert [op.status for op in ops if op.kind == "FREE"] == [0]


def test_lists_come_back_in_two_calls(tmp_path, monkeypatch):
    body = f"""{G} cudaGraphNode_t m; cudaGraphAddEmptyNode(&n, g, nullptr, 0); cudaGraphAddEmptyNode(&m, g, &n, 1);
size_t count = 0; cudaGraphGetNodes(g, nullptr, &count); std::vector<cudaGraphNode_t> nodes(count); cudaGraphGetNodes(g, nodes.data(), &count);
for (size_t i = 0; i < count; ++i) cudaGraphDestroyNode(nodes[i]);"""
    made = calls_of(main(body), tmp_path, monkeypatch)
    destroyed = [call.arguments[0] for call in made if call.api == "cudaGraphDestroyNode"]
    assert destroyed == [call.outcome.outputs["pGraphNode"] for call in made if call.api == "cudaGraphAddEmptyNode"]


def test_capture_info_points_to_the_dependencies(tmp_path, monkeypatch):
    body = """cudaStream_t s; cudaStreamCreate(&s); float* d; cudaMalloc(&d, 64); cudaGraph_t g; cudaGraphNode_t n;
cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed); fill<<<1, 1, 0, s>>>(d, 1);
cudaStreamCaptureStatus status; cudaGraph_t into; const cudaGraphNode_t* before; size_t count;
cudaStreamGetCaptureInfo(s, &status, nullptr, &into, &before, nullptr, &count);
cudaGraphAddEmptyNode(&n, into, before, count);
cudaStreamUpdateCaptureDependencies(s, &n, nullptr, 1, cudaStreamSetCaptureDependencies);
cudaStreamEndCapture(s, &g);"""
    made = calls_of(main(body), tmp_path, monkeypatch)
    added = one(made, "cudaGraphAddEmptyNode")
    assert list(added.structures["pDependencies"]) == ["0"]
    assert (
        added.structures["pDependencies"]["0"]
        == one(made, "cudaStreamGetCaptureInfo").outcome.outputs["dependencies_out.0"]
    )
    assert [call.outcome.status for call in made] == [0] * len(made)


def test_the_graph_of_a_conditional_nodes_body(tmp_path, monkeypatch):
    body = f"""{G} cudaGraphConditionalHandle h; cudaGraphConditionalHandleCreate(&h, g, 1, cudaGraphCondAssignDefault);
cudaGraphNodeParams p = {{cudaGraphNodeTypeConditional}}; p.conditional.handle = h; p.conditional.type = cudaGraphCondTypeIf; p.conditional.size = 1;
cudaGraphAddNode(&n, g, nullptr, nullptr, 0, &p); cudaGraph_t body = p.conditional.phGraph_out[0]; cudaGraphNode_t m; cudaGraphAddEmptyNode(&m, body, nullptr, 0);"""
    made = calls_of(main(body), tmp_path, monkeypatch)
    given = one(made, "cudaGraphAddNode").outcome.outputs["nodeParams.conditional.phGraph_out.0"]
    assert one(made, "cudaGraphAddEmptyNode").arguments[1] == given


def test_numbers_behind_pointers(tmp_path, monkeypatch):
    body = """cudaMemPool_t pool; cudaDeviceGetDefaultMemPool(&pool, 0); uint64_t keep = 1 << 20; cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep);
cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed; cudaThreadExchangeStreamCaptureMode(&mode);"""
    made = calls_of(main(body), tmp_path, monkeypatch)
    assert one(made, "cudaMemPoolSetAttribute").structures["value"] == {"value": 1 << 20}
    assert one(made, "cudaThreadExchangeStreamCaptureMode").structures["mode"] == {"value": 2}


def test_kernels_of_a_module_are_known_by_the_name_asked_for(tmp_path):
    body = """  CUmodule m; CUfunction f; cuModuleLoad(&m, "k.cubin"); cuModuleGetFunction(&f, m, "advance");
  CUdeviceptr x; cuMemAlloc(&x, 64); void* args[] = {&x}; CUstream s; cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
  cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, s, args, nullptr);"""
    ops = run_main(body, tmp_path)
    assert [op.label for op in ops if op.kind == "LAUNCH"] == ["advance"]


def test_a_thousand_launches_are_few(tmp_path):
    body = f"  {G} cudaStream_t s; cudaStreamCreate(&s); cudaGraphExec_t e; cudaGraphInstantiate(&e, g, 0);\n  for (int i = 0; i < 1000; ++i) cudaGraphLaunch(e, s);\n  cudaFree(d);"
    ops = run_main(body, tmp_path)
    assert 2 <= sum(op.kind == "GRAPH_LAUNCH" for op in ops) <= 16


def test_a_structure_that_holds_itself_ends(tmp_path):
    assert operations(
        reading_of("\nstruct A { A a; int x; };\nint main() { A a = {}; A b{}; cudaFree(0); }\n", tmp_path).worlds[0]
    )
