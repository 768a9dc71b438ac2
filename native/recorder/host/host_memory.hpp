// The host memory that work uses, and how accesses of the program to it are noticed.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "recorder/host/access_notes.hpp"
#include "recorder/host/protection.hpp"
#include "recorder/memory/address_map.hpp"

namespace streamsan::recorder::host {

struct HostMemory {
    HostMemory(Writer& writer, Sites& sites, bool (*inside)() noexcept) : inside_api(inside), notes(writer, sites) {}

    bool (*const inside_api)() noexcept;  ///< the calling thread is in a call of the API: what it touches, the driver
                                          ///< touches
    std::atomic<bool> ring_was_asked_for{false};  ///< an io_uring, by a system call that came through here
    AddressMap known;                             ///< pinned, registered and managed memory
    Protection protection;
    AccessNotes notes;
};

/// Null where accesses of the host are not recorded. Never destroyed.
extern constinit std::atomic<HostMemory*> host_memory;

/// Lets accesses be noticed. Returns "", or why that is impossible.
const char* begin_host_memory(HostMemory& memory) noexcept;
/// Whether this library was loaded before the C library, so that the program's calls of it come through here.
bool is_preloaded() noexcept;

/// Buffers that a call of the C library gives to the kernel, which answers EFAULT where a page is protected: they are
/// open while this lives, and an access of the program is noted. `start`: of the function that the program called.
class KernelBuffers {
public:
    explicit KernelBuffers(const call_sites::StackStart& start) noexcept
        : memory_(host_memory.load(std::memory_order_acquire)), start_(start) {}
    ~KernelBuffers();
    KernelBuffers(const KernelBuffers&) = delete;
    KernelBuffers& operator=(const KernelBuffers&) = delete;

    void add(const void* buffer, std::size_t size, bool writes) noexcept {
        if (memory_ != nullptr && size != 0) [[unlikely]]
            look(reinterpret_cast<std::uint64_t>(buffer), size, writes);
    }

private:
    void look(std::uint64_t begin, std::uint64_t size, bool writes) noexcept;

    static constexpr unsigned most = 8;
    HostMemory* const memory_;
    const call_sites::StackStart start_;
    unsigned count_ = 0;
    int calls_[most];
};

}  // namespace streamsan::recorder::host
