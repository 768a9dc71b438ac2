#include "recorder/trace_writer/trace_file.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14; older C libraries do not name it
#endif

namespace streamsan::recorder {
namespace {

constexpr char file_magic[8] = {'\x89', 'S', 'S', 'T', '\r', '\n', '\x1a', '\n'};
constexpr char segment_magic[8] = {'s', 's', 't', 'S', 'E', 'G', 'M', '\n'};
constexpr std::uint64_t window_size = std::uint64_t{64} << 20;

constexpr std::uint64_t rounded_up(std::uint64_t size, std::uint64_t unit) { return (size + unit - 1) / unit * unit; }

/// Writes all of it; returns 0 or errno.
int write_at(int descriptor, const void* bytes, std::size_t size, std::uint64_t offset) {
    const auto* from = static_cast<const char*>(bytes);
    while (size != 0) {
        const ssize_t done = pwrite(descriptor, from, size, static_cast<off_t>(offset));
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return errno;
        if (done == 0) return ENOSPC;
        from += done;
        size -= static_cast<std::size_t>(done);
        offset += static_cast<std::uint64_t>(done);
    }
    return 0;
}

/// For file systems that cannot reserve: zeros take the blocks as well.
int write_zeros(int descriptor, std::uint64_t begin, std::uint64_t end) {
    static constexpr char zeros[1 << 14] = {};
    while (begin < end) {
        const std::uint64_t size = std::min<std::uint64_t>(sizeof zeros, end - begin);
        if (const int error = write_at(descriptor, zeros, size, begin); error != 0) return error;
        begin += size;
    }
    return 0;
}

std::string said(const std::string& what, int error) {
    char text[128] = "";
    return what + ": " + strerror_r(error, text, sizeof text);
}

}  // namespace

void Segment::commit(std::uint64_t bytes) const noexcept {
    std::atomic_ref(header->commit).store(commit_mark(bytes), std::memory_order_release);
}

bool populate(std::byte* begin, std::uint64_t size) {
    int error = 0;
    do {
        error = madvise(begin, size, MADV_POPULATE_WRITE) == 0 ? 0 : errno;
    } while (error == EINTR || error == EAGAIN);
    // EINVAL: a kernel before 5.14. The pages are reserved; they come one by one as they are touched.
    return error == 0 || error == EINVAL;
}

TraceFile::~TraceFile() {
    for (std::byte* window : windows_) munmap(window, window_size);
}

std::string TraceFile::create(const std::string& path, std::string_view metadata, std::uint64_t limit) {
    page_ = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    limit_ = limit;
    if (metadata.size() + page_ > most_metadata) return path + ": too much metadata for a header";
    if (const int error = file_.make(path); error != 0) return said(path, error);
    // Blanks after the JSON object bring the first segment, and with it all slots, to the beginning of a page.
    const std::uint64_t size = rounded_up(sizeof(FileHeader) + metadata.size(), page_);
    FileHeader header{};
    std::memcpy(header.magic, file_magic, sizeof header.magic);
    header.byte_order = byte_order_mark;
    header.major = major_version;
    header.minor = minor_version;
    header.header_size = static_cast<std::uint32_t>(size);
    header.metadata_size = static_cast<std::uint32_t>(size - sizeof(FileHeader));
    header.slot_size = 64;
    std::string bytes(size, ' ');
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + sizeof header, metadata.data(), metadata.size());
    int error = reserve(file_.descriptor(), size + page_);
    if (error == 0) error = write_at(file_.descriptor(), bytes.data(), bytes.size(), 0);
    if (error != 0) {
        unlink(path.c_str());
        return said(path, error);
    }
    tail_ = size;
    return "";
}

int TraceFile::reserve(int descriptor, std::uint64_t end) {
    if (end <= reserved_) return 0;
    int error = 0;
    for (int attempt = 0; attempt < 8; ++attempt) {
        const int failed = fallocate(descriptor, 0, static_cast<off_t>(reserved_), static_cast<off_t>(end - reserved_));
        error = failed == 0 ? 0 : errno;
        if (error != EINTR) break;
    }
    // EINTR that does not stop, or a file system that cannot reserve (NFS before 4.2, some FUSE).
    if (error == EOPNOTSUPP || error == ENOSYS || error == EINTR) error = write_zeros(descriptor, reserved_, end);
    if (error == 0) reserved_ = end;
    return error;
}

std::byte* TraceFile::mapped(int descriptor, std::uint64_t offset) {
    const std::size_t index = offset / window_size;
    while (windows_.size() <= index) {
        void* window = mmap(nullptr, window_size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor,
                            static_cast<off_t>(windows_.size() * window_size));
        if (window == MAP_FAILED) return nullptr;
        windows_.push_back(static_cast<std::byte*>(window));
    }
    return windows_[index] + offset % window_size;
}

