// Particles in managed memory. The host pushes them when a stream is idle that has
// nothing to do with the kernel that measures them.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CUDA(call)                                                                             \
    do {                                                                                       \
        cudaError_t error = (call);                                                            \
        if (error != cudaSuccess) {                                                            \
            std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(error));        \
            std::exit(2);                                                                      \
        }                                                                                      \
    } while (false)

constexpr int kParticles = 1 << 14, kSteps = 4;

struct Particle {
    float x, v;
};

class Particles {
public:
    Particles() { CUDA(cudaMallocManaged(&first_, kParticles * sizeof(Particle))); }
    ~Particles() { cudaFree(first_); }
    Particle& operator[](int i) { return first_[i]; }
    const Particle* data() const { return first_; }

private:
    Particle* first_ = nullptr;
};

__global__ void measure(const Particle* particles, float* energy, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) energy[i] = particles[i].v * particles[i].v / 2;
}

int main() {
    Particles particles;
    for (int i = 0; i < kParticles; ++i) particles[i].x = particles[i].v = 0;
    float* energy;
    CUDA(cudaMalloc(&energy, kParticles * sizeof(float)));
    cudaStream_t work, other;
    CUDA(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    cudaEvent_t measured;
    CUDA(cudaEventCreateWithFlags(&measured, cudaEventDisableTiming));
    for (int step = 0; step < kSteps; ++step) {
        measure<<<kParticles / 256, 256, 0, work>>>(particles.data(), energy, kParticles);
        CUDA(cudaEventRecord(measured, work));
        CUDA(cudaStreamSynchronize(other));
        for (int i = 0; i < kParticles; ++i) particles[i].v += 0.5f;  // expect: SS108
    }
    CUDA(cudaStreamSynchronize(work));
    CUDA(cudaEventDestroy(measured));
    CUDA(cudaStreamDestroy(other));
    CUDA(cudaStreamDestroy(work));
    CUDA(cudaFree(energy));
    return 0;
}
