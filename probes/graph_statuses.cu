// What calls return while a stream captures, and what graphs with memory nodes refuse. One row for each case: the status
// of the call, and what became of the capture.
// Build and run: sh probes/graph_statuses.sh
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        cudaError_t status_ = (call);                                                                        \
        if (status_ != cudaSuccess) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status_)); \
            std::exit(2);                                                                                    \
        }                                                                                                    \
    } while (0)

__global__ void touch(int* p) { p[0] += 1; }

static const char* name(cudaError_t status) { return cudaGetErrorName(status) + 9; }  // less "cudaError"

static const char* shown(cudaError_t status) { return status == cudaSuccess ? "Success" : name(status); }

/// What a case may use. Everything but the capture was made before it began.
struct Bench {
    cudaStream_t capturing, other, blocking;
    cudaEvent_t captured, recorded, fresh;
    int *plain, *victim, *pooled, *host, *host_victim, *heap;
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    cudaMemPool_t pool;
};

struct Case {
    const char* what;
    std::function<cudaError_t(Bench&)> call;
    bool legacy = false;  ///< the capturing stream must be a blocking one
};

static std::vector<Case> cases() {
    static void* out;
    return {
        {"cudaStreamSynchronize(capturing)", [](Bench& b) { return cudaStreamSynchronize(b.capturing); }},
        {"cudaStreamQuery(capturing)", [](Bench& b) { return cudaStreamQuery(b.capturing); }},
        {"cudaEventSynchronize(captured)", [](Bench& b) { return cudaEventSynchronize(b.captured); }},
        {"cudaEventQuery(captured)", [](Bench& b) { return cudaEventQuery(b.captured); }},
        {"cudaEventElapsedTime(captured)", [](Bench& b) { float ms; return cudaEventElapsedTime(&ms, b.captured, b.captured); }},
        {"cudaDeviceSynchronize", [](Bench&) { return cudaDeviceSynchronize(); }},
        {"cudaStreamSynchronize(other)", [](Bench& b) { return cudaStreamSynchronize(b.other); }},
        {"cudaStreamQuery(other)", [](Bench& b) { return cudaStreamQuery(b.other); }},
        {"cudaEventSynchronize(other)", [](Bench& b) { return cudaEventSynchronize(b.recorded); }},
        {"cudaEventQuery(other)", [](Bench& b) { return cudaEventQuery(b.recorded); }},
        {"cudaMalloc", [](Bench&) { return cudaMalloc(&out, 256); }},
        {"cudaFree", [](Bench& b) { return cudaFree(b.victim); }},
        {"cudaFree(NULL)", [](Bench&) { return cudaFree(nullptr); }},
        {"cudaMallocHost", [](Bench&) { return cudaMallocHost(&out, 256); }},
        {"cudaFreeHost", [](Bench& b) { return cudaFreeHost(b.host_victim); }},
        {"cudaMallocManaged", [](Bench&) { return cudaMallocManaged(&out, 256); }},
        {"cudaMallocPitch", [](Bench&) { size_t pitch; return cudaMallocPitch(&out, &pitch, 64, 4); }},
        {"cudaHostRegister", [](Bench& b) { return cudaHostRegister(b.heap, 4096, 0); }},
        {"cudaMallocAsync(other)", [](Bench& b) { return cudaMallocAsync(&out, 256, b.other); }},
        {"cudaFreeAsync(pool memory, other)", [](Bench& b) { return cudaFreeAsync(b.pooled, b.other); }},
        {"cudaFreeAsync(pool memory, capturing)", [](Bench& b) { return cudaFreeAsync(b.pooled, b.capturing); }},
        {"cudaFreeAsync(cudaMalloc memory, capturing)", [](Bench& b) { return cudaFreeAsync(b.plain, b.capturing); }},
        {"cudaFree(pool memory)", [](Bench& b) { return cudaFree(b.pooled); }},
        {"cudaMemcpy H2D", [](Bench& b) { return cudaMemcpy(b.plain, b.heap, 256, cudaMemcpyHostToDevice); }},
        {"cudaMemcpy D2D", [](Bench& b) { return cudaMemcpy(b.plain, b.plain + 64, 64, cudaMemcpyDeviceToDevice); }},
        {"cudaMemset", [](Bench& b) { return cudaMemset(b.plain, 0, 256); }},
        {"cudaMemcpyAsync pageable, capturing", [](Bench& b) { return cudaMemcpyAsync(b.plain, b.heap, 256, cudaMemcpyHostToDevice, b.capturing); }},
        {"cudaMemcpyAsync D2H pageable, capturing", [](Bench& b) { return cudaMemcpyAsync(b.heap, b.plain, 256, cudaMemcpyDeviceToHost, b.capturing); }},
        {"cudaMemsetAsync(other)", [](Bench& b) { return cudaMemsetAsync(b.plain, 0, 256, b.other); }},
        {"launch on the legacy stream, capture on a non-blocking stream", [](Bench& b) { touch<<<1, 1, 0, cudaStreamLegacy>>>(b.plain); return cudaGetLastError(); }},
        {"launch on the legacy stream, capture on a blocking stream", [](Bench& b) { touch<<<1, 1, 0, cudaStreamLegacy>>>(b.plain); return cudaGetLastError(); }, true},
        {"cudaMemcpy, capture on a blocking stream", [](Bench& b) { return cudaMemcpy(b.plain, b.heap, 256, cudaMemcpyHostToDevice); }, true},
        {"cudaStreamSynchronize(legacy), capture on a blocking stream", [](Bench&) { return cudaStreamSynchronize(cudaStreamLegacy); }, true},
        {"cudaStreamQuery(legacy), capture on a blocking stream", [](Bench&) { return cudaStreamQuery(cudaStreamLegacy); }, true},
        {"cudaEventRecord(legacy), capture on a blocking stream", [](Bench& b) { return cudaEventRecord(b.fresh, cudaStreamLegacy); }, true},
        {"launch on another blocking stream, capture on a blocking stream", [](Bench& b) { touch<<<1, 1, 0, b.blocking>>>(b.plain); return cudaGetLastError(); }, true},
        {"cudaStreamWaitEvent(capturing, event from outside)", [](Bench& b) { return cudaStreamWaitEvent(b.capturing, b.recorded, 0); }},
        {"cudaStreamWaitEvent(capturing, event never recorded)", [](Bench& b) { return cudaStreamWaitEvent(b.capturing, b.fresh, 0); }},
        {"cudaStreamWaitEvent(capturing, event from outside, external)", [](Bench& b) { return cudaStreamWaitEvent(b.capturing, b.recorded, cudaEventWaitExternal); }},
        {"cudaEventRecordWithFlags(fresh, capturing, external)", [](Bench& b) { return cudaEventRecordWithFlags(b.fresh, b.capturing, cudaEventRecordExternal); }},
        {"cudaStreamWaitEvent(legacy, captured), capture on a blocking stream", [](Bench& b) { return cudaStreamWaitEvent(cudaStreamLegacy, b.captured, 0); }, true},
        {"cudaStreamBeginCapture(capturing)", [](Bench& b) { return cudaStreamBeginCapture(b.capturing, cudaStreamCaptureModeGlobal); }},
        {"cudaStreamBeginCapture(legacy)", [](Bench&) { return cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeGlobal); }},
        {"cudaStreamEndCapture(other)", [](Bench& b) { cudaGraph_t g; return cudaStreamEndCapture(b.other, &g); }},
        {"cudaStreamDestroy(capturing)", [](Bench& b) { return cudaStreamDestroy(b.capturing); }},
        {"cudaStreamCreate", [](Bench&) { cudaStream_t s; return cudaStreamCreate(&s); }},
        {"cudaEventCreate", [](Bench&) { cudaEvent_t e; return cudaEventCreate(&e); }},
        {"cudaEventDestroy(captured)", [](Bench& b) { return cudaEventDestroy(b.captured); }},
        {"cudaGraphInstantiate", [](Bench& b) { cudaGraphExec_t e; return cudaGraphInstantiate(&e, b.graph, 0); }},
        {"cudaGraphLaunch(other)", [](Bench& b) { return cudaGraphLaunch(b.exec, b.other); }},
        {"cudaGraphLaunch(capturing)", [](Bench& b) { return cudaGraphLaunch(b.exec, b.capturing); }},
        {"cudaGraphUpload(other)", [](Bench& b) { return cudaGraphUpload(b.exec, b.other); }},
        {"cudaLaunchHostFunc(capturing)", [](Bench& b) { return cudaLaunchHostFunc(b.capturing, [](void*) {}, nullptr); }},
        {"cudaStreamAddCallback(capturing)", [](Bench& b) { return cudaStreamAddCallback(b.capturing, [](cudaStream_t, cudaError_t, void*) {}, nullptr, 0); }},
        {"cudaStreamAttachMemAsync(capturing)", [](Bench& b) { return cudaStreamAttachMemAsync(b.capturing, b.plain, 0, cudaMemAttachSingle); }},
        {"cudaMemPrefetchAsync(cudaMalloc memory, capturing)", [](Bench& b) { return cudaMemPrefetchAsync(b.plain, 256, cudaMemLocation{cudaMemLocationTypeDevice, 0}, 0, b.capturing); }},
        {"cudaMemGetInfo", [](Bench&) { size_t a, c; return cudaMemGetInfo(&a, &c); }},
        {"cudaPointerGetAttributes", [](Bench& b) { cudaPointerAttributes a; return cudaPointerGetAttributes(&a, b.plain); }},
        {"cudaMemPoolCreate", [](Bench&) { cudaMemPool_t p; cudaMemPoolProps props{}; props.allocType = cudaMemAllocationTypePinned; props.location = {cudaMemLocationTypeDevice, 0}; return cudaMemPoolCreate(&p, &props); }},
        {"cudaMemPoolTrimTo", [](Bench& b) { return cudaMemPoolTrimTo(b.pool, 0); }},
        {"cudaDeviceGraphMemTrim", [](Bench&) { return cudaDeviceGraphMemTrim(0); }},
        {"cudaDeviceSetLimit", [](Bench&) { return cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 1 << 21); }},
        {"cudaFuncGetAttributes", [](Bench&) { cudaFuncAttributes a; return cudaFuncGetAttributes(&a, touch); }},
        {"cudaGetLastError", [](Bench&) { return cudaGetLastError(); }},
        {"cudaDeviceReset", [](Bench&) { return cudaDeviceReset(); }},
    };
}

