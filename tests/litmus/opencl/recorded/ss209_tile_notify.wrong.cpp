// Ray tiles: worker renders, an event callback wakes the compositor thread.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

static void ok(cl_int e, int line) { if (e) { std::fprintf(stderr, "cl error %d, line %d\n", e, line); std::_Exit(3); } }
#define OK(x) ok((x), __LINE__)

constexpr int TILES = 8, TILE = 4096;

struct Renderer {
    cl_context ctx; cl_device_id dev; cl_command_queue render, fetch; cl_kernel k;
    std::mutex m; std::condition_variable cv; std::queue<int> finished;
    cl_mem tile[TILES];
    std::vector<int> image = std::vector<int>(TILES * TILE);
    Renderer();
    ~Renderer();
};

struct Note { Renderer *r; int tile; };

static const char *src =
    "__kernel void shade(__global int *out, int tile) {\n"
    "  int i = get_global_id(0), v = i + tile * 4096; for (int k = 0; k < 64; k++) v = (v * 5 + 3) % 65521; out[i] = v; }\n";

Renderer::Renderer()
{
    cl_platform_id p; cl_int e;
    OK(clGetPlatformIDs(1, &p, nullptr));
    OK(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &dev, nullptr));
    ctx = clCreateContext(nullptr, 1, &dev, nullptr, nullptr, &e); OK(e);
    render = clCreateCommandQueue(ctx, dev, 0, &e); OK(e);
    fetch = clCreateCommandQueue(ctx, dev, 0, &e); OK(e);
    cl_program pr = clCreateProgramWithSource(ctx, 1, &src, nullptr, &e); OK(e);
    OK(clBuildProgram(pr, 1, &dev, "", nullptr, nullptr));
    k = clCreateKernel(pr, "shade", &e); OK(e);
    OK(clReleaseProgram(pr));
    for (auto &t : tile) { t = clCreateBuffer(ctx, CL_MEM_WRITE_ONLY, TILE * sizeof(int), nullptr, &e); OK(e); }
}

Renderer::~Renderer()
{
    for (auto t : tile) clReleaseMemObject(t);
    clReleaseKernel(k); clReleaseCommandQueue(render); clReleaseCommandQueue(fetch); clReleaseContext(ctx);
}

static void fetch_tile(Renderer &r, int t)
{
    OK(clEnqueueReadBuffer(r.fetch, r.tile[t], CL_TRUE, 0, TILE * sizeof(int), &r.image[t * TILE], 0, nullptr, nullptr)); // expect: SS209
}

static void CL_CALLBACK rendered(cl_event, cl_int status, void *user)
{
    Note *n = static_cast<Note *>(user);
    OK(status);
    fetch_tile(*n->r, n->tile);
    std::lock_guard<std::mutex> g(n->r->m);
    n->r->finished.push(n->tile);
    n->r->cv.notify_one();
}

static void compositor(Renderer &r)
{
    for (int got = 0; got < TILES; ++got) {
        std::unique_lock<std::mutex> g(r.m);
        r.cv.wait(g, [&] { return !r.finished.empty(); });
        int t = r.finished.front();
        r.finished.pop();
        g.unlock();
        std::fprintf(stderr, "tile %d: %d\n", t, r.image[t * TILE]);
    }
}

int main()
{
    Renderer r;
    std::vector<Note> notes(TILES);
    std::thread comp(compositor, std::ref(r));
    for (int t = 0; t < TILES; ++t) {
        std::size_t g = TILE; cl_event ev;
        notes[t] = Note{&r, t};
        OK(clSetKernelArg(r.k, 0, sizeof(cl_mem), &r.tile[t]));
        OK(clSetKernelArg(r.k, 1, sizeof t, &t));
        OK(clEnqueueNDRangeKernel(r.render, r.k, 1, nullptr, &g, nullptr, 0, nullptr, &ev));
        OK(clSetEventCallback(ev, CL_COMPLETE, rendered, &notes[t]));
        OK(clReleaseEvent(ev));
    }
    OK(clFlush(r.render));
    comp.join();
    int bad = 0;
    for (int i = 0; i < TILES * TILE; ++i) {
        int v = i;
        for (int k = 0; k < 64; ++k) v = (v * 5 + 3) % 65521;
        bad += v != r.image[i];
    }
    std::puts(bad ? "tiles wrong" : "ok");
    return bad != 0;
}
