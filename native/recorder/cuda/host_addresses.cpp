#include "recorder/cuda/host_addresses.hpp"

#include <algorithm>
#include <link.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace streamsan::recorder::cuda {
namespace {

/// Of the program: the heap lies behind it. A program at a fixed place lies where sizes and offsets are numbers, too.
std::uint64_t end_of_program() {
    static const std::uint64_t end = [] {
        std::uint64_t found = 0;
        dl_iterate_phdr(
            [](dl_phdr_info* info, std::size_t, void* data) {
                auto& most = *static_cast<std::uint64_t*>(data);
                for (int index = 0; index < info->dlpi_phnum; ++index) {
                    const auto& part = info->dlpi_phdr[index];
                    if (part.p_type == PT_LOAD) most = std::max(most, info->dlpi_addr + part.p_vaddr + part.p_memsz);
                }
                return 1;  // the first one is the program
            },
            &found);
        return found;
    }();
    return end;
}

/// Past the C library's name for it, which a program may stand before.
bool is_readable(std::uint64_t address) {
    char byte = 0;
    const iovec here{&byte, 1};
    const iovec there{reinterpret_cast<void*>(address), 1};
    return syscall(SYS_process_vm_readv, getpid(), &here, 1UL, &there, 1UL, 0UL) == 1;
}

}  // namespace

bool is_host_address(std::uint64_t word) {
    constexpr std::uint64_t small = std::uint64_t{1} << 32;
    if (word < small) {
        const auto heap_end = reinterpret_cast<std::uint64_t>(sbrk(0));
        if (word < end_of_program() || word >= heap_end) return false;
    }
    return is_readable(word);
}

}  // namespace streamsan::recorder::cuda
