// The C library's own function behind one of this library that has its name.
#pragma once
#include <atomic>

#include <dlfcn.h>

namespace streamsan::recorder::host {

/// Looked up at the first call, so that it works before constructors have run. One static object for each name.
template <class Function>
class NextFunction {
public:
    constexpr explicit NextFunction(const char* name) : name_(name) {}
    /// Null where this C library has no such function.
    Function* get() noexcept {
        Function* found = found_.load(std::memory_order_relaxed);
        if (found == nullptr) [[unlikely]] {
            found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name_));
            found_.store(found, std::memory_order_relaxed);
        }
        return found;
    }

private:
    const char* name_;
    std::atomic<Function*> found_{nullptr};
};

}  // namespace streamsan::recorder::host
