// Programs for the fake device, one binary: `programs NAME [ARGUMENTS]`. In those whose names end in `_wrong` comments
// say which finding belongs to a line; those whose names end in `_right` do the same in order, and nothing is to be
// found.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "runtime.hpp"
#include "streamsan.h"

namespace {

constexpr std::size_t bytes = 1 << 20;
constexpr fake::Kernel scale("_Z5scalePfPKfi", {8, 8, 4});  // scale(float*, float const*, int)
constexpr fake::Kernel fill("_Z4fillPfi", {8, 4});          // fill(float*, int)

struct Options {
    int count = 0;
    const char* word = "";
    const char* self = "";
};

std::map<std::string, int (*)(const Options&)> programs;

#define PROGRAM(name)                                                  \
    int name(const Options&);                                          \
    const bool name##_is_there = programs.emplace(#name, name).second; \
    int name([[maybe_unused]] const Options& options)

cudaStream_t stream() {
    cudaStream_t made = nullptr;
    cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
    return made;
}

void order(cudaStream_t before, cudaStream_t after) {
    cudaEvent_t event = nullptr;
    cudaEventCreate(&event);
    cudaEventRecord(event, before);
    cudaStreamWaitEvent(after, event, 0);
    cudaEventDestroy(event);
}

PROGRAM(use_after_free_wrong) {
    cudaStream_t s = stream();
    void* p = nullptr;
    cudaMallocAsync(&p, bytes, s);
    LAUNCH(fill, s, p, 1);
    cudaFreeAsync(p, s);
    LAUNCH(fill, s, p, 2);  // expect: SS101
    cudaStreamSynchronize(s);
    cudaStreamDestroy(s);
    return 0;
}

PROGRAM(use_after_free_right) {
    cudaStream_t s = stream();
    void* p = nullptr;
    cudaMallocAsync(&p, bytes, s);
    LAUNCH(fill, s, p, 1);
    LAUNCH(fill, s, p, 2);
    cudaFreeAsync(p, s);
    cudaStreamSynchronize(s);
    cudaStreamDestroy(s);
    return 0;
}

PROGRAM(use_races_free_wrong) {
    cudaStream_t s = stream();
    cudaStream_t t = stream();
    void* p = nullptr;
    cudaMallocAsync(&p, bytes, s);
    order(s, t);
    LAUNCH(fill, t, p, 1);
    cudaFreeAsync(p, s);  // expect: SS102
    cudaDeviceSynchronize();
    cudaStreamDestroy(s);
    cudaStreamDestroy(t);
    return 0;
}

PROGRAM(use_races_free_right) {
    cudaStream_t s = stream();
    cudaStream_t t = stream();
    void* p = nullptr;
    cudaMallocAsync(&p, bytes, s);
    order(s, t);
    LAUNCH(fill, t, p, 1);
    order(t, s);
    cudaFreeAsync(p, s);
    cudaDeviceSynchronize();
    cudaStreamDestroy(s);
    cudaStreamDestroy(t);
    return 0;
}

PROGRAM(use_before_alloc_wrong) {
    cudaStream_t s = stream();
    cudaStream_t t = stream();
    void* p = nullptr;
    cudaMallocAsync(&p, bytes, s);
    LAUNCH(fill, t, p, 1);  // expect: SS103
    order(t, s);
    cudaFreeAsync(p, s);
    cudaDeviceSynchronize();
    cudaStreamDestroy(s);
    cudaStreamDestroy(t);
    return 0;
}

PROGRAM(use_before_alloc_right) {
    cudaStream_t s = stream();
    cudaStream_t t = stream();
    void* p = nullptr;
    cudaMallocAsync(&p, bytes, s);
    cudaStreamSynchronize(s);
    LAUNCH(fill, t, p, 1);
    order(t, s);
    cudaFreeAsync(p, s);
    cudaDeviceSynchronize();
    cudaStreamDestroy(s);
    cudaStreamDestroy(t);
    return 0;
}

/// Another thread has given the device work when this one resets it.
int reset_races_work(bool awaited) {
    std::atomic<bool> working{false};
    std::atomic<bool> stop{false};
    std::thread worker([&] {
        cudaStream_t s = stream();
        void* p = nullptr;
        cudaMalloc(&p, bytes);
        LAUNCH(fill, s, p, 1);
        if (awaited) cudaStreamSynchronize(s);
        working = true;
        while (!stop) std::this_thread::yield();
    });
    while (!working) std::this_thread::yield();
    cudaDeviceReset();  // expect: SS106
    stop = true;
    worker.join();
    return 0;
}

PROGRAM(reset_races_work_wrong) { return reset_races_work(false); }
PROGRAM(reset_races_work_right) { return reset_races_work(true); }

/// Two threads share memory in an order that only the host keeps: a join, then a flag.
PROGRAM(threads_in_order_right) {
    cudaStream_t s = stream();
    void* p = nullptr;
    std::thread maker([&] {
        cudaMallocAsync(&p, bytes, s);
        LAUNCH(fill, s, p, 1);
        cudaStreamSynchronize(s);
    });
    maker.join();
    std::atomic<bool> ready{false};
    std::thread user([&] {
        while (!ready) std::this_thread::yield();
        cudaStream_t t = stream();
        LAUNCH(fill, t, p, 2);
        cudaStreamSynchronize(t);
        cudaStreamDestroy(t);
        ready = false;
    });
    ready = true;
    user.join();
    cudaFreeAsync(p, s);
    cudaStreamSynchronize(s);
    cudaStreamDestroy(s);
    return 0;
}

PROGRAM(double_free_wrong) {
    void* p = nullptr;
    cudaMalloc(&p, bytes);
    cudaFree(p);
    const cudaError_t second = cudaFree(p);  // expect: SS201
    std::printf("second free: %d\n", second);
    cudaGetLastError();
    return 0;
}

PROGRAM(double_free_right) {
    void* p = nullptr;
    cudaMalloc(&p, bytes);
    cudaFree(p);
    cudaMalloc(&p, bytes);
    std::printf("second free: %d\n", cudaFree(p));
    return 0;
}

PROGRAM(use_after_fork_wrong) {
    void* p = nullptr;
    cudaMalloc(&p, bytes);
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        const cudaError_t status = cudaFree(p);  // expect: SS204
        _exit(status);
    }
    int ended = 0;
    waitpid(child, &ended, 0);
    std::printf("child: %d\n", WEXITSTATUS(ended));
    cudaFree(p);
    return 0;
}

