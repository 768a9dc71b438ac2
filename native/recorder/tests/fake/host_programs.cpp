// Programs whose host touches memory that work uses, one binary: `host_programs NAME`. As in programs.cpp, comments say
// which finding belongs to a line. They print what they see, which must be the same whether they are recorded or not.
#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <string>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "runtime.hpp"

namespace {

constexpr std::size_t bytes = 1 << 16;
constexpr fake::Kernel fill("_Z4fillPfi", {8, 4});          // fill(float*, int)
constexpr fake::Kernel scale("_Z5scalePfPKfi", {8, 8, 4});  // scale(float*, float const*, int)

std::map<std::string, int (*)()> programs;

#define PROGRAM(name)                                                  \
    int name();                                                        \
    const bool name##_is_there = programs.emplace(#name, name).second; \
    int name()

cudaStream_t stream() {
    cudaStream_t made = nullptr;
    cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
    return made;
}

char* pinned(std::size_t size = bytes) {
    void* made = nullptr;
    cudaMallocHost(&made, size);
    return static_cast<char*>(made);
}

void* device(std::size_t size = bytes) {
    void* made = nullptr;
    cudaMalloc(&made, size);
    return made;
}

/// What the compiler may not leave out, nor move.
[[gnu::noinline]] void put(volatile char* at, char value) { *at = value; }
[[gnu::noinline]] int get(const volatile char* at) { return *at; }

// -- each direction, each way to wait
// ------------------------------------------------------------------------------------

PROGRAM(upload_overwritten_wrong) {
    cudaStream_t s = stream();
    char* h = pinned();
    cudaMemcpyAsync(device(), h, bytes, cudaMemcpyHostToDevice, s);
    h[7] = 1;  // expect: SS108
    cudaStreamSynchronize(s);
    return 0;
}

PROGRAM(upload_read_meanwhile_right) {
    cudaStream_t s = stream();
    char* h = pinned();
    h[7] = 5;
    cudaMemcpyAsync(device(), h, bytes, cudaMemcpyHostToDevice, s);
    std::printf("%d\n", h[7]);
    cudaStreamSynchronize(s);
    h[7] = 1;
    return 0;
}

PROGRAM(read_then_overwritten_wrong) {
    cudaStream_t s = stream();
    char* h = pinned();
    void* d = device();
    cudaMemcpyAsync(h, d, bytes, cudaMemcpyDeviceToHost, s);
    cudaStreamSynchronize(s);
    cudaMemcpyAsync(d, h, bytes, cudaMemcpyHostToDevice, s);
    std::printf("%d\n", h[9]);
    h[9] = 1;  // expect: SS108
    cudaStreamSynchronize(s);
    return 0;
}

PROGRAM(download_read_wrong) {
    cudaStream_t s = stream();
    char* h = pinned();
    cudaMemcpyAsync(h, device(), bytes, cudaMemcpyDeviceToHost, s);
    std::printf("%d\n", h[100]);  // expect: SS108
    cudaStreamSynchronize(s);
    return 0;
}

PROGRAM(download_overwritten_wrong) {
    cudaStream_t s = stream();
    char* h = pinned();
    cudaMemcpyAsync(h + 64, device(), 1000, cudaMemcpyDeviceToHost, s);
    h[64 + 999] = 3;  // expect: SS108
    cudaStreamSynchronize(s);
    return 0;
}

PROGRAM(download_after_event_right) {
    cudaStream_t s = stream();
    char* h = pinned();
    cudaEvent_t done = nullptr;
    cudaEventCreate(&done);
    cudaMemcpyAsync(h, device(), bytes, cudaMemcpyDeviceToHost, s);
    cudaEventRecord(done, s);
    cudaEventSynchronize(done);
    std::printf("%d\n", h[100]);
    h[100] = 4;
    return 0;
}

PROGRAM(event_before_the_copy_wrong) {
    cudaStream_t s = stream();
    char* h = pinned();
    cudaEvent_t done = nullptr;
    cudaEventCreate(&done);
    cudaEventRecord(done, s);
    cudaMemcpyAsync(h, device(), bytes, cudaMemcpyDeviceToHost, s);
    cudaEventSynchronize(done);
    std::printf("%d\n", h[100]);  // expect: SS108
    cudaStreamSynchronize(s);
    return 0;
}

PROGRAM(queries_until_done_right) {
    cudaStream_t s = stream();
    char* h = pinned();
    cudaMemcpyAsync(h, device(), bytes, cudaMemcpyDeviceToHost, s);
    while (cudaStreamQuery(s) != cudaSuccess) std::this_thread::yield();
    std::printf("%d\n", h[100]);
    cudaEvent_t done = nullptr;
    cudaEventCreate(&done);
    cudaMemcpyAsync(device(), h, bytes, cudaMemcpyHostToDevice, s);
    cudaEventRecord(done, s);
    while (cudaEventQuery(done) != cudaSuccess) std::this_thread::yield();
    h[100] = 4;
    return 0;
}

PROGRAM(other_stream_awaited_wrong) {
    cudaStream_t s = stream();
    cudaStream_t t = stream();
    char* h = pinned();
    cudaMemcpyAsync(h, device(), bytes, cudaMemcpyDeviceToHost, s);
    cudaStreamSynchronize(t);
    h[0] = 1;  // expect: SS108
    cudaStreamSynchronize(s);
    return 0;
}

std::atomic<int> told{0};

PROGRAM(host_function_tells_right) {
    cudaStream_t s = stream();
    char* h = pinned();
    cudaMemcpyAsync(h, device(), bytes, cudaMemcpyDeviceToHost, s);
    // Its body is the host's, behind the copy.
    cudaLaunchHostFunc(s, [](void* user) { put(static_cast<char*>(user) + 5, 9), told.store(1); }, h);
    while (told.load() == 0) std::this_thread::yield();
    std::printf("%d\n", h[5]);
    cudaStreamSynchronize(s);
    return 0;
}

PROGRAM(fill_of_pinned_memory_wrong) {
    cudaStream_t s = stream();
    char* h = pinned();
    cudaMemsetAsync(h, 3, bytes, s);
    h[1] = 1;  // expect: SS108
    cudaStreamSynchronize(s);
    return 0;
}

PROGRAM(synchronous_copies_right) {
    cudaStream_t s = stream();
    char* h = pinned();
    void* d = device();
    h[3] = 4;
    cudaMemcpyAsync(d, h, bytes, cudaMemcpyHostToDevice, s);
    cudaStreamSynchronize(s);
    cudaMemcpy(d, h, bytes, cudaMemcpyHostToDevice);
    h[3] = 5;
    cudaMemcpy(h, d, bytes, cudaMemcpyDeviceToHost);
    std::printf("%d\n", h[3]);
    return 0;
}

// -- kinds of memory
// ------------------------------------------------------------------------------------------------------

PROGRAM(registered_memory_wrong) {
    cudaStream_t s = stream();
    std::vector<char> host(8 * bytes);
    char* h = host.data() + 1000;  // in the middle of a page
    cudaHostRegister(h, 6 * bytes, 0);
    cudaMemcpyAsync(device(8 * bytes), h, 6 * bytes, cudaMemcpyHostToDevice, s);
    h[3 * bytes] = 1;  // expect: SS108
    cudaStreamSynchronize(s);
    cudaHostUnregister(h);
    return 0;
}

PROGRAM(neighbours_of_registered_memory_right) {
    cudaStream_t s = stream();
    std::vector<char> host(8 * bytes);
    char* h = host.data() + 1000;
    cudaHostRegister(h, 6 * bytes + 10, 0);
    cudaMemcpyAsync(device(8 * bytes), h, 6 * bytes + 10, cudaMemcpyHostToDevice, s);
    h[-1] = 1;
    h[6 * bytes + 10] = 2;
    host.front() = 4;
    std::printf("%d %d\n", h[-1], h[6 * bytes + 10]);
    cudaStreamSynchronize(s);
    h[0] = 1;
    cudaHostUnregister(h);
    // Not registered any more, and free of all protection.
    std::memset(host.data(), 1, host.size());
    return 0;
}

PROGRAM(neighbours_in_pinned_memory_right) {
    cudaStream_t s = stream();
    char* h = pinned();
    void* d = device();
    for (int round = 0; round < 4; ++round) {
        cudaMemcpyAsync(h + 1000, d, 500, cudaMemcpyDeviceToHost, s);
        h[999] = static_cast<char>(round);
        h[1500] = static_cast<char>(h[999] + 1);
        std::printf("%d %d\n", h[999], h[1500]);
    }
    cudaStreamSynchronize(s);
    return 0;
}

/// A buffer on the stack: the pages of its ends are the thread's own.
PROGRAM(registered_stack_right) {
    cudaStream_t s = stream();
    char h[bytes];
    std::memset(h, 7, bytes);
    cudaHostRegister(h, bytes, 0);
    cudaMemcpyAsync(device(), h, bytes, cudaMemcpyHostToDevice, s);
    std::raise(SIGWINCH);
    cudaStreamSynchronize(s);
    std::memset(h, 8, bytes);
    std::printf("%d\n", get(h));
    cudaHostUnregister(h);
    return 0;
}

PROGRAM(freed_memory_is_others_right) {
    cudaStream_t s = stream();
    for (int round = 0; round < 8; ++round) {
        char* h = pinned();
        cudaMemcpyAsync(h, device(), bytes, cudaMemcpyDeviceToHost, s);
        cudaStreamSynchronize(s);
        cudaFreeHost(h);
        char* again =
            static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        std::memset(again, 1, bytes);
        munmap(again, bytes);
    }
    return 0;
}

PROGRAM(large_buffer_wrong) {
    constexpr std::size_t large = std::size_t{80} << 20;
    cudaStream_t s = stream();
    char* h = pinned(large);
    cudaMemcpyAsync(h, device(large), large, cudaMemcpyDeviceToHost, s);
    h[large / 2] = 1;  // expect: SS108
    cudaStreamSynchronize(s);
    return 0;
}

// -- rings and loops
// ------------------------------------------------------------------------------------------------------

PROGRAM(ring_of_slots_wrong) {
    constexpr int slots = 3;
    cudaStream_t s = stream();
    char* h = pinned(slots * 5000);
    void* d = device(slots * 5000);
    cudaEvent_t done[slots];
    for (auto& each : done) cudaEventCreate(&each);
    for (int round = 0; round < 9; ++round) {
        const int slot = round % slots;
        if (round >= slots) cudaEventSynchronize(done[slot]);
        h[slot * 5000 + 17] = static_cast<char>(round);  // expect: SS108
        cudaEventRecord(done[slot], s);                  // a line too early
        cudaMemcpyAsync(static_cast<char*>(d) + slot * 5000, h + slot * 5000, 5000, cudaMemcpyHostToDevice, s);
    }
    cudaStreamSynchronize(s);
    return 0;
}

PROGRAM(ring_of_slots_right) {
    constexpr int slots = 3;
    cudaStream_t s = stream();
    char* h = pinned(slots * 5000);
    void* d = device(slots * 5000);
    cudaEvent_t done[slots];
    for (auto& each : done) cudaEventCreate(&each);
    for (int round = 0; round < 900; ++round) {
        const int slot = round % slots;
        if (round >= slots) cudaEventSynchronize(done[slot]);
        std::memset(h + slot * 5000, round, 5000);
        cudaMemcpyAsync(static_cast<char*>(d) + slot * 5000, h + slot * 5000, 5000, cudaMemcpyHostToDevice, s);
        cudaEventRecord(done[slot], s);
    }
    cudaStreamSynchronize(s);
    std::memset(h, 1, 5000);
    return 0;
}

PROGRAM(many_buffers_right) {
    cudaStream_t s = stream();
    std::vector<char*> buffers;
    void* d = device();
    for (int number = 0; number < 1500; ++number) {
        buffers.push_back(pinned(4096));
        cudaMemcpyAsync(buffers.back(), d, 4096, cudaMemcpyDeviceToHost, s);
    }
    cudaStreamSynchronize(s);
    int sum = 0;
    for (char* each : buffers) sum += get(each + 8);
    std::printf("%d\n", sum);
    for (char* each : buffers) cudaFreeHost(each);
    return 0;
}

PROGRAM(graph_writes_pinned_memory_wrong) {
    cudaStream_t s = stream();
    char* h = pinned();
    void* d = device();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    cudaMemcpyAsync(h, d, bytes, cudaMemcpyDeviceToHost, s);
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&executable, graph, 0);
    h[0] = 1;
    cudaGraphLaunch(executable, s);
    h[0] = 2;  // expect: SS108
    cudaStreamSynchronize(s);
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
    return 0;
}

