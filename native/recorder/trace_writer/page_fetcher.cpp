#include "recorder/trace_writer/page_fetcher.hpp"

#include <algorithm>
#include <pthread.h>
#include <sys/mman.h>
#include <system_error>
#include <utility>

#include "recorder/trace_writer/trace_file.hpp"

namespace streamsan::recorder {
namespace {

constexpr std::ptrdiff_t fetched_portion = 64 << 10;

}  // namespace

void PageFetcher::end() {
    {
        const std::lock_guard lock(lock_);
        ending_ = none_ = true;
    }
    asked_.notify_one();
    if (thread_.joinable()) thread_.join();
}

void PageFetcher::ask(std::byte* begin, std::byte* end, std::atomic<std::byte*>& ready) {
    enqueue({begin, end, &ready, {}});
}

void PageFetcher::let_go(std::byte* begin, std::byte* end) { enqueue({begin, end, nullptr, {}}); }

bool PageFetcher::later(std::function<void()> work) { return enqueue({nullptr, nullptr, nullptr, std::move(work)}); }

bool PageFetcher::enqueue(Request request) {
    {
        const std::lock_guard lock(lock_);
        if (none_) return false;
        if (!thread_.joinable()) {
            try {
                thread_ = std::thread([this] { work(); });
                pthread_setname_np(thread_.native_handle(), "streamsan");
            } catch (const std::system_error&) {
                none_ = true;
                return false;
            }
        }
        requests_.push_back(std::move(request));
    }
    asked_.notify_one();
    return true;
}

void PageFetcher::serve(const Request& request) {
    if (request.work) {
        request.work();
        return;
    }
    if (request.ready == nullptr)
        madvise(request.begin, static_cast<std::size_t>(request.end - request.begin), MADV_DONTNEED);
    for (std::byte* at = request.begin; request.ready != nullptr && at < request.end;) {
        const std::ptrdiff_t size = std::min(fetched_portion, request.end - at);
        // The file may be closed or full by now: who appends finds out.
        if (!populate(at, static_cast<std::uint64_t>(size))) break;
        at += size;
        request.ready->store(at, std::memory_order_release);
    }
}

void PageFetcher::work() {
    std::unique_lock lock(lock_);
    while (true) {
        asked_.wait(lock, [this] { return ending_ || !requests_.empty(); });
        if (ending_) return;
        const Request request = std::move(requests_.front());
        requests_.pop_front();
        lock.unlock();
        serve(request);
        lock.lock();
    }
}

}  // namespace streamsan::recorder