PROGRAM(use_after_fork_right) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        void* p = nullptr;
        cudaMalloc(&p, bytes);
        _exit(cudaFree(p));
    }
    int ended = 0;
    waitpid(child, &ended, 0);
    std::printf("child: %d\n", WEXITSTATUS(ended));
    void* p = nullptr;
    cudaMalloc(&p, bytes);
    cudaFree(p);
    return 0;
}

/// A fork whose child leaves CUDA alone does no harm.
PROGRAM(fork_without_use_right) {
    void* p = nullptr;
    cudaMalloc(&p, bytes);
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) _exit(7);
    int ended = 0;
    waitpid(child, &ended, 0);
    cudaFree(p);
    return 0;
}

PROGRAM(wait_in_capture_wrong) {
    cudaStream_t s = stream();
    void* p = nullptr;
    cudaMalloc(&p, bytes);
    cudaGraph_t graph = nullptr;
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    LAUNCH(fill, s, p, 1);
    const cudaError_t waited = cudaStreamSynchronize(s);  // expect: SS302
    const cudaError_t ended = cudaStreamEndCapture(s, &graph);
    std::printf("%d %d\n", waited, ended);
    cudaFree(p);
    cudaStreamDestroy(s);
    return 0;
}

/// Captures, instantiates and launches `p`'s kernel twice; returns the executable graph.
cudaGraphExec_t captured(cudaStream_t s, void* p) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    LAUNCH(fill, s, p, 1);
    LAUNCH(fill, s, p, 2);
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphDestroy(graph);
    return executable;
}

PROGRAM(wait_in_capture_right) {
    cudaStream_t s = stream();
    void* p = nullptr;
    cudaMalloc(&p, bytes);
    cudaGraphExec_t executable = captured(s, p);
    cudaGraphLaunch(executable, s);
    cudaStreamSynchronize(s);
    cudaGraphExecDestroy(executable);
    cudaFree(p);
    cudaStreamDestroy(s);
    return 0;
}