PROGRAM(graph_writes_pinned_memory_right) {
    cudaStream_t s = stream();
    char* h = pinned();
    void* d = device();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    cudaMemcpyAsync(h, d, bytes, cudaMemcpyDeviceToHost, s);
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&executable, graph, 0);
    for (int round = 0; round < 3; ++round) {
        cudaGraphLaunch(executable, s);
        cudaStreamSynchronize(s);
        h[0] = 2;
    }
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
    return 0;
}

// -- the kernel as the one who accesses
// ------------------------------------------------------------------------------------

PROGRAM(files_into_pinned_memory_right) {
    cudaStream_t s = stream();
    char* h = pinned();
    void* d = device();
    const auto in_flight = [&] {
        cudaMemcpyAsync(h, d, bytes, cudaMemcpyDeviceToHost, s);
        cudaStreamSynchronize(s);
    };
    const int random = open("/dev/zero", O_RDWR);
    in_flight();
    std::printf("read %zd\n", read(random, h, bytes));
    in_flight();
    std::printf("pread %zd\n", pread(random, h, bytes, 0));
    in_flight();
    iovec parts[2] = {{h, 100}, {h + bytes / 2, 100}};
    std::printf("readv %zd\n", readv(random, parts, 2));
    in_flight();
    std::printf("write %zd\n", write(random, h, bytes));
    in_flight();
    std::printf("syscall %ld\n", syscall(SYS_read, random, h, bytes));
    FILE* file = std::fopen("/dev/zero", "rb");
    in_flight();
    std::printf("fread %zu\n", std::fread(h, 1, bytes, file));
    std::fclose(file);
    file = std::fopen("/dev/null", "wb");
    in_flight();
    std::printf("fwrite %zu\n", std::fwrite(h, 1, bytes, file));
    std::fclose(file);
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
    in_flight();
    std::printf("send %zd\n", send(ends[0], h, 4096, 0));
    in_flight();
    std::printf("recv %zd\n", recv(ends[1], h, 4096, 0));
    in_flight();
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    std::printf("sendmsg %zd\n", sendmsg(ends[0], &message, 0));
    in_flight();
    std::printf("recvmsg %zd\n", recvmsg(ends[1], &message, 0));
    in_flight();
    std::printf("getrandom %d\n", getentropy(h, 100));
    return 0;
}

