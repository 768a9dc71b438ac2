#include "recorder/run/process_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <unistd.h>

#include "recorder/run/json_text.hpp"
#include "recorder/run/rank.hpp"

#ifndef STREAMSAN_VERSION
#define STREAMSAN_VERSION ""
#endif

namespace streamsan::recorder {
namespace {

constexpr std::string_view suffix = ".sst";
constexpr std::size_t most_of_command = 1 << 16;

bool is_utf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const auto first = static_cast<unsigned char>(text[at]);
        const std::size_t length = first < 0x80                    ? 1
                                   : first >= 0xc2 && first < 0xe0 ? 2
                                   : first >= 0xe0 && first < 0xf0 ? 3
                                   : first >= 0xf0 && first < 0xf5 ? 4
                                                                   : 0;
        if (length == 0 || at + length > text.size()) return false;
        for (std::size_t next = 1; next < length; ++next) {
            if ((static_cast<unsigned char>(text[at + next]) & 0xc0) != 0x80) return false;
        }
        at += length;
    }
    return true;
}

std::string command() {
    const std::string line = contents_of("/proc/self/cmdline", most_of_command);
    std::string json = "[";
    for (std::size_t at = 0; at < line.size();) {
        const std::size_t end = std::min(line.find('\0', at), line.size());
        if (at != 0) json += ", ";
        json += as_json(text_of(line.substr(at, end - at)));
        at = end + 1;
    }
    return json + "]";
}

/// Whether the process is a program of its own: the kernel forgets at an exec that it was forked (PF_FORKNOEXEC of
/// include/linux/sched.h; `flags` is the ninth field of the line, the second of which may hold anything).
bool began_by_exec() {
    constexpr std::size_t most_of_line = 4096;
    constexpr int fields_before_flags = 7;
    constexpr unsigned long forked_without_exec = 0x40;
    const std::string line = contents_of("/proc/self/stat", most_of_line);
    std::size_t at = line.rfind(')');
    for (int field = 0; at != std::string::npos && field < fields_before_flags; ++field) at = line.find(' ', at + 1);
    if (at == std::string::npos) return false;
    const char* const digits = line.c_str() + at + 1;
    char* end = nullptr;
    const unsigned long flags = std::strtoul(digits, &end, 10);
    return end != digits && (flags & forked_without_exec) == 0;
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string metadata(const Settings& settings, std::string_view platform, pid_t parent) {
    const std::string process = std::to_string(getpid());
    std::string json = "{" + std::string(platform) + R"(, "origin": "recording", "tool": )";
    json += as_json(std::string("streamsan") + (*STREAMSAN_VERSION != '\0' ? " " STREAMSAN_VERSION : ""));
    if (!settings.run.empty()) json += ", \"run\": " + as_json(text_of(settings.run));
    if (!settings.code.empty()) json += ", \"code\": " + as_json(text_of(last_part(settings.code)));
    if (!settings.code_left_out.empty()) json += ", \"code_left_out\": " + as_json(text_of(settings.code_left_out));
    json += ", \"processes\": [" + process + "], \"process\": " + process + ", \"parent\": " + std::to_string(parent);
    if (parent != 0 && began_by_exec()) json += ", \"forked\": false";
    json += rank_members();
    // What identifies people is never written; what is needed until the end of the run (paths of modules) is removed
    // then.
    return json + (settings.redact ? ", \"redacted\": true}" : ", \"command\": " + command() + "}");
}

/// Takes a name for this process alone: an exec leaves the id, and the file of what the process was before.
bool take(const Settings& settings, const std::string& mark) {
    if (settings.counter.empty()) return true;
    const std::string path = settings.counter + '.' + mark;
    const int file = open(path.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0) return errno != EEXIST;
    close(file);
    return true;
}

}  // namespace

std::string contents_of(const char* path, std::size_t most) {
    std::ifstream file(path, std::ios::binary);
    std::string text(most, '\0');
    file.read(text.data(), static_cast<std::streamsize>(most));
    text.resize(static_cast<std::size_t>(file.gcount()));
    return text;
}

std::string text_of(std::string text) {
    if (is_utf8(text)) return text;
    for (char& letter : text) {
        if (static_cast<unsigned char>(letter) >= 0x80) letter = '?';
    }
    return text;
}

WriterOptions options_of_process(const Settings& settings, std::string_view platform) {
    WriterOptions options;
    options.max_bytes = settings.max_bytes;
    options.counter = settings.counter;
    const std::string process = std::to_string(getpid());
    if (getpid() == settings.root_pid && take(settings, "root")) {
        options.path = settings.output;
        options.metadata = metadata(settings, platform, 0);
        return options;
    }
    std::string stem = settings.output;
    if (stem.ends_with(suffix)) stem.resize(stem.size() - suffix.size());
    stem += '.' + process;
    constexpr int most_programs = 1000;
    std::string name = stem;
    bool first = take(settings, process);
    for (int program = 2; !first && program < most_programs; ++program) {
        const std::string number = '-' + std::to_string(program);
        name = stem + number;
        if (take(settings, process + number)) break;
    }
    // What the process was before an exec made it, as it were.
    first = first && getpid() != settings.root_pid;
    options.path = name + std::string(suffix);
    options.metadata = metadata(settings, platform, first ? getppid() : getpid());
    return options;
}

}  // namespace streamsan::recorder
