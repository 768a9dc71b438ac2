// The C library's functions that give a buffer of the program to the kernel, as the program meets them when this
// library is preloaded. In a protected page the kernel would answer EFAULT: the buffer is opened first. Not preloaded,
// nobody calls these.
//
// `fread` and its like read into the caller's buffer by calls inside the C library, which do not come through here.
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include <aio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "recorder/host/host_memory.hpp"
#include "recorder/host/next_function.hpp"
#include "recorder/sites/native_stack.hpp"

// `_chk` variants are called in place of the plain ones where a program was compiled with _FORTIFY_SOURCE.
#define STREAMSAN_INTERPOSED extern "C" __attribute__((visibility("default")))

using streamsan::recorder::call_sites::stack_start;
using streamsan::recorder::host::KernelBuffers;
using streamsan::recorder::host::NextFunction;

namespace {

constexpr bool filled = true;  // by the kernel
constexpr bool sent = false;

void add_all(KernelBuffers& buffers, const struct iovec* parts, std::size_t count, bool writes) {
    // What the kernel refuses as well is left to it.
    constexpr std::size_t most = 1024;
    if (streamsan::recorder::host::host_memory.load(std::memory_order_relaxed) == nullptr || parts == nullptr) return;
    for (std::size_t index = 0; index < count && count <= most; ++index)
        buffers.add(parts[index].iov_base, parts[index].iov_len, writes);
}

void add_message(KernelBuffers& buffers, const struct msghdr* message, bool writes) {
    if (message == nullptr) return;
    add_all(buffers, message->msg_iov, message->msg_iovlen, writes);
    buffers.add(message->msg_control, message->msg_controllen, writes);
}

}  // namespace