PROGRAM(read_into_an_upload_wrong) {
    cudaStream_t s = stream();
    char* h = pinned();
    const int zeros = open("/dev/zero", O_RDWR);
    cudaMemcpyAsync(device(), h, bytes, cudaMemcpyHostToDevice, s);
    std::printf("%zd\n", write(zeros, h, bytes));    // only reads it
    std::printf("%zd\n", read(zeros, h + 100, 50));  // expect: SS108
    cudaStreamSynchronize(s);
    return 0;
}

PROGRAM(fwrite_of_a_download_wrong) {
    cudaStream_t s = stream();
    char* h = pinned();
    FILE* file = std::fopen("/dev/null", "wb");
    cudaMemcpyAsync(h, device(), bytes, cudaMemcpyDeviceToHost, s);
    std::printf("%zu\n", std::fwrite(h, 1, bytes, file));  // expect: SS108
    cudaStreamSynchronize(s);
    std::fclose(file);
    return 0;
}

// -- signals
// --------------------------------------------------------------------------------------------------------------

sigjmp_buf back;
volatile void* fault_address = nullptr;
volatile int fault_code = 0;
int faults = 0;

void on_fault(int, siginfo_t* fault, void*) {
    fault_address = fault->si_addr;
    fault_code = fault->si_code;
    ++faults;
    siglongjmp(back, 1);
}

