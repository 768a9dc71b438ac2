// Keeps a stretch of the recorder's own work from being interrupted, and from being seen.
#pragma once
#include <cerrno>
#include <pthread.h>
#include <signal.h>

namespace streamsan::recorder {

/// While it lives, on the calling thread: no signal handler runs (one that called the API would meet our locks), no
/// cancellation happens (open and write are cancellation points), and SIGXFSZ, which a file size limit raises on top of
/// EFBIG and whose default is death, is swallowed. errno is the program's again afterwards.
class Undisturbed {
public:
    Undisturbed() noexcept : errno_(errno) {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_);
        sigset_t blocked;
        sigfillset(&blocked);
        // Faults of our own would only turn into a silent death when they are blocked.
        for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) sigdelset(&blocked, fault);
        pthread_sigmask(SIG_BLOCK, &blocked, &mask_);
        sigset_t pending;
        sigpending(&pending);
        limit_was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    }
    ~Undisturbed() {
        if (!limit_was_pending_) {
            sigset_t limit;
            sigemptyset(&limit);
            sigaddset(&limit, SIGXFSZ);
            const timespec at_once{0, 0};
            while (sigtimedwait(&limit, nullptr, &at_once) == -1 && errno == EINTR) {
            }
        }
        pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
        int unused = 0;
        pthread_setcancelstate(cancel_, &unused);
        errno = errno_;
    }
    Undisturbed(const Undisturbed&) = delete;
    Undisturbed& operator=(const Undisturbed&) = delete;

private:
    int errno_;
    int cancel_ = PTHREAD_CANCEL_ENABLE;
    sigset_t mask_;
    bool limit_was_pending_ = false;
};

}  // namespace streamsan::recorder