static Bench make(bool legacy) {
    Bench b{};
    CHECK(legacy ? cudaStreamCreate(&b.capturing) : cudaStreamCreateWithFlags(&b.capturing, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&b.other, cudaStreamNonBlocking));
    CHECK(cudaStreamCreate(&b.blocking));
    CHECK(cudaEventCreate(&b.captured));
    CHECK(cudaEventCreate(&b.recorded));
    CHECK(cudaEventCreate(&b.fresh));
    CHECK(cudaMalloc(&b.plain, 4096));
    CHECK(cudaMalloc(&b.victim, 4096));
    CHECK(cudaMallocAsync(&b.pooled, 4096, b.other));
    CHECK(cudaMallocHost(&b.host, 4096));
    CHECK(cudaMallocHost(&b.host_victim, 4096));
    b.heap = static_cast<int*>(aligned_alloc(4096, 8192));
    CHECK(cudaEventRecord(b.recorded, b.other));
    CHECK(cudaDeviceGetDefaultMemPool(&b.pool, 0));
    CHECK(cudaGraphCreate(&b.graph, 0));
    cudaGraphNode_t node;
    CHECK(cudaGraphAddEmptyNode(&node, b.graph, nullptr, 0));
    CHECK(cudaGraphInstantiate(&b.exec, b.graph, 0));
    CHECK(cudaDeviceSynchronize());
    return b;
}

