#include "recorder/cuda/code_folder.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/trace_writer/undisturbed.hpp"

namespace streamsan::recorder::cuda {
namespace {

/// A descriptor of ours for a moment: the program may close any that it finds.
class Descriptor {
public:
    explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
    ~Descriptor() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    [[nodiscard]] int get() const { return descriptor_; }

private:
    int descriptor_;
};

/// Of the user alone, or nobody's: what lies there may be taken for code that ran.
bool is_private(int folder) {
    struct stat status{};
    return fstat(folder, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool is_there(int folder, const std::string& name, std::size_t size) {
    struct stat status{};
    return fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
           static_cast<std::size_t>(status.st_size) == size;
}

bool write_whole(int file, std::span<const unsigned char> bytes) {
    while (!bytes.empty()) {
        const ssize_t done = ::write(file, bytes.data(), bytes.size());
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return false;
        if (done == 0) {
            errno = ENOSPC;
            return false;
        }
        bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
    return true;
}

/// Under another name first: who is killed leaves nothing that looks whole.
bool write_image(int folder, const std::string& name, std::span<const unsigned char> image) {
    const std::string part = name + "." + std::to_string(syscall(SYS_gettid)) + ".part";
    constexpr int flags = O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC;
    int made = openat(folder, part.c_str(), flags, 0600);
    // One that a thread of this id left in another life.
    if (made < 0 && errno == EEXIST && unlinkat(folder, part.c_str(), 0) == 0)
        made = openat(folder, part.c_str(), flags, 0600);
    const Descriptor file(made);
    if (file.get() >= 0 && write_whole(file.get(), image) && renameat(folder, part.c_str(), folder, name.c_str()) == 0)
        return true;
    const int error = errno;
    if (file.get() >= 0) unlinkat(folder, part.c_str(), 0);
    errno = error;
    return false;
}

}  // namespace

bool CodeFolder::keep(const std::string& folder, const std::string& name, std::span<const unsigned char> image,
                      std::string& reason) {
    const Undisturbed undisturbed;
    const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (opened.get() < 0) {
        reason = std::string("its folder: ") + std::strerror(errno);
        return false;
    }
    if (!is_private(opened.get())) {
        reason = "its folder is somebody else's";
        return false;
    }
    const std::string file = name + ".cubin";
    if (is_there(opened.get(), file, image.size())) return true;
    if (image.size() > most_of_image) {
        reason = "an image is larger than 64 MiB";
        return false;
    }
    if (written_.fetch_add(image.size()) + image.size() > most_of_process) {
        written_.fetch_sub(image.size());
        reason = "a process has more than 512 MiB of it";
        return false;
    }
    if (write_image(opened.get(), file, image)) return true;
    written_.fetch_sub(image.size());
    reason = std::string("its folder: ") + std::strerror(errno);
    return false;
}

}  // namespace streamsan::recorder::cuda