void handle_faults() {
    struct sigaction action{};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    sigfillset(&action.sa_mask);
    sigaction(SIGSEGV, &action, nullptr);
}

void touch_nothing() {
    static char* const nowhere = static_cast<char*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (static int round = 0; round < 3; ++round) {
        if (sigsetjmp(back, 1) == 0) put(nowhere + 12, 1);
        else std::printf("fault at +%td, code %d\n", static_cast<volatile char*>(fault_address) - nowhere, fault_code);
    }
}

void touch_in_flight() {
    cudaStream_t s = stream();
    char* h = pinned();
    cudaMemcpyAsync(h, device(), bytes, cudaMemcpyDeviceToHost, s);
    cudaStreamSynchronize(s);
    h[3] = 1;
    std::printf("%d\n", h[3]);
}

PROGRAM(handler_installed_before_right) {
    handle_faults();
    touch_in_flight();
    touch_nothing();
    std::printf("%d faults\n", faults);
    return 0;
}

PROGRAM(handler_installed_after_right) {
    touch_in_flight();
    handle_faults();
    touch_in_flight();
    touch_nothing();
    struct sigaction now{};
    sigaction(SIGSEGV, nullptr, &now);
    std::printf("%d faults, ours: %d, mask: %d\n", faults, now.sa_sigaction == on_fault,
                sigismember(&now.sa_mask, SIGUSR1));
    signal(SIGSEGV, SIG_DFL);
    sigaction(SIGSEGV, nullptr, &now);
    std::printf("%d\n", now.sa_handler == SIG_DFL);
    return 0;
}

