#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define MUST(call)                                                                              \
    do {                                                                                        \
        const cudaError_t status = (call);                                                      \
        if (status != cudaSuccess) {                                                            \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(2);                                                                       \
        }                                                                                       \
    } while (0)

struct Vec {
    float x, y;
};

struct Bird {
    Vec at;
    Vec speed;
    int hue;
};

__global__ void fly(Bird* birds, int count, float dt, long long cycles) {
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        birds[i].at.x += birds[i].speed.x * dt;
        birds[i].at.y += birds[i].speed.y * dt;
    }
}

__global__ void draw(const Bird* birds, float* pixels, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) pixels[i] = birds[i].at.y < 0.0f ? 0.0f : birds[i].at.y;
}

__global__ void tint(Bird* birds, int count, int hue) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) birds[i].hue = hue;
}

class Flock {
public:
    explicit Flock(int count) : count_(count), start_(count) {
        for (int i = 0; i < count; ++i) start_[i] = {{0.0f, static_cast<float>(i % 7)}, {1.0f, 2.0f}, 0};
        MUST(cudaStreamCreateWithFlags(&physics_, cudaStreamNonBlocking));
        MUST(cudaStreamCreateWithFlags(&render_, cudaStreamNonBlocking));
        MUST(cudaEventCreateWithFlags(&moved_, cudaEventDisableTiming));
        MUST(cudaEventCreateWithFlags(&drawn_, cudaEventDisableTiming));
        MUST(cudaMalloc(&birds_, sizeof(Bird) * count));
        MUST(cudaMalloc(&pixels_, sizeof(float) * count));
        MUST(cudaMemcpy(birds_, start_.data(), sizeof(Bird) * count, cudaMemcpyHostToDevice));
        MUST(cudaDeviceSynchronize());
    }
    Flock(const Flock&) = delete;
    Flock& operator=(const Flock&) = delete;
    ~Flock() {
        cudaFree(pixels_);
        cudaFree(birds_);
        cudaEventDestroy(drawn_);
        cudaEventDestroy(moved_);
        cudaStreamDestroy(render_);
        cudaStreamDestroy(physics_);
    }

    void frame() {
        MUST(cudaStreamWaitEvent(physics_, drawn_, 0));
        fly<<<blocks(), 128, 0, physics_>>>(birds_, count_, 0.5f, 20000000LL);
        MUST(cudaGetLastError());
        MUST(cudaEventRecord(moved_, physics_));
        // Colours are no part of where a bird is: they need no order with the flight.
        tint<<<blocks(), 128, 0, render_>>>(birds_, count_, ++hue_);
        MUST(cudaGetLastError());
        MUST(cudaStreamWaitEvent(render_, moved_, 0));
        draw<<<blocks(), 128, 0, render_>>>(birds_, pixels_, count_);
        MUST(cudaGetLastError());
        MUST(cudaEventRecord(drawn_, render_));
    }

    int wrong_pixels(int frames) {
        std::vector<float> seen(count_);
        MUST(cudaStreamSynchronize(physics_));
        MUST(cudaStreamSynchronize(render_));
        MUST(cudaMemcpy(seen.data(), pixels_, sizeof(float) * count_, cudaMemcpyDeviceToHost));
        int wrong = 0;
        for (int i = 0; i < count_; ++i) wrong += seen[i] != start_[i].at.y + static_cast<float>(frames);
        return wrong;
    }

private:
    int blocks() const { return (count_ + 127) / 128; }

    int count_;
    std::vector<Bird> start_;
    cudaStream_t physics_{}, render_{};
    cudaEvent_t moved_{}, drawn_{};
    Bird* birds_ = nullptr;
    float* pixels_ = nullptr;
    int hue_ = 0;
};

int main() {
    const int frames = 3;
    Flock flock(4096);
    for (int frame = 0; frame < frames; ++frame) flock.frame();
    const int wrong = flock.wrong_pixels(frames);
    std::printf("%d wrong pixels\n", wrong);
    return wrong != 0;
}