/// Each case in a process of its own: some of them may not come back.
static void capture_case(std::size_t chosen) {
    const cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed};
    const char* mode_names[] = {"global", "thread-local", "relaxed"};
    const std::vector<Case> all = cases();
    if (chosen < all.size()) {
        const Case& each = all[chosen];
        std::string row;
        for (int mode = 0; mode < 3; ++mode) {
            for (bool elsewhere : {false, true}) {
                Bench b = make(each.legacy);
                CHECK(cudaStreamBeginCapture(b.capturing, modes[mode]));
                touch<<<1, 1, 0, b.capturing>>>(b.plain);
                CHECK(cudaEventRecord(b.captured, b.capturing));
                cudaError_t status = cudaSuccess;
                const auto call = [&] { status = each.call(b); cudaGetLastError(); };
                if (elsewhere) {
                    std::thread(call).join();
                } else {
                    call();
                }
                cudaStreamCaptureStatus after = cudaStreamCaptureStatusNone;
                const cudaError_t asked = cudaStreamIsCapturing(b.capturing, &after);
                cudaGraph_t graph = nullptr;
                const cudaError_t end = cudaStreamEndCapture(b.capturing, &graph);
                cudaGetLastError();
                char cell[200];
                std::snprintf(cell, sizeof cell, " %s%s: %s, %s, end %s;", mode_names[mode], elsewhere ? " (other thread)" : "", shown(status),
                              asked != cudaSuccess                               ? "gone"
                              : after == cudaStreamCaptureStatusActive           ? "active"
                              : after == cudaStreamCaptureStatusInvalidated      ? "invalidated"
                                                                                 : "none",
                              shown(end));
                row += cell;
                cudaDeviceSynchronize();
                cudaGetLastError();
            }
        }
        std::printf("C | %s |%s\n", each.what, row.c_str());
        std::fflush(stdout);
    }
}