PROGRAM(stale_pointer_in_graph_wrong) {
    cudaStream_t s = stream();
    void* p = nullptr;
    cudaMalloc(&p, bytes);
    cudaGraphExec_t executable = captured(s, p);
    cudaGraphLaunch(executable, s);
    cudaStreamSynchronize(s);
    cudaFree(p);
    cudaGraphLaunch(executable, s);  // expect: SS303
    cudaStreamSynchronize(s);
    cudaGraphExecDestroy(executable);
    cudaStreamDestroy(s);
    return 0;
}

PROGRAM(stale_pointer_in_graph_right) {
    cudaStream_t s = stream();
    void* p = nullptr;
    cudaMalloc(&p, bytes);
    cudaGraphExec_t executable = captured(s, p);
    cudaGraphLaunch(executable, s);
    cudaStreamSynchronize(s);
    cudaGraphLaunch(executable, s);
    cudaStreamSynchronize(s);
    cudaGraphExecDestroy(executable);
    cudaFree(p);
    cudaStreamDestroy(s);
    return 0;
}

PROGRAM(graph_relaunch_wrong) {
    cudaStream_t s = stream();
    void* p = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    cudaMallocAsync(&p, bytes, s);
    LAUNCH(fill, s, p, 1);
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphLaunch(executable, s);
    const cudaError_t again = cudaGraphLaunch(executable, s);  // expect: SS301
    std::printf("%d\n", again);
    cudaFreeAsync(p, s);
    cudaStreamSynchronize(s);
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(s);
    return 0;
}

PROGRAM(graph_relaunch_right) {
    cudaStream_t s = stream();
    void* p = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    cudaMallocAsync(&p, bytes, s);
    LAUNCH(fill, s, p, 1);
    cudaFreeAsync(p, s);
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphLaunch(executable, s);
    std::printf("%d\n", cudaGraphLaunch(executable, s));
    cudaStreamSynchronize(s);
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(s);
    return 0;
}

PROGRAM(leak_wrong) {
    void* p = nullptr;
    cudaMalloc(&p, bytes);  // expect-note: SS401
    cudaMemset(p, 0, bytes);
    cudaDeviceSynchronize();
    return 0;
}

PROGRAM(leak_right) {
    void* p = nullptr;
    cudaMalloc(&p, bytes);
    cudaMemset(p, 0, bytes);
    cudaDeviceSynchronize();
    cudaFree(p);
    return 0;
}

PROGRAM(failed_launch_wrong) {
    cudaStream_t s = stream();
    void* p = nullptr;
    cudaMalloc(&p, bytes);
    LAUNCH_WITH(4096, fill, s, p, 1);  // expect-note: SS601
    LAUNCH(fill, s, p, 2);
    cudaStreamSynchronize(s);
    cudaFree(p);
    cudaStreamDestroy(s);
    return 0;
}

PROGRAM(failed_launch_right) {
    cudaStream_t s = stream();
    void* p = nullptr;
    cudaMalloc(&p, bytes);
    LAUNCH_WITH(1024, fill, s, p, 1);
    LAUNCH(fill, s, p, 2);
    cudaStreamSynchronize(s);
    cudaFree(p);
    cudaStreamDestroy(s);
    return 0;
}

/// What a program can see of its device: all of it is to be the same with and without a recorder.
PROGRAM(looks_around_right) {
    std::vector<unsigned char> host(256);
    for (std::size_t at = 0; at < host.size(); ++at) host[at] = static_cast<unsigned char>(at);
    void* p = nullptr;
    void* q = nullptr;
    cudaStream_t s = stream();
    std::printf("%d ", cudaMalloc(&p, host.size()));
    std::printf("%d ", cudaMalloc(&q, host.size()));
    std::printf("%d ", cudaMemcpy(p, host.data(), host.size(), cudaMemcpyHostToDevice));
    std::printf("%d ", cudaMemcpyAsync(q, p, host.size(), cudaMemcpyDeviceToDevice, s));
    std::printf("%d ", cudaStreamSynchronize(s));
    std::memset(host.data(), 0, host.size());
    std::printf("%d ", cudaMemcpy(host.data(), q, host.size(), cudaMemcpyDeviceToHost));
    unsigned sum = 0;
    for (const unsigned char byte : host) sum += byte;
    std::printf("sum %u\n", sum);
    std::printf("%d %d\n", cudaSetDevice(7), cudaGetLastError());
    std::fprintf(stderr, "last error %d\n", cudaGetLastError());
    std::printf("%d %d %d\n", cudaFree(p), cudaFree(q), cudaStreamDestroy(s));
    const char* variable = std::getenv("LD_PRELOAD");
    std::printf("%s %d\n", variable != nullptr ? variable : "-", isatty(0));
    int input = 0;
    while ((input = std::getchar()) != EOF) std::putchar(input);
    return 23;
}

