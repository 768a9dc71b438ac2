// Where in the program a call was made: Python frames where the thread runs Python, else native frames.
#pragma once
#include <atomic>
#include <cstdint>

#include "recorder/trace_writer/writer.hpp"

namespace streamsan::recorder {

namespace call_sites {
struct PythonLayout;
struct ThreadSites;
}  // namespace call_sites

/// The site id of the program's frame that called the API from within which this runs (a callback at the API's entry,
/// on the calling thread). 0 when unknown. Cached: a stack seen before costs tens of nanoseconds and takes no lock.
/// `label` is a string id (a kernel's demangled name, say), part of the site; 0 for none.
/// Native sites have `offset` of the call instruction's last byte, so that its line is the call's.
class Sites {
public:
    explicit Sites(Writer& writer);
    std::uint32_t here(std::uint32_t label);
    /// False while static constructors run: main() of the program is not on this stack (the process's first thread),
    /// and a function is that the loader runs before main. True as soon as it was true once on that thread, on other
    /// threads, and when in doubt.
    bool main_has_begun();
    void forget();  ///< after rotation or fork: ids of the old file mean nothing in the new one

private:
    void learn(call_sites::ThreadSites& thread, std::uint64_t generation);
    std::uint32_t python_site(call_sites::ThreadSites& thread, std::uint64_t innermost, std::uint32_t label);
    std::uint32_t native_site(const std::uint64_t* addresses, unsigned count, std::uint32_t label);

    Writer& writer_;
    std::atomic<std::uint64_t> generation_;
    std::atomic<const call_sites::PythonLayout*> python_{nullptr};
    std::atomic<std::uint64_t> python_looked_for_{0};  // how many libraries had been loaded then
    std::atomic<bool> main_has_begun_{false};
};

}  // namespace streamsan::recorder
