// A file descriptor in a program that is not ours.
#pragma once
#include <cstdint>
#include <string>
#include <sys/types.h>

namespace streamsan::recorder {

/// An open file. The program may close descriptors it never opened (daemons close them all) and get our number for a
/// file of its own: writing there would destroy its data. So the descriptor is checked against the inode before each
/// use, and opened again by name when it is no longer ours.
class HeldFile {
public:
    HeldFile() = default;
    ~HeldFile() { close(); }
    HeldFile(const HeldFile&) = delete;
    HeldFile& operator=(const HeldFile&) = delete;

    /// Makes `path` (absolute) as a private file. Returns 0 or errno.
    int make(std::string path);
    /// The descriptor, certainly of this file; -1 when the file can no longer be reached.
    int descriptor();
    /// The name it can be opened by again (it was moved).
    void moved(std::string path) { path_ = std::move(path); }
    [[nodiscard]] const std::string& path() const { return path_; }
    void close();

private:
    [[nodiscard]] bool ours(int descriptor) const;

    std::string path_;
    int descriptor_ = -1;
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

}  // namespace streamsan::recorder