PROGRAM(true_fault_right) {
    touch_in_flight();
    std::fflush(stdout);
    put(reinterpret_cast<char*>(8), 1);
    return 0;
}

PROGRAM(sent_fault_right) {
    touch_in_flight();
    std::fflush(stdout);
    raise(SIGSEGV);
    return 0;
}

PROGRAM(fault_while_ignored_right) {
    signal(SIGSEGV, SIG_IGN);
    touch_in_flight();
    raise(SIGSEGV);
    std::puts("ignored");
    std::fflush(stdout);
    put(reinterpret_cast<char*>(8), 1);
    return 0;
}

PROGRAM(all_signals_blocked_right) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread(touch_in_flight).join();
    touch_in_flight();
    pthread_sigmask(SIG_SETMASK, &before, &all);
    std::printf("%d %d\n", sigismember(&all, SIGSEGV), sigismember(&before, SIGSEGV));
    return 0;
}

char* in_handler = nullptr;

PROGRAM(handler_touches_right) {
    struct sigaction action{};
    action.sa_handler = [](int) { put(in_handler + 50, 6); };
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, nullptr);
    cudaStream_t s = stream();
    in_handler = pinned();
    cudaMemcpyAsync(in_handler, device(), bytes, cudaMemcpyDeviceToHost, s);
    cudaStreamSynchronize(s);
    raise(SIGUSR1);
    std::printf("%d\n", in_handler[50]);
    struct sigaction now{};
    sigaction(SIGUSR1, nullptr, &now);
    std::printf("%d\n", sigismember(&now.sa_mask, SIGSEGV));
    return 0;
}

PROGRAM(handler_touches_wrong) {
    struct sigaction action{};
    action.sa_handler = [](int) {
        in_handler[50] = 6;  // expect: SS108
    };
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, nullptr);
    cudaStream_t s = stream();
    in_handler = pinned();
    cudaMemcpyAsync(in_handler, device(), bytes, cudaMemcpyDeviceToHost, s);
    raise(SIGUSR1);
    cudaStreamSynchronize(s);
    return 0;
}

