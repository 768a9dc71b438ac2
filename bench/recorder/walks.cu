// Kernels that touch bytes in many ways, and what they touch as the host computes it: `walks SEED LAUNCHES`.
// Prints for each launch the addresses of its ranges by use: `launch NUMBER`, `r FROM TO`, `w FROM TO`, `a FROM TO`.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "check.cuh"

constexpr unsigned long long memory_bytes = 1 << 22;

enum Use { read_it, write_it, update_it };
enum Way { in_order, backwards, tiles, all_the_same, pairs, apart, shuffled, halves };

struct Walk {
    unsigned long long offset;
    unsigned size, use, way, threads, pitch;
};

/// Which element thread `t` touches, in bytes from the walk's offset.
__host__ __device__ inline unsigned long long place(const Walk& walk, unsigned t) {
    switch (walk.way) {
        case in_order: return 1ull * t * walk.size;
        case backwards: return 1ull * (walk.threads - 1 - t) * walk.size;
        case tiles: return 1ull * (t / 16) * walk.pitch + t % 16 * walk.size;
        case all_the_same: return 0;
        case pairs: return 1ull * (t / 2) * walk.size;
        case apart: return 1ull * t * walk.pitch;
        case shuffled: return 1ull * (t * 5 % 32 + t / 32 * 32) * walk.size;
        default: return 1ull * (t % 2 * (walk.threads / 2) + t / 2) * walk.size;
    }
}

/// `never`: the compiler leaves out a load whose value nobody uses.
__global__ void walk_it(Walk walk, char* memory, unsigned* never) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= walk.threads) return;
    char* const at = memory + walk.offset + place(walk, t);
    if (walk.use == update_it) {
        atomicAdd(reinterpret_cast<unsigned*>(at), 1u);
        return;
    }
    unsigned a = 1, b = 1, c = 1, d = 1;
    const bool reads = walk.use == read_it;
    switch (walk.size) {
        case 1:
            if (reads) asm volatile("ld.global.u8 %0, [%1];" : "=r"(a) : "l"(at));
            else asm volatile("st.global.u8 [%0], %1;" : : "l"(at), "r"(a) : "memory");
            break;
        case 2:
            if (reads) asm volatile("{ .reg .u16 h; ld.global.u16 h, [%1]; cvt.u32.u16 %0, h; }" : "=r"(a) : "l"(at));
            else
                asm volatile("{ .reg .u16 h; cvt.u16.u32 h, %1; st.global.u16 [%0], h; }"
                             :
                             : "l"(at), "r"(a)
                             : "memory");
            break;
        case 4:
            if (reads) asm volatile("ld.global.u32 %0, [%1];" : "=r"(a) : "l"(at));
            else asm volatile("st.global.u32 [%0], %1;" : : "l"(at), "r"(a) : "memory");
            break;
        case 8:
            if (reads) asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "l"(at));
            else asm volatile("st.global.v2.u32 [%0], {%1, %2};" : : "l"(at), "r"(a), "r"(b) : "memory");
            break;
        default:
            if (reads)
                asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(at));
            else
                asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
                             :
                             : "l"(at), "r"(a), "r"(b), "r"(c), "r"(d)
                             : "memory");
    }
    if (reads && (a ^ b ^ c ^ d) == 0x12345678) *never = a;
}

Walk any_walk(std::mt19937& random) {
    Walk walk{};
    walk.use = random() % 3;
    walk.size = walk.use == update_it ? 4 : 1u << random() % 5;
    walk.way = random() % 8;
    // Few threads where each makes a range of its own: of more ranges only the bounds are told.
    walk.threads = walk.way == apart ? 1 + random() % 40 : 1 + random() % 5000;
    walk.pitch = (16 + random() % 40) * 16;
    walk.offset = random() % (1 << 18) / walk.size * walk.size;
    return walk;
}

int main(int count, char** arguments) {
    if (count != 3) return 2;
    std::mt19937 random(std::atoi(arguments[1]));
    char* buffers[3];
    for (char*& buffer : buffers) CHECK(cudaMalloc(&buffer, memory_bytes));
    std::vector<bool> touched(memory_bytes);
    std::vector<Walk> walks;
    for (int launch = 0; launch < std::atoi(arguments[2]); ++launch) {
        // Every second launch does what an earlier one did, perhaps elsewhere.
        if (walks.empty() || random() % 2 == 0) walks.push_back(any_walk(random));
        const Walk walk = walks[random() % walks.size()];
        char* const memory = buffers[random() % 3];
        const auto base = reinterpret_cast<unsigned long long>(memory);
        walk_it<<<(walk.threads + 127) / 128, 128>>>(walk, memory, nullptr);
        std::printf("launch %d\n", launch);
        touched.assign(touched.size(), false);
        for (unsigned t = 0; t < walk.threads; ++t)
            for (unsigned byte = 0; byte < walk.size; ++byte) touched[walk.offset + place(walk, t) + byte] = true;
        for (std::size_t at = 0; at < touched.size(); ++at) {
            if (!touched[at]) continue;
            const std::size_t from = at;
            while (at < touched.size() && touched[at]) ++at;
            std::printf("%c %llu %llu\n", "rwa"[walk.use], base + from, base + at);
        }
        if (random() % 7 == 0) CHECK(cudaDeviceSynchronize());
    }
    CHECK(cudaDeviceSynchronize());
}