static void say(const char* what, cudaError_t status) {
    std::printf("M | %s | %s\n", what, shown(status));
    cudaGetLastError();
}

static cudaGraph_t memory_graph(cudaStream_t s, int** p, bool freed) {
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync(p, 4 << 20, s));
    touch<<<1, 1, 0, s>>>(*p);
    if (freed) CHECK(cudaFreeAsync(*p, s));
    CHECK(cudaStreamEndCapture(s, &graph));
    return graph;
}

static size_t used() {
    size_t value = 0;
    CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &value));
    return value >> 20;
}

static void ends_of_captures() {
    cudaStream_t s, t;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    cudaEvent_t e;
    CHECK(cudaEventCreate(&e));
    int* p;
    CHECK(cudaMalloc(&p, 4096));
    cudaGraph_t g = nullptr;
    say("EndCapture of a stream that does not capture", cudaStreamEndCapture(s, &g));
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(e, s));
    CHECK(cudaStreamWaitEvent(t, e, 0));
    touch<<<1, 1, 0, t>>>(p);
    say("EndCapture on a stream that joined", cudaStreamEndCapture(t, &g));
    say("... then on the origin", cudaStreamEndCapture(s, &g));
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(e, s));
    CHECK(cudaStreamWaitEvent(t, e, 0));
    touch<<<1, 1, 0, t>>>(p);
    say("EndCapture with unjoined work", cudaStreamEndCapture(s, &g));
    say("... a launch on the other stream afterwards", (touch<<<1, 1, 0, t>>>(p), cudaGetLastError()));
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(e, s));
    CHECK(cudaStreamWaitEvent(t, e, 0));
    say("EndCapture with a stream that joined and did nothing", cudaStreamEndCapture(s, &g));
    for (auto mode : {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed}) {
        CHECK(cudaStreamBeginCapture(s, mode));
        touch<<<1, 1, 0, s>>>(p);
        cudaError_t status;
        std::thread([&] { status = cudaStreamEndCapture(s, &g); }).join();
        say("EndCapture on another thread (global, thread-local, relaxed)", status);
        cudaStreamEndCapture(s, &g);
        cudaGetLastError();
    }
    cudaStream_t u;
    CHECK(cudaStreamCreateWithFlags(&u, cudaStreamNonBlocking));
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    CHECK(cudaStreamBeginCapture(u, cudaStreamCaptureModeGlobal));
    touch<<<1, 1, 0, s>>>(p);
    CHECK(cudaEventRecord(e, s));
    say("a capturing stream waits for an event of another capture", cudaStreamWaitEvent(u, e, 0));
    say("... EndCapture of the first", cudaStreamEndCapture(s, &g));
    say("... EndCapture of the second", cudaStreamEndCapture(u, &g));
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    touch<<<1, 1, 0, s>>>(p);
    CHECK(cudaEventRecord(e, s));
    CHECK(cudaStreamEndCapture(s, &g));
    say("waiting for an event that was captured, after the capture ended", cudaStreamWaitEvent(t, e, 0));
    say("... querying it", cudaEventQuery(e));
    say("... synchronising on it", cudaEventSynchronize(e));
    say("cudaDeviceSynchronize at the end", cudaDeviceSynchronize());
}