PROGRAM(small_alternate_stack_right) {
    static char space[16384];
    const stack_t stack{space, 0, sizeof space};
    sigaltstack(&stack, nullptr);
    struct sigaction action{};
    action.sa_handler = [](int) { put(in_handler + 50, 6); };
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, nullptr);
    cudaStream_t s = stream();
    in_handler = pinned();
    cudaMemcpyAsync(in_handler, device(), bytes, cudaMemcpyDeviceToHost, s);
    cudaStreamSynchronize(s);
    raise(SIGUSR1);
    std::printf("%d\n", in_handler[50]);
    return 0;
}

// -- threads and processes
// ------------------------------------------------------------------------------------------------

PROGRAM(thread_without_cuda_wrong) {
    cudaStream_t s = stream();
    char* h = pinned();
    char* of_thread = pinned();
    std::atomic<int> go{0};
    std::thread writer([&] {
        while (go.load() == 0) std::this_thread::yield();
        of_thread[500] = 8;  // expect: SS108
    });
    cudaMemcpyAsync(device(), h, bytes, cudaMemcpyHostToDevice, s);
    cudaMemcpyAsync(device(), of_thread, bytes, cudaMemcpyHostToDevice, s);
    h[400] = 1;  // expect: SS108
    go.store(1);
    writer.join();
    cudaStreamSynchronize(s);
    return 0;
}

PROGRAM(thread_begins_with_an_access_right) {
    cudaStream_t s = stream();
    char* h = pinned();
    cudaMemcpyAsync(h, device(), bytes, cudaMemcpyDeviceToHost, s);
    cudaStreamSynchronize(s);
    // Its first operation is an access, and calls follow.
    std::thread([&] {
        h[400] = 1;
        cudaMemcpyAsync(device(), h, bytes, cudaMemcpyHostToDevice, s);
        cudaStreamSynchronize(s);
        h[400] = 2;
    }).join();
    std::printf("%d\n", h[400]);
    return 0;
}

PROGRAM(threads_at_once_right) {
    cudaStream_t s = stream();
    char* h = pinned();
    for (int round = 0; round < 20; ++round) {
        cudaMemcpyAsync(h, device(), bytes, cudaMemcpyDeviceToHost, s);
        cudaStreamSynchronize(s);
        std::atomic<int> go{0};
        std::vector<std::thread> threads;
        for (int number = 0; number < 4; ++number) {
            threads.emplace_back([&, number] {
                ++go;
                while (go.load() < 4) std::this_thread::yield();
                std::memset(h + number * 64, number, 64);
            });
        }
        for (auto& each : threads) each.join();
    }
    std::printf("%d %d\n", h[0], h[200]);
    return 0;
}

PROGRAM(child_touches_right) {
    cudaStream_t s = stream();
    char* h = pinned();
    std::vector<char> host(8 * bytes);
    cudaHostRegister(host.data(), host.size(), 0);
    h[1] = 2;
    host[4 * bytes] = 3;
    cudaMemcpyAsync(h, device(), bytes, cudaMemcpyDeviceToHost, s);
    cudaMemcpyAsync(device(8 * bytes), host.data(), host.size(), cudaMemcpyHostToDevice, s);
    cudaStreamSynchronize(s);
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        host[4 * bytes] = 5;
        std::printf("child %d\n", host[4 * bytes]);
        std::fflush(stdout);
        _exit(h[1] == 2 ? 7 : 8);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("%d %d\n", WEXITSTATUS(status), host[4 * bytes]);
    host[4 * bytes] = 6;
    return 0;
}

char* at_the_end = nullptr;

PROGRAM(exit_with_work_in_flight_right) {
    cudaStream_t s = stream();
    at_the_end = pinned();
    std::atexit([] {
        put(at_the_end + 3, 1);
        std::printf("%d\n", get(at_the_end + 3));
    });
    cudaMemcpyAsync(at_the_end, device(), bytes, cudaMemcpyDeviceToHost, s);
    cudaStreamSynchronize(s);
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    if (const auto found = programs.find(count > 1 ? arguments[1] : ""); found != programs.end())
        return found->second();
    for (const auto& [name, run] : programs) std::puts(name.c_str());
    return 64;
}
