// A window's callback uploads the mouse's place, and clears what it uploaded while the copy may still read it.
#include <cuda_runtime.h>

struct Window;
extern "C" {
void windowSetCursorCallback(Window* window, void (*callback)(Window*, double, double));
Window* windowCreate(int width, int height);
int windowIsOpen(Window* window);
void windowPoll();
}

static cudaStream_t upload;
static float2* cursor;

__global__ void shade(uchar4* pixels, const float2* at, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) pixels[i].x = static_cast<unsigned char>(at->x);
}

static void moved(Window*, double x, double y)
{
    float2* place;
    cudaMallocHost(&place, sizeof(float2));
    *place = make_float2(static_cast<float>(x), static_cast<float>(y));
    cudaMemcpyAsync(cursor, place, sizeof(float2), cudaMemcpyHostToDevice, upload);
    *place = make_float2(0.0f, 0.0f);  // expect: SS108
    cudaStreamSynchronize(upload);
    cudaFreeHost(place);
}

int main()
{
    cudaStreamCreate(&upload);
    cudaMalloc(&cursor, sizeof(float2));
    Window* window = windowCreate(640, 480);
    windowSetCursorCallback(window, moved);
    while (windowIsOpen(window)) windowPoll();
    cudaStreamSynchronize(upload);
    cudaFree(cursor);
    cudaStreamDestroy(upload);
}
