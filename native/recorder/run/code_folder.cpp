#include "recorder/run/code_folder.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/run/json_text.hpp"
#include "recorder/trace_writer/undisturbed.hpp"

namespace streamsan::recorder {
namespace {

/// The two halves of a product: each bit of the factors reaches both.
std::uint64_t folded_product(std::uint64_t one, std::uint64_t other) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(one) * other;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// 32 hexadecimal digits that name an image by its content.
std::string name_of_content(std::span<const unsigned char> image) {
    // Two sums over 32 bytes at a time, each of products of all their words: they agree by chance once in 2^128.
    constexpr std::array<std::uint64_t, 6> keys{0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9,
                                                0xd6e8feb86659fd93, 0xa0761d6478bd642f, 0xe7037ed1a0b428db};
    std::array<std::uint64_t, 2> sums{keys[0] ^ image.size(), keys[1] + image.size()};
    constexpr std::size_t portion = 32;
    for (std::size_t at = 0; at < image.size(); at += portion) {
        std::uint64_t words[portion / sizeof(std::uint64_t)]{};
        std::memcpy(words, image.data() + at, std::min(portion, image.size() - at));
        const std::uint64_t first = folded_product(words[0] ^ keys[2], words[1] ^ keys[3]) + words[0] +
                                    folded_product(words[2] ^ keys[4], words[3] ^ keys[5]);
        const std::uint64_t second = folded_product(words[0] ^ keys[5], words[2] ^ keys[2]) + words[3] +
                                     folded_product(words[1] ^ keys[4], words[3] ^ keys[0]);
        sums[0] = std::rotl((sums[0] ^ first) * keys[0], 29);
        sums[1] = std::rotl((sums[1] ^ second) * keys[1], 31);
    }
    const std::uint64_t halves[] = {folded_product(sums[0] ^ keys[4], sums[1] ^ keys[2]) ^ sums[0],
                                    folded_product(sums[1] ^ keys[5], sums[0] ^ keys[3]) + sums[1]};
    constexpr std::string_view digits = "0123456789abcdef";
    std::string name;
    for (const std::uint64_t half : halves)
        for (int shift = 60; shift >= 0; shift -= 4) name += digits[half >> shift & 15];
    return name;
}

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

std::string CodeFolder::keep(const Settings& settings, Writer& writer, std::string_view suffix,
                             std::span<const unsigned char> image) {
    std::string reason;
    std::string name = name_of_content(image);
    if (write(settings.code, name + std::string(suffix), image, reason)) return name;
    if (!said_.exchange(true)) writer.add_metadata("\"code_left_out\": " + as_json(reason));
    return "";
}

bool CodeFolder::write(const std::string& folder, const std::string& file, std::span<const unsigned char> image,
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

}  // namespace streamsan::recorder