// X(name, type of the answer, declared parameters, names of them, buffers)
#define STREAMSAN_CALL(name, Answer, parameters, arguments, buffers_of_it) \
    STREAMSAN_INTERPOSED Answer name parameters {                          \
        static constinit NextFunction<Answer parameters> next{#name};      \
        KernelBuffers buffers(stack_start());                              \
        buffers_of_it;                                                     \
        return next.get() arguments;                                       \
    }

STREAMSAN_CALL(read, ssize_t, (int file, void* to, std::size_t size), (file, to, size), buffers.add(to, size, filled))
STREAMSAN_CALL(__read_chk, ssize_t, (int file, void* to, std::size_t size, std::size_t room), (file, to, size, room),
               buffers.add(to, size, filled))
STREAMSAN_CALL(pread, ssize_t, (int file, void* to, std::size_t size, off_t at), (file, to, size, at),
               buffers.add(to, size, filled))
STREAMSAN_CALL(__pread_chk, ssize_t, (int file, void* to, std::size_t size, off_t at, std::size_t room),
               (file, to, size, at, room), buffers.add(to, size, filled))
STREAMSAN_CALL(pread64, ssize_t, (int file, void* to, std::size_t size, off64_t at), (file, to, size, at),
               buffers.add(to, size, filled))
STREAMSAN_CALL(__pread64_chk, ssize_t, (int file, void* to, std::size_t size, off64_t at, std::size_t room),
               (file, to, size, at, room), buffers.add(to, size, filled))
STREAMSAN_CALL(readv, ssize_t, (int file, const struct iovec* parts, int count), (file, parts, count),
               add_all(buffers, parts, static_cast<std::size_t>(count), filled))
STREAMSAN_CALL(preadv, ssize_t, (int file, const struct iovec* parts, int count, off_t at), (file, parts, count, at),
               add_all(buffers, parts, static_cast<std::size_t>(count), filled))
STREAMSAN_CALL(preadv64, ssize_t, (int file, const struct iovec* parts, int count, off64_t at),
               (file, parts, count, at), add_all(buffers, parts, static_cast<std::size_t>(count), filled))
STREAMSAN_CALL(preadv2, ssize_t, (int file, const struct iovec* parts, int count, off_t at, int flags),
               (file, parts, count, at, flags), add_all(buffers, parts, static_cast<std::size_t>(count), filled))
STREAMSAN_CALL(preadv64v2, ssize_t, (int file, const struct iovec* parts, int count, off64_t at, int flags),
               (file, parts, count, at, flags), add_all(buffers, parts, static_cast<std::size_t>(count), filled))
STREAMSAN_CALL(recv, ssize_t, (int socket, void* to, std::size_t size, int flags), (socket, to, size, flags),
               buffers.add(to, size, filled))
STREAMSAN_CALL(__recv_chk, ssize_t, (int socket, void* to, std::size_t size, std::size_t room, int flags),
               (socket, to, size, room, flags), buffers.add(to, size, filled))
STREAMSAN_CALL(recvfrom, ssize_t,
               (int socket, void* to, std::size_t size, int flags, struct sockaddr* from, socklen_t* length),
               (socket, to, size, flags, from, length), buffers.add(to, size, filled))
STREAMSAN_CALL(__recvfrom_chk, ssize_t,
               (int socket, void* to, std::size_t size, std::size_t room, int flags, struct sockaddr* from,
                socklen_t* length),
               (socket, to, size, room, flags, from, length), buffers.add(to, size, filled))
STREAMSAN_CALL(recvmsg, ssize_t, (int socket, struct msghdr* message, int flags), (socket, message, flags),
               add_message(buffers, message, filled))
STREAMSAN_CALL(recvmmsg, int, (int socket, struct mmsghdr* messages, unsigned count, int flags, struct timespec* most),
               (socket, messages, count, flags, most),
               for (unsigned each = 0; messages != nullptr && each < count && each < 1024; ++each)
                   add_message(buffers, &messages[each].msg_hdr, filled))
STREAMSAN_CALL(getrandom, ssize_t, (void* to, std::size_t size, unsigned flags), (to, size, flags),
               buffers.add(to, size, filled))
STREAMSAN_CALL(getentropy, int, (void* to, std::size_t size), (to, size), buffers.add(to, size, filled))

STREAMSAN_CALL(write, ssize_t, (int file, const void* from, std::size_t size), (file, from, size),
               buffers.add(from, size, sent))
STREAMSAN_CALL(pwrite, ssize_t, (int file, const void* from, std::size_t size, off_t at), (file, from, size, at),
               buffers.add(from, size, sent))
STREAMSAN_CALL(pwrite64, ssize_t, (int file, const void* from, std::size_t size, off64_t at), (file, from, size, at),
               buffers.add(from, size, sent))
STREAMSAN_CALL(writev, ssize_t, (int file, const struct iovec* parts, int count), (file, parts, count),
               add_all(buffers, parts, static_cast<std::size_t>(count), sent))
STREAMSAN_CALL(pwritev, ssize_t, (int file, const struct iovec* parts, int count, off_t at), (file, parts, count, at),
               add_all(buffers, parts, static_cast<std::size_t>(count), sent))
STREAMSAN_CALL(pwritev64, ssize_t, (int file, const struct iovec* parts, int count, off64_t at),
               (file, parts, count, at), add_all(buffers, parts, static_cast<std::size_t>(count), sent))
STREAMSAN_CALL(pwritev2, ssize_t, (int file, const struct iovec* parts, int count, off_t at, int flags),
               (file, parts, count, at, flags), add_all(buffers, parts, static_cast<std::size_t>(count), sent))
STREAMSAN_CALL(pwritev64v2, ssize_t, (int file, const struct iovec* parts, int count, off64_t at, int flags),
               (file, parts, count, at, flags), add_all(buffers, parts, static_cast<std::size_t>(count), sent))
STREAMSAN_CALL(send, ssize_t, (int socket, const void* from, std::size_t size, int flags), (socket, from, size, flags),
               buffers.add(from, size, sent))
STREAMSAN_CALL(sendto, ssize_t,
               (int socket, const void* from, std::size_t size, int flags, const struct sockaddr* to, socklen_t length),
               (socket, from, size, flags, to, length), buffers.add(from, size, sent))
STREAMSAN_CALL(sendmsg, ssize_t, (int socket, const struct msghdr* message, int flags), (socket, message, flags),
               add_message(buffers, message, sent))
STREAMSAN_CALL(sendmmsg, int, (int socket, struct mmsghdr* messages, unsigned count, int flags),
               (socket, messages, count, flags),
               for (unsigned each = 0; messages != nullptr && each < count && each < 1024; ++each)
                   add_message(buffers, &messages[each].msg_hdr, sent))
STREAMSAN_CALL(vmsplice, ssize_t, (int file, const struct iovec* parts, std::size_t count, unsigned flags),
               (file, parts, count, flags), add_all(buffers, parts, count, sent))
STREAMSAN_CALL(process_vm_readv, ssize_t,
               (pid_t process, const struct iovec* to, unsigned long to_count, const struct iovec* from,
                unsigned long from_count, unsigned long flags),
               (process, to, to_count, from, from_count, flags), add_all(buffers, to, to_count, filled))
STREAMSAN_CALL(process_vm_writev, ssize_t,
               (pid_t process, const struct iovec* from, unsigned long from_count, const struct iovec* to,
                unsigned long to_count, unsigned long flags),
               (process, from, from_count, to, to_count, flags), add_all(buffers, from, from_count, sent))

// Of buffered files: large pieces go past the buffer.
STREAMSAN_CALL(fread, std::size_t, (void* to, std::size_t size, std::size_t count, FILE* file), (to, size, count, file),
               buffers.add(to, size* count, filled))
STREAMSAN_CALL(__fread_chk, std::size_t, (void* to, std::size_t room, std::size_t size, std::size_t count, FILE* file),
               (to, room, size, count, file), buffers.add(to, size* count, filled))
STREAMSAN_CALL(fread_unlocked, std::size_t, (void* to, std::size_t size, std::size_t count, FILE* file),
               (to, size, count, file), buffers.add(to, size* count, filled))
STREAMSAN_CALL(__fread_unlocked_chk, std::size_t,
               (void* to, std::size_t room, std::size_t size, std::size_t count, FILE* file),
               (to, room, size, count, file), buffers.add(to, size* count, filled))
STREAMSAN_CALL(fwrite, std::size_t, (const void* from, std::size_t size, std::size_t count, FILE* file),
               (from, size, count, file), buffers.add(from, size* count, sent))
STREAMSAN_CALL(fwrite_unlocked, std::size_t, (const void* from, std::size_t size, std::size_t count, FILE* file),
               (from, size, count, file), buffers.add(from, size* count, sent))

// Asynchronous ones: a thread of the C library calls the kernel. From here to there the buffer is the program's to
// leave alone.
STREAMSAN_CALL(aio_read, int, (struct aiocb * request), (request),
               buffers.add(const_cast<void*>(request->aio_buf), request->aio_nbytes, filled))
STREAMSAN_CALL(aio_write, int, (struct aiocb * request), (request),
               buffers.add(const_cast<void*>(request->aio_buf), request->aio_nbytes, sent))
STREAMSAN_CALL(aio_read64, int, (struct aiocb64 * request), (request),
               buffers.add(const_cast<void*>(request->aio_buf), request->aio_nbytes, filled))
STREAMSAN_CALL(aio_write64, int, (struct aiocb64 * request), (request),
               buffers.add(const_cast<void*>(request->aio_buf), request->aio_nbytes, sent))

// Those of which only the address is known: what they reach lies within a page.
STREAMSAN_INTERPOSED int ioctl(int file, unsigned long request, ...) {
    static constinit NextFunction<int(int, unsigned long, ...)> next{"ioctl"};
    std::va_list more;
    va_start(more, request);
    void* const argument = va_arg(more, void*);
    va_end(more);
    // The request says how large the structure is, where it follows the rule.
    const std::size_t size = (request >> 16 & 0x3fff) != 0 ? request >> 16 & 0x3fff : 1;
    KernelBuffers buffers(stack_start());
    buffers.add(argument, size, filled);
    return next.get()(file, request, argument);
}

STREAMSAN_INTERPOSED long syscall(long number, ...) noexcept {
    static constinit NextFunction<long(long, ...)> next{"syscall"};
    std::va_list more;
    va_start(more, number);
    std::uint64_t words[6];
    for (std::uint64_t& word : words) word = va_arg(more, std::uint64_t);
    va_end(more);
    KernelBuffers buffers(stack_start());
    switch (number) {
        case SYS_read:
        case SYS_pread64:
        case SYS_recvfrom: buffers.add(reinterpret_cast<void*>(words[1]), words[2], filled); break;
        case SYS_write:
        case SYS_pwrite64:
        case SYS_sendto: buffers.add(reinterpret_cast<void*>(words[1]), words[2], sent); break;
        case SYS_readv:
        case SYS_preadv:
        case SYS_preadv2: add_all(buffers, reinterpret_cast<const struct iovec*>(words[1]), words[2], filled); break;
        case SYS_writev:
        case SYS_pwritev:
        case SYS_pwritev2: add_all(buffers, reinterpret_cast<const struct iovec*>(words[1]), words[2], sent); break;
        case SYS_getrandom: buffers.add(reinterpret_cast<void*>(words[0]), words[1], filled); break;
        case SYS_io_uring_setup:
            if (auto* const memory = streamsan::recorder::host::host_memory.load(std::memory_order_acquire))
                memory->ring_was_asked_for.store(true, std::memory_order_relaxed);
            break;
        case SYS_futex: buffers.add(reinterpret_cast<void*>(words[0]), sizeof(int), sent); break;
        default: break;
    }
    return next.get()(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
