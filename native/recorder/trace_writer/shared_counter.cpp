#include "recorder/trace_writer/shared_counter.hpp"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recorder/trace_writer/private_file.hpp"

namespace streamsan::recorder {
namespace {

constexpr std::size_t counter_bytes = 4096;

std::uint64_t nanoseconds(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

/// The value of a word that is written once, by whoever comes first.
std::uint64_t settled(std::atomic<std::uint64_t>& word, std::uint64_t proposal) {
    std::uint64_t found = 0;
    return word.compare_exchange_strong(found, proposal) ? proposal : found;
}

}  // namespace

SharedCounter::~SharedCounter() {
    if (page_ != nullptr) munmap(page_, counter_bytes);
}

std::string SharedCounter::open(const std::string& path) {
    const auto failed = [&path](int error) { return path + ": " + std::strerror(error); };
    int descriptor = -1;
    if (!path.empty()) {
        descriptor = open_shared_file(path, 0);
        if (descriptor < 0) return failed(errno);
        int error = fallocate(descriptor, 0, 0, counter_bytes) == 0 ? 0 : errno;
        // Without reservation: a byte that nobody counts in takes the block. Another process may count already.
        const char zero = 0;
        if (error == EOPNOTSUPP || error == ENOSYS)
            error = pwrite(descriptor, &zero, 1, counter_bytes - 1) == 1 ? 0 : errno;
        if (error != 0) {
            ::close(descriptor);
            return failed(error);
        }
    }
    void* page = mmap(nullptr, counter_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (descriptor < 0 ? MAP_ANONYMOUS : 0),
                      descriptor, 0);
    const int error = errno;
    if (descriptor >= 0) ::close(descriptor);
    if (page == MAP_FAILED) return failed(error);
    page_ = static_cast<Page*>(page);
    return "";
}

std::uint64_t SharedCounter::monotonic_offset() const {
    return settled(page_->offset, nanoseconds(CLOCK_REALTIME) - nanoseconds(CLOCK_MONOTONIC));
}

std::uint64_t SharedCounter::origin() const { return settled(page_->origin, nanoseconds(CLOCK_REALTIME)); }

}  // namespace streamsan::recorder
