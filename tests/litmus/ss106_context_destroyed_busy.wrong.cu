// A plugin with its own driver context destroys it at shutdown while its stream is still busy.
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

static void must(CUresult result, const char* what)
{
    if (result != CUDA_SUCCESS) {
        const char* name = "?";
        cuGetErrorName(result, &name);
        fprintf(stderr, "%s: %s\n", what, name);
        exit(1);
    }
}
#define MUST(call) must(call, #call)

struct Plugin {
    CUdevice device;
    CUcontext context;
    CUstream stream;
    CUdeviceptr scratch;
};

static void plugin_open(Plugin* plugin, size_t bytes)
{
    MUST(cuDeviceGet(&plugin->device, 0));
#if CUDA_VERSION >= 13000
    MUST(cuCtxCreate(&plugin->context, NULL, 0, plugin->device));
#else
    MUST(cuCtxCreate(&plugin->context, 0, plugin->device));
#endif
    MUST(cuStreamCreate(&plugin->stream, CU_STREAM_NON_BLOCKING));
    MUST(cuMemAlloc(&plugin->scratch, bytes));
}

static void plugin_clear(Plugin* plugin, size_t bytes)
{
    MUST(cuMemsetD8Async(plugin->scratch, 0, bytes, plugin->stream));
}

static void plugin_close(Plugin* plugin)
{
    MUST(cuCtxDestroy(plugin->context));  // expect: SS106
}

int main()
{
    const size_t bytes = 64 << 20;
    Plugin plugin;
    MUST(cuInit(0));
    plugin_open(&plugin, bytes);
    for (int i = 0; i < 4; ++i) plugin_clear(&plugin, bytes);
    plugin_close(&plugin);
    return 0;
}
