#include "recorder/trace_writer/private_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace streamsan::recorder {
namespace {

constexpr mode_t owner_alone = 0600;

/// Opens with O_EXCL, which follows no link either.
int made(const std::string& path, int flags) {
    return ::open(path.c_str(), flags | O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, owner_alone);
}

bool left_by_us(const std::string& path) {
    struct stat status{};
    return lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
           status.st_nlink == 1;
}

}  // namespace

int make_private_file(const std::string& path) {
    const int descriptor = made(path, 0);
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
    if (left_by_us(path) && unlink(path.c_str()) == 0) return made(path, 0);
    errno = EEXIST;
    return -1;
}

int open_shared_file(const std::string& path, int flags) {
    constexpr int attempts = 8;  // another process may make it, or remove it, between the two calls
    int descriptor = -1;
    for (int attempt = 0; attempt < attempts && descriptor < 0; ++attempt) {
        // O_NONBLOCK: a pipe in its place must not make the program wait.
        descriptor = ::open(path.c_str(), flags | O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (descriptor >= 0 || errno != ENOENT) break;
        descriptor = made(path, flags);
        if (descriptor < 0 && errno != EEXIST) break;
    }
    if (descriptor < 0) return -1;
    struct stat status{};
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1 &&
        (status.st_uid == geteuid() || geteuid() == 0))
        return descriptor;
    ::close(descriptor);
    errno = EPERM;
    return -1;
}

}  // namespace streamsan::recorder
