#include "recorder/host/host_memory.hpp"

#include <cerrno>

#include <dlfcn.h>
#include <signal.h>
#include <ucontext.h>

#include "recorder/host/fault_chain.hpp"
#include "recorder/host/next_function.hpp"

namespace streamsan::recorder::host {

constinit std::atomic<HostMemory*> host_memory{nullptr};

namespace {

/// A fault of a page that another thread has opened meanwhile: tried again, but not for ever.
struct Retries {
    std::uint64_t address;
    std::uint64_t instruction;
    unsigned count;
};
thread_local constinit Retries retries __attribute__((tls_model("initial-exec"))) = {};

bool try_again(std::uint64_t address, std::uint64_t instruction) noexcept {
    constexpr unsigned most = 100;
    if (retries.address != address || retries.instruction != instruction) retries = {address, instruction, 0};
    return ++retries.count < most;
}

bool on_fault(const siginfo_t& fault, void* context) noexcept {
#if defined(__x86_64__)
    HostMemory* const memory = host_memory.load(std::memory_order_acquire);
    const auto address = reinterpret_cast<std::uint64_t>(fault.si_addr);
    if (memory == nullptr || !memory->known.maybe(address)) return false;
    const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    constexpr greg_t by_write = 2;
    const bool writes = (registers[REG_ERR] & by_write) != 0;
    const auto instruction = static_cast<std::uint64_t>(registers[REG_RIP]);
    const Met met = memory->protection.accessed(address, writes);
    if (met == Met::nothing) return try_again(address, instruction);
    retries.count = 0;
    if (met == Met::use && !memory->inside_api()) {
        memory->notes.add(address, 1, writes,
                          {instruction + 1, static_cast<std::uint64_t>(registers[REG_RSP]),
                           static_cast<std::uint64_t>(registers[REG_RBP])});
    }
    return true;
#else
    static_cast<void>(fault);
    static_cast<void>(context);
    return false;
#endif
}

}  // namespace

bool is_preloaded() noexcept {
    const void* const first = dlsym(RTLD_DEFAULT, "sigaction");
    const void* const next = dlsym(RTLD_NEXT, "sigaction");
    return first != nullptr && first != next;
}

const char* begin_host_memory(HostMemory& memory) noexcept {
#if defined(__x86_64__)
    host_memory.store(&memory, std::memory_order_release);
    if (begin_fault_chain(on_fault)) return "";
    host_memory.store(nullptr, std::memory_order_release);
    return "the kernel refuses a handler of SIGSEGV";
#else
    static_cast<void>(memory);
    return "this processor is not an x86-64";
#endif
}

void KernelBuffers::look(std::uint64_t begin, std::uint64_t size, bool writes) noexcept {
    const std::uint64_t end = begin + size < begin ? ~std::uint64_t{0} : begin + size;
    // Two looks are enough for what is smaller than the map's granules; what is larger is nearly always memory that is
    // not the program's own, or all of it.
    const std::uint64_t last = end - 1;
    if (!memory_->known.maybe(begin) && !memory_->known.maybe(last)) return;
    const int before = errno;
    if (count_ < most) {
        const int number = memory_->protection.begin_call(begin, end);
        if (number >= 0) calls_[count_++] = number;
    }
    std::uint64_t first = 0;
    const Met met = memory_->protection.given_to_kernel(begin, end, writes, first);
    if (met == Met::use && !memory_->inside_api()) memory_->notes.add(first, end - first, writes, start_);
    errno = before;
}

KernelBuffers::~KernelBuffers() {
    for (unsigned index = 0; index < count_; ++index) memory_->protection.end_call(calls_[index]);
}

}  // namespace streamsan::recorder::host