/// Works until a thread has seen `count` steps and kills it, in the middle of whatever it does then.
PROGRAM(is_killed) {
    std::atomic<int> steps{0};
    std::thread killer([&] {
        while (steps < options.count) {
        }
        kill(getpid(), SIGKILL);
    });
    cudaStream_t s = stream();
    for (;; ++steps) {
        void* p = nullptr;
        cudaMallocAsync(&p, bytes, s);
        LAUNCH(fill, s, p, 1);
        cudaFreeAsync(p, s);
    }
}

/// `count` allocations and frees, then the end that the word names.
PROGRAM(ends) {
    cudaStream_t s = stream();
    for (int step = 0; step < options.count; ++step) {
        void* p = nullptr;
        cudaMallocAsync(&p, bytes, s);
        LAUNCH(fill, s, p, step);
        cudaFreeAsync(p, s);
    }
    const char* word = options.word;
    std::fflush(stdout);
    if (std::strcmp(word, "exit") == 0) std::exit(5);
    if (std::strcmp(word, "_exit") == 0) _exit(6);
    if (std::strcmp(word, "abort") == 0) std::abort();
    if (std::strcmp(word, "kill") == 0) kill(getpid(), SIGKILL);
    if (std::strcmp(word, "segv") == 0) raise(SIGSEGV);
    if (std::strcmp(word, "term") == 0) raise(SIGTERM);
    return 4;
}

/// Becomes another program of this file, by exec.
PROGRAM(execs) {
    void* p = nullptr;
    cudaMalloc(&p, bytes);
    cudaFree(p);
    execl(options.self, options.self, options.word, nullptr);
    return 1;
}

/// Starts another program of this file and waits for it; both use the device.
PROGRAM(spawns) {
    void* p = nullptr;
    cudaMalloc(&p, bytes);
    const pid_t child = fork();
    if (child == 0) {
        execl(options.self, options.self, options.word, nullptr);
        _exit(127);
    }
    int ended = 0;
    waitpid(child, &ended, 0);
    cudaFree(p);
    return WEXITSTATUS(ended);
}

struct Late {
    ~Late() {
        if (armed) std::fprintf(stderr, "free in a destructor: %d\n", cudaFree(memory));  // expect: SS207
    }
    void* memory = nullptr;
    bool armed = false;
} late;

PROGRAM(static_destructor_wrong) {
    late.armed = true;
    cudaMalloc(&late.memory, bytes);
    return 0;
}

class Arena {
public:
    static Arena& instance() {
        static Arena arena;
        return arena;
    }
    void* memory() const { return memory_; }
    ~Arena() {
        cudaFree(memory_);  // expect: SS207
    }

private:
    Arena() { cudaMalloc(&memory_, bytes); }
    void* memory_ = nullptr;
};

/// Made after CUDA's first call: destroyed before the recorder hears of the process's end.
PROGRAM(function_static_wrong) {
    LAUNCH(fill, nullptr, Arena::instance().memory(), 1);
    cudaDeviceSynchronize();
    return 0;
}

void* cache = nullptr;

void release_cache() {
    cudaFree(cache);  // expect: SS207
}

PROGRAM(exit_handler_wrong) {
    cudaMalloc(&cache, bytes);
    std::atexit(release_cache);
    std::exit(0);
}

PROGRAM(exit_handler_right) {
    cudaMalloc(&cache, bytes);
    std::atexit([] { std::puts("bye"); });
    cudaFree(cache);
    std::exit(0);
}

/// The driver crashes in the second call, before it calls back.
PROGRAM(stream_destroyed_twice_wrong) {
    cudaStream_t s = stream();
    cudaStream_t t = stream();
    cudaStreamDestroy(s);
    cudaStreamSynchronize(t);
    cudaStreamDestroy(s);  // expect: SS205
    return 0;
}