TraceFile::Added TraceFile::add(SegmentType type, std::uint16_t flags, std::uint32_t lane, std::uint64_t first,
                                std::uint64_t least, std::uint64_t wanted, std::uint64_t keep, Segment& segment,
                                std::string& reason) {
    const std::lock_guard lock(tail_lock_);
    std::uint64_t size = rounded_up(sizeof(SegmentHeader) + std::max(least, wanted), page_);
    const std::uint64_t smallest = rounded_up(sizeof(SegmentHeader) + least, page_);
    // No segment reaches from one window into the next. The chain has no holes, so what is left of a window goes into
    // this segment or, when that is too little, into one that nobody fills.
    const std::uint64_t left = window_size - tail_ % window_size;
    const bool skip = left < smallest;
    if (!skip) size = std::min(size, left);
    const std::uint64_t begin = skip ? tail_ + left : tail_;
    // One page more is always reserved: the end mark needs no luck.
    if (limit_ != 0) {
        const std::uint64_t most = limit_ - std::min(limit_, keep + page_);
        if (begin + smallest > most) return Added::full;
        size = std::min(size, (most - begin) / page_ * page_);
    }
    if (segments_ + 3 > most_segments) {
        if (limit_ != 0) return Added::full;
        reason = path() + ": the file has as many segments as the format allows";
        return Added::failed;
    }
    const int descriptor = ended_ ? -1 : file_.descriptor();
    if (descriptor < 0) {
        reason = path() + ": the file is no longer there";
        return Added::failed;
    }
    int error = reserve(descriptor, begin + size + page_);
    std::byte* place = error == 0 ? mapped(descriptor, begin) : nullptr;
    if (error == 0 && place == nullptr) error = errno;
    // The first page, also of what comes behind; EFAULT here would have been SIGBUS there.
    if (error == 0 && !populate(place, page_)) error = ENOSPC;
    SegmentHeader header{};
    std::memcpy(header.magic, segment_magic, sizeof header.magic);
    if (error == 0 && skip) {
        header.type = static_cast<std::uint16_t>(SegmentType::operations);
        header.offset = tail_;
        header.capacity = left - sizeof header;
        error = write_at(descriptor, &header, sizeof header, tail_);
        ++segments_;
    }
    if (error == 0) {
        header.type = static_cast<std::uint16_t>(type);
        header.flags = flags;
        header.lane = lane;
        header.offset = begin;
        header.capacity = size - sizeof header;
        header.first = first;
        // One write: a kill does not come between the bytes of it, as it would between stores.
        error = write_at(descriptor, &header, sizeof header, begin);
    }
    if (error != 0) {
        reason = said(path(), error);
        return Added::failed;
    }
    ++segments_;
    tail_ = begin + size;
    segment = {reinterpret_cast<SegmentHeader*>(place), place + sizeof header, size - sizeof header};
    return Added::yes;
}

void TraceFile::take_back(const Segment& segment) {
    const std::lock_guard lock(tail_lock_);
    const int descriptor = file_.descriptor();
    if (ended_ || descriptor < 0) return;
    const std::uint64_t begin = segment.header->offset, end = begin + sizeof(SegmentHeader) + segment.capacity;
    if (end == tail_) {
        // A header of zeros is where the chain ends.
        const SegmentHeader none{};
        if (write_at(descriptor, &none, sizeof none, begin) != 0) return;
        tail_ = begin;
        --segments_;
    } else if (begin + page_ < end) {
        fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin + page_),
                  static_cast<off_t>(end - begin - page_));
    }
}

int TraceFile::rename(const std::string& path) {
    if (::rename(file_.path().c_str(), path.c_str()) != 0) return errno;
    file_.moved(path);
    return 0;
}

void TraceFile::renamed(const std::string& path) { file_.moved(path); }

void TraceFile::end(std::uint64_t operations, std::uint64_t slots) {
    const std::lock_guard lock(tail_lock_);
    const int descriptor = file_.descriptor();
    if (descriptor < 0) return;
    ended_ = true;
    struct {
        SegmentHeader header{};
        PackedEnd mark{};
    } last;
    std::memcpy(last.header.magic, segment_magic, sizeof last.header.magic);
    last.header.type = static_cast<std::uint16_t>(SegmentType::end);
    last.header.offset = tail_;
    last.header.capacity = sizeof last.mark;
    last.header.commit = commit_mark(sizeof last.mark);
    last.mark = {operations, slots, {}};
    // The mark before the header that commits it.
    if (write_at(descriptor, &last.mark, sizeof last.mark, tail_ + sizeof last.header) != 0) return;
    if (write_at(descriptor, &last.header, sizeof last.header, tail_) != 0) return;
    tail_ += sizeof last;
    if (ftruncate(descriptor, static_cast<off_t>(tail_)) == 0) reserved_ = tail_;
}

void TraceFile::trim() {
    const std::lock_guard lock(tail_lock_);
    ended_ = true;
    const int descriptor = file_.descriptor();
    if (descriptor >= 0 && tail_ != 0 && ftruncate(descriptor, static_cast<off_t>(tail_)) == 0) reserved_ = tail_;
}

void TraceFile::detach() {
    const std::lock_guard lock(tail_lock_);
    for (std::byte*& window : windows_)
        // When even this fails the old mapping stays: as safe, only the blocks are freed later.
        mmap(window, window_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0);
    windows_.clear();
    file_.close();
}

void TraceFile::abandon() { windows_.clear(); }

std::uint64_t TraceFile::size() const {
    const std::lock_guard lock(tail_lock_);
    return tail_;
}

bool TraceFile::holds(const void* pointer) const {
    const std::lock_guard lock(tail_lock_);
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    return std::any_of(windows_.begin(), windows_.end(), [address](const std::byte* window) {
        return address - reinterpret_cast<std::uintptr_t>(window) < window_size;
    });
}

}  // namespace streamsan::recorder
