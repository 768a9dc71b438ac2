#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define CHECKED(call)                                                                            \
    do {                                                                                         \
        if (cudaError_t status = (call)) {                                                       \
            std::fprintf(stderr, "%s failed: %s\n", #call, cudaGetErrorString(status));          \
            std::exit(2);                                                                        \
        }                                                                                        \
    } while (0)

struct Dose {
    int beam;
    int weight;
    int offset;
};

struct FreeManaged {
    void operator()(void* p) const { cudaFree(p); }
};

template <class T>
std::unique_ptr<T, FreeManaged> managed() {
    T* p = nullptr;
    CHECKED(cudaMallocManaged(&p, sizeof(T)));
    return std::unique_ptr<T, FreeManaged>(p);
}

__global__ void deposit(int* voxels, int count, const Dose* dose, long long cycles) {
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) voxels[i] += dose->weight * (i % 3) + dose->offset + dose->beam;
}

struct Plan {
    int beams = 4;
    int voxels = 2048;
};

class Treatment {
public:
    explicit Treatment(const Plan& plan) : plan_(plan), dose_(managed<Dose>()) {
        CHECKED(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        CHECKED(cudaMalloc(&voxels_, sizeof(int) * plan.voxels));
        CHECKED(cudaMemsetAsync(voxels_, 0, sizeof(int) * plan.voxels, stream_));
        CHECKED(cudaStreamSynchronize(stream_));
    }
    Treatment(const Treatment&) = delete;
    ~Treatment() {
        cudaFree(voxels_);
        cudaStreamDestroy(stream_);
    }

    void deliver() {
        for (int beam = 0; beam < plan_.beams; ++beam) {
            aim(beam);
            deposit<<<plan_.voxels / 256, 256, 0, stream_>>>(voxels_, plan_.voxels, dose_.get(), 15000000LL);
            CHECKED(cudaGetLastError());
        }
        CHECKED(cudaStreamSynchronize(stream_));
    }

    int wrong_voxels() const {
        std::vector<int> seen(plan_.voxels);
        CHECKED(cudaMemcpy(seen.data(), voxels_, sizeof(int) * plan_.voxels, cudaMemcpyDeviceToHost));
        int wrong = 0;
        for (int i = 0; i < plan_.voxels; ++i) {
            int expected = 0;
            for (int beam = 0; beam < plan_.beams; ++beam) expected += (beam + 1) * (i % 3) + 10 * beam + beam;
            wrong += seen[i] != expected;
        }
        return wrong;
    }

private:
    void aim(int beam) {
        dose_->beam = beam;  // expect: SS108
        dose_->weight = beam + 1;  // expect: SS108
        dose_->offset = 10 * beam;  // expect: SS108
    }

    Plan plan_;
    std::unique_ptr<Dose, FreeManaged> dose_;
    cudaStream_t stream_{};
    int* voxels_ = nullptr;
};

int main() {
    int wrong = 0;
    {
        Treatment treatment{Plan{}};
        treatment.deliver();
        wrong = treatment.wrong_voxels();
    }
    std::printf("%d wrong voxels\n", wrong);
    return wrong != 0;
}