PROGRAM(event_destroyed_twice_wrong) {
    cudaEvent_t event = nullptr;
    cudaEventCreate(&event);
    cudaEventRecord(event, nullptr);
    cudaEventSynchronize(event);
    cudaEventDestroy(event);
    cudaEventSynchronize(event);  // expect: SS205
    cudaEventQuery(event);
    cudaEventDestroy(event);
    return 0;
}

PROGRAM(handles_come_back_right) {
    for (int round = 0; round < 4; ++round) {
        cudaStream_t s = stream();
        cudaEvent_t event = nullptr;
        cudaEventCreate(&event);
        cudaEventRecord(event, s);
        cudaEventSynchronize(event);
        cudaStreamSynchronize(s);
        cudaEventDestroy(event);
        cudaStreamDestroy(s);
        if (round == 1) cudaDeviceReset();
    }
    return 0;
}

/// Gives out the parts of one allocation, and says so.
class OwnPool {
public:
    OwnPool() {
        cudaMalloc(&segment_, 4 * bytes);
        for (int number = 4; number-- > 0;) free_.push_back(static_cast<char*>(segment_) + bytes * number);
    }
    ~OwnPool() { cudaFree(segment_); }
    OwnPool(const OwnPool&) = delete;
    OwnPool& operator=(const OwnPool&) = delete;

    void* take() {
        void* const block = free_.back();
        free_.pop_back();
        streamsan_hand_out(block, bytes);
        return block;
    }
    void give(void* block) {
        streamsan_take_back(block);
        free_.push_back(block);
    }

private:
    void* segment_ = nullptr;
    std::vector<void*> free_;
};

PROGRAM(own_pool_wrong) {
    cudaStream_t s = stream(), t = stream();
    {
        OwnPool pool;
        void* const one = pool.take();
        LAUNCH(fill, s, one, 1);
        pool.give(one);  // expect: SS105
        void* const other = pool.take();
        LAUNCH(fill, t, other, 2);
        cudaDeviceSynchronize();
    }
    cudaStreamDestroy(s);
    cudaStreamDestroy(t);
    return 0;
}

PROGRAM(own_pool_right) {
    cudaStream_t s = stream(), t = stream();
    {
        OwnPool pool;
        void* const one = pool.take();
        void* const neighbour = pool.take();
        LAUNCH(fill, s, one, 1);
        LAUNCH(fill, t, neighbour, 1);
        pool.give(one);
        void* const other = pool.take();
        order(s, t);
        LAUNCH(fill, t, other, 2);
        cudaDeviceSynchronize();
    }
    cudaStreamDestroy(s);
    cudaStreamDestroy(t);
    return 0;
}

/// A pool with a stream for each block, which is told of other streams; what these do with a block is not seen.
int told_of_a_stream(bool waits) {
    cudaStream_t s = stream(), t = stream();
    void* segment = nullptr;
    void* table = nullptr;
    cudaMalloc(&segment, bytes);
    cudaMalloc(&table, bytes);
    streamsan_hand_out_on(segment, bytes, s);
    LAUNCH(fill, s, segment, 1);
    order(s, t);
    LAUNCH(fill, t, table, 1);
    streamsan_record_stream(segment, t);
    streamsan_take_back_on(segment, s);
    if (waits) order(t, s);
    streamsan_hand_out_on(segment, bytes, s);
    LAUNCH(fill, s, segment, 2);
    streamsan_take_back_on(segment, s);
    cudaDeviceSynchronize();
    cudaFree(table);
    cudaFree(segment);
    cudaStreamDestroy(s);
    cudaStreamDestroy(t);
    return 0;
}

PROGRAM(pool_told_of_stream_wrong) {
    return told_of_a_stream(false);  // expect: SS105
}

PROGRAM(pool_told_of_stream_right) { return told_of_a_stream(true); }

PROGRAM(no_cuda_right) {
    std::puts("nothing");
    return 3;
}

}  // namespace

int main(int count, char** arguments) {
    const Options options{count > 3 ? std::atoi(arguments[3]) : 0, count > 2 ? arguments[2] : "", arguments[0]};
    if (const auto found = programs.find(count > 1 ? arguments[1] : ""); found != programs.end())
        return found->second(options);
    for (const auto& [name, run] : programs) std::puts(name.c_str());
    return 64;
}
