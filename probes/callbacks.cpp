// What CUPTI's callbacks look like from inside: an injection library that says each callback it gets, on standard error.
// Loaded by callbacks.sh into callbacks.cu through CUDA_INJECTION64_PATH.
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include <cuda.h>
#include <cupti.h>
#include <unistd.h>

static bool ready = false;
static pid_t first = 0;
static thread_local bool inside = false;

static void on_log(void*, CUlogLevel, char* message, size_t length)
{
    if (!inside) std::fprintf(stderr, "I | log | %.*s\n", static_cast<int>(length), message);
}

static void ask_about_launch(const CUpti_CallbackData& data)
{
    const auto& launch = *static_cast<const cuLaunchKernel_params*>(data.functionParams);
    size_t offset = 0, size = 0;
    CUstreamCaptureStatus capturing;
    std::fprintf(stderr, "I | launch | symbol %s, cuFuncGetParamInfo %d, cuKernelGetParamInfo %d, cuStreamIsCapturing %d\n",
                 data.symbolName, cuFuncGetParamInfo(launch.f, 0, &offset, &size),
                 cuKernelGetParamInfo(reinterpret_cast<CUkernel>(launch.f), 0, &offset, &size),
                 cuStreamIsCapturing(launch.hStream, &capturing));
}

static void list_nodes(const CUpti_CallbackData& data)
{
    const auto& call = *static_cast<const cuGraphInstantiateWithFlags_params*>(data.functionParams);
    CUgraphNode nodes[16];
    size_t count = 16;
    cuGraphGetNodes(call.hGraph, nodes, &count);
    for (size_t i = 0; i < count; ++i) std::fprintf(stderr, "I | instantiate | has node %p\n", static_cast<void*>(nodes[i]));
}

static void of_call(bool driver, const CUpti_CallbackData& data)
{
    const bool enter = data.callbackSite == CUPTI_API_ENTER;
    if (std::strstr(data.functionName, "GetAttribute") != nullptr || std::strstr(data.functionName, "GetName") != nullptr) return;
    std::fprintf(stderr, "I | %s | %s %s", driver ? "driver" : "runtime", enter ? "enter" : "exit", data.functionName);
    if (!enter) std::fprintf(stderr, ", status %d", *static_cast<const int*>(data.functionReturnValue));
    std::fprintf(stderr, ", context %s, process %s\n", data.context != nullptr ? "known" : "none",
                 getpid() == first ? "first" : "forked");
    if (!ready || !enter || !driver) return;
    if (std::strcmp(data.functionName, "cuLaunchKernel") == 0) ask_about_launch(data);
    if (std::strcmp(data.functionName, "cuGraphInstantiateWithFlags") == 0) list_nodes(data);
}

static void of_resource(CUpti_CallbackId id, const CUpti_ResourceData* data)
{
    if (id == CUPTI_CBID_RESOURCE_CU_INIT_FINISHED) {
        ready = true;
        CUlogsCallbackHandle handle;
        const CUresult status = cuLogsRegisterCallback(on_log, nullptr, &handle);
        std::fprintf(stderr, "I | resource | initialised, data %s, cuLogsRegisterCallback %d\n", data ? "given" : "NULL", status);
        return;
    }
    if (id == CUPTI_CBID_RESOURCE_MODULE_PROFILED || id == CUPTI_CBID_RESOURCE_MODULE_LOADED || data == nullptr) return;
    std::fprintf(stderr, "I | resource | id %u", id);
    if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED || id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
        const auto& graph = *static_cast<const CUpti_GraphData*>(data->resourceDescriptor);
        std::fprintf(stderr, ", node %p, of node %p", static_cast<void*>(graph.node), static_cast<void*>(graph.originalNode));
    }
    std::fprintf(stderr, "\n");
}

static void CUPTIAPI on_callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data)
{
    if (inside) return;
    inside = true;
    if (domain == CUPTI_CB_DOMAIN_RESOURCE) of_resource(id, static_cast<const CUpti_ResourceData*>(data));
    else of_call(domain == CUPTI_CB_DOMAIN_DRIVER_API, *static_cast<const CUpti_CallbackData*>(data));
    inside = false;
}

extern "C" __attribute__((visibility("default"))) int InitializeInjection()
{
    CUpti_SubscriberHandle subscriber;
    first = getpid();
    if (cuptiSubscribe(&subscriber, on_callback, nullptr) != CUPTI_SUCCESS) return 0;
    for (const auto domain : {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_RESOURCE}) {
        cuptiEnableDomain(1, subscriber, domain);
    }
    return 1;
}
