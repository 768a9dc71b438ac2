// The demo takes no arguments. It frees the buffer when the result is back.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void invert(unsigned char* pixels, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) pixels[i] = 255 - pixels[i];
}

int main(int argc, char** argv)
{
    if (argv[0] == NULL || argv[1] != NULL) {
        fprintf(stderr, "no arguments, please\n");
        exit(1);
    }
    const int count = 1 << 20;
    std::vector<unsigned char> image(count, 7);
    unsigned char* pixels;
    cudaMalloc(&pixels, count);
    cudaMemcpy(pixels, image.data(), count, cudaMemcpyHostToDevice);
    invert<<<count / 256, 256>>>(pixels, count);
    cudaMemcpy(image.data(), pixels, count, cudaMemcpyDeviceToHost);
    cudaFree(pixels);
    printf("%d\n", image[0]);
    return 0;
}