static void memory_nodes() {
    cudaStream_t s, t;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    int *p, *q;
    cudaGraphExec_t exec, second;
    cudaGraph_t graph = memory_graph(s, &p, false), clone, parent;
    say("memset of graph memory before any instantiation", cudaMemsetAsync(p, 0, 64, s));
    say("cudaFreeAsync of it before any launch", cudaFreeAsync(p, s));
    say("cudaFree of it before any launch", cudaFree(p));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    say("second instantiation", cudaGraphInstantiate(&second, graph, 0));
    say("clone", cudaGraphClone(&clone, graph));
    CHECK(cudaGraphCreate(&parent, 0));
    cudaGraphNode_t node, nodes[8];
    say("as a child", cudaGraphAddChildGraphNode(&node, parent, nullptr, 0, graph));
    size_t count = 8;
    CHECK(cudaGraphGetNodes(graph, nodes, &count));
    say("destroying a memory node", cudaGraphDestroyNode(nodes[0]));
    cudaGraph_t freeing;
    CHECK(cudaStreamBeginCapture(t, cudaStreamCaptureModeGlobal));
    say("another graph captures cudaFreeAsync of it before its launch", cudaFreeAsync(p, t));
    CHECK(cudaStreamEndCapture(t, &freeing));
    CHECK(cudaGraphGetNodes(freeing, nullptr, &count));
    std::printf("M | ... nodes of that graph | %zu\n", count);
    cudaGraphExec_t freeing_exec;
    CHECK(cudaGraphInstantiate(&freeing_exec, freeing, 0));
    CHECK(cudaGraphLaunch(exec, s));
    say("relaunch with unfreed memory", cudaGraphLaunch(exec, s));
    CHECK(cudaStreamSynchronize(s));
    say("the other graph is launched", cudaGraphLaunch(freeing_exec, t));
    say("relaunch after that", cudaGraphLaunch(exec, s));
    say("cudaFreeAsync outside after that", cudaFreeAsync(p, s));
    say("... and again", cudaFreeAsync(p, s));
    say("the freeing graph once more", cudaGraphLaunch(freeing_exec, t));
    CHECK(cudaGraphExecDestroy(exec));
    say("instantiation after the first executable was destroyed", cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, s));
    cudaGraphExecUpdateResultInfo info;
    cudaGraph_t same = memory_graph(t, &q, false);
    say("update with memory nodes", cudaGraphExecUpdate(exec, same, &info));
    std::printf("M | ... result | %d\n", static_cast<int>(info.result));
    say("cudaDeviceSynchronize", cudaDeviceSynchronize());
    std::printf("M | used MiB with one allocation alive | %zu\n", used());
    say("cudaFree of graph memory", cudaFree(p));
    std::printf("M | used MiB then | %zu\n", used());
    CHECK(cudaGraphLaunch(exec, s));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaDeviceSynchronize());
    say("trim after destroying everything", cudaDeviceGraphMemTrim(0));
    std::printf("M | used MiB then | %zu\n", used());
    say("cudaFreeAsync of it after its graph is gone", cudaFreeAsync(p, s));
    CHECK(cudaDeviceSynchronize());
    std::printf("M | used MiB then | %zu\n", used());

    graph = memory_graph(s, &p, true);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, s));
    CHECK(cudaGraphLaunch(exec, s));
    say("memset after the free in the graph", cudaMemsetAsync(p, 0, 64, s));
    say("cudaFreeAsync after the free in the graph", cudaFreeAsync(p, s));
    CHECK(cudaStreamBeginCapture(t, cudaStreamCaptureModeGlobal));
    say("capturing its free in a second graph", cudaFreeAsync(p, t));
    say("... EndCapture", cudaStreamEndCapture(t, &freeing));
    int* pool;
    CHECK(cudaMallocAsync(&pool, 4096, s));
    CHECK(cudaStreamSynchronize(s));
    cudaGraph_t made;
    CHECK(cudaGraphCreate(&made, 0));
    say("free node of pool memory", cudaGraphAddMemFreeNode(&node, made, nullptr, 0, pool));
    say("free node of cudaMalloc memory", cudaMalloc(&q, 64) == cudaSuccess ? cudaGraphAddMemFreeNode(&node, made, nullptr, 0, q) : cudaErrorUnknown);
    cudaMemAllocNodeParams params{};
    params.poolProps.allocType = cudaMemAllocationTypePinned;
    params.poolProps.location = {cudaMemLocationTypeDevice, 0};
    params.bytesize = 1 << 20;
    cudaGraphNode_t alloc, free_one, free_two;
    CHECK(cudaGraphAddMemAllocNode(&alloc, made, nullptr, 0, &params));
    say("free node", cudaGraphAddMemFreeNode(&free_one, made, &alloc, 1, params.dptr));
    say("second free node", cudaGraphAddMemFreeNode(&free_two, made, &free_one, 1, params.dptr));
    cudaGraph_t unordered;
    CHECK(cudaGraphCreate(&unordered, 0));
    CHECK(cudaGraphAddMemAllocNode(&alloc, unordered, nullptr, 0, &params));
    say("free node not ordered after the allocation", cudaGraphAddMemFreeNode(&free_one, unordered, nullptr, 0, params.dptr));
    say("... instantiation", cudaGraphInstantiate(&exec, unordered, 0));
    say("removing an edge of a graph with memory nodes", cudaGraphRemoveDependencies(made, &alloc, &free_one, nullptr, 1));
    CHECK(cudaDeviceSynchronize());

    graph = memory_graph(s, &p, false);
    CHECK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    for (int i = 0; i < 3; ++i) say("launch with AutoFreeOnLaunch", cudaGraphLaunch(exec, s));
    say("cudaFreeAsync of its memory", cudaFreeAsync(p, s));
    say("destroying a graph twice", (cudaGraphDestroy(graph), cudaGraphDestroy(graph)));
    say("the end", cudaDeviceSynchronize());
}

int main(int argc, char** argv) {
    const std::string part = argc > 1 ? argv[1] : "";
    if (part == "count") {
        std::printf("%zu\n", cases().size());
        return 0;
    }
    CHECK(cudaFree(nullptr));
    if (part == "capture" && argc > 2) capture_case(std::strtoul(argv[2], nullptr, 10));
    if (part == "ends") ends_of_captures();
    if (part == "memory") memory_nodes();
    if (part.empty()) std::fprintf(stderr, "usage: graph_statuses count | capture N | ends | memory\n");
    return part.empty() ? 2 : 0;
}
