// Gets pages of the file before a thread comes to them, and does what else would make it wait.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace streamsan::recorder {

/// A thread of our own. A page of a mapped file costs the one who touches it first a microsecond and more (the file
/// system's journal, zeroing): shared by the 64 slots in it that is as much as all else that an append does.
class PageFetcher {
public:
    PageFetcher() = default;
    ~PageFetcher() { end(); }
    PageFetcher(const PageFetcher&) = delete;
    PageFetcher& operator=(const PageFetcher&) = delete;

    /// Asks for the pages of [begin, end), page-aligned; `ready` is moved up as they come. Starts the thread if there
    /// is none. To be called with signals blocked: the thread inherits that. Where no thread can be made, nothing
    /// happens.
    void ask(std::byte* begin, std::byte* end, std::atomic<std::byte*>& ready);
    /// Lets go of the pages of [begin, end), which are written: they stay in the file, and mapped, but count no longer
    /// as this process's memory.
    void let_go(std::byte* begin, std::byte* end);
    /// Does `work` after all that was asked before. It must not throw. Where no thread can be made, it is not done.
    bool later(std::function<void()> work);
    /// Ends the thread: nothing of what was asked is touched any more.
    void end();

private:
    struct Request {
        std::byte* begin;
        std::byte* end;
        std::atomic<std::byte*>* ready;  ///< null: let go of them
        std::function<void()> work;      ///< in place of all that
    };

    bool enqueue(Request request);
    static void serve(const Request& request);
    void work();

    std::mutex lock_;
    std::condition_variable asked_;
    std::deque<Request> requests_;
    bool ending_ = false;
    bool none_ = false;  ///< no thread can be made
    std::thread thread_;
};

}  // namespace streamsan::recorder
