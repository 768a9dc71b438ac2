#include "recorder/trace_writer/held_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/trace_writer/private_file.hpp"

namespace streamsan::recorder {

int HeldFile::make(std::string path) {
    close();
    const int descriptor = make_private_file(path);
    if (descriptor < 0) return errno;
    struct stat status{};
    if (fstat(descriptor, &status) != 0) {
        const int error = errno;
        ::close(descriptor);
        return error;
    }
    descriptor_ = descriptor;
    device_ = status.st_dev;
    inode_ = status.st_ino;
    path_ = std::move(path);
    return 0;
}

bool HeldFile::ours(int descriptor) const {
    struct stat status{};
    return descriptor >= 0 && fstat(descriptor, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

int HeldFile::descriptor() {
    if (ours(descriptor_)) return descriptor_;
    descriptor_ = inode_ == 0 ? -1 : ::open(path_.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor_ >= 0 && !ours(descriptor_)) {
        ::close(descriptor_);
        descriptor_ = -1;
    }
    return descriptor_;
}

void HeldFile::close() {
    if (ours(descriptor_)) ::close(descriptor_);
    descriptor_ = -1;
}

}  // namespace streamsan::recorder
