#include "recorder/trace_writer/page_fetcher.hpp"

#include <algorithm>
#include <pthread.h>
#include <sys/mman.h>
#include <system_error>

#include "recorder/trace_writer/trace_file.hpp"

namespace streamsan::recorder {
namespace {

constexpr std::ptrdiff_t portion_bytes = 64 << 10;

}  // namespace

void PageFetcher::end() {
    {
        const std::lock_guard lock(lock_);
        ending_ = none_ = true;
    }
    asked_.notify_one();
    if (thread_.joinable()) thread_.join();
}

void PageFetcher::ask(std::byte* begin, std::byte* end, std::atomic<std::byte*>& ready) { enqueue({begin, end, &ready}); }

void PageFetcher::let_go(std::byte* begin, std::byte* end) { enqueue({begin, end, nullptr}); }

void PageFetcher::enqueue(const Request& request) {
    {
        const std::lock_guard lock(lock_);
        if (none_) return;
        if (!thread_.joinable()) {
            try {
                thread_ = std::thread([this] { work(); });
                pthread_setname_np(thread_.native_handle(), "streamsan");
            } catch (const std::system_error&) {
                none_ = true;
                return;
            }
        }
        requests_.push_back(request);
    }
    asked_.notify_one();
}

void PageFetcher::work() {
    std::unique_lock lock(lock_);
    while (true) {
        asked_.wait(lock, [this] { return ending_ || !requests_.empty(); });
        if (ending_) return;
        const Request request = requests_.front();
        requests_.pop_front();
        lock.unlock();
        if (request.ready == nullptr) madvise(request.begin, static_cast<std::size_t>(request.end - request.begin), MADV_DONTNEED);
        for (std::byte* at = request.begin; request.ready != nullptr && at < request.end;) {
            const std::ptrdiff_t size = std::min(portion_bytes, request.end - at);
            // The file may be closed or full by now: who appends finds out.
            if (!populate(at, static_cast<std::uint64_t>(size))) break;
            at += size;
            request.ready->store(at, std::memory_order_release);
        }
        lock.lock();
    }
}

}  // namespace streamsan::recorder
