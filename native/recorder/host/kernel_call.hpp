// System calls without the C library: its functions may be ours, set errno, and be points of cancellation.
#pragma once
#include <cerrno>
#include <cstdint>

#include <sys/syscall.h>
#include <unistd.h>

namespace streamsan::recorder::host {

/// The kernel's answer: below 0 for an error.
template <class... Arguments>
inline long kernel_call(long number, Arguments... arguments) noexcept {
    static_assert(sizeof...(Arguments) <= 6);
    const std::uint64_t words[6] = {(std::uint64_t)arguments...};
#if defined(__x86_64__)
    long answer = number;
    register std::uint64_t fourth asm("r10") = words[3];
    register std::uint64_t fifth asm("r8") = words[4];
    register std::uint64_t sixth asm("r9") = words[5];
    asm volatile("syscall"
                 : "+a"(answer)
                 : "D"(words[0]), "S"(words[1]), "d"(words[2]), "r"(fourth), "r"(fifth), "r"(sixth)
                 : "rcx", "r11", "memory");
    return answer;
#else
    const int before = errno;
    long answer = syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
    if (answer == -1) answer = -errno;
    errno = before;
    return answer;
#endif
}

}  // namespace streamsan::recorder::host
