#include "recorder/run/omissions.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <mutex>
#include <string>
#include <unistd.h>
#include <vector>

#include "recorder/trace_writer/private_file.hpp"

namespace streamsan::recorder {
namespace {

struct Omissions {
    std::mutex mutex;
    std::string path;
    std::vector<std::string> lines;
};

Omissions& all() {
    static Omissions& omissions = *new Omissions;
    return omissions;
}

constexpr std::size_t most_lines = 256;

void append(const std::string& path, std::string line) {
    std::replace(line.begin(), line.end(), '\n', ' ');
    line += '\n';
    const int file = open_shared_file(path, O_APPEND);
    if (file < 0) return;
    // In one piece: other processes write there too.
    [[maybe_unused]] const ssize_t written = write(file, line.data(), line.size());
    close(file);
}

}  // namespace

void note_omissions_in(std::string_view path) noexcept {
    try {
        const std::lock_guard lock(all().mutex);
        all().path = path;
    } catch (...) {
    }
}

void note_omission(std::string_view line) noexcept {
    const int before = errno;
    try {
        const std::lock_guard lock(all().mutex);
        std::vector<std::string>& lines = all().lines;
        if (lines.size() < most_lines && std::find(lines.begin(), lines.end(), line) == lines.end()) {
            lines.emplace_back(line);
            if (!all().path.empty()) append(all().path, std::string(line));
        }
    } catch (...) {
    }
    errno = before;
}

void note_lost_call(std::string_view name) noexcept {
    try {
        note_omission("a call of " + std::string(name) + " is not recorded, or not whole: the recorder failed in it");
    } catch (...) {
    }
}

}  // namespace streamsan::recorder
