// Which machine code is loaded, and which of it a kernel may be in. CUPTI tells of each image when the driver loads it:
// with a module, or, as the driver is lazy, in the middle of a kernel's first launch.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/call.hpp"
#include "recorder/run/code_folder.hpp"

namespace streamsan::recorder::cuda {

class LoadedCode {
public:
    /// An image is loaded as a module with this number of CUPTI's; it is there only during the callback. Writes it into
    /// the run's folder.
    void loaded(ThreadState& state, std::uint32_t module, std::span<const unsigned char> image);
    void unloaded(std::uint32_t module);
    /// What the call under way on this thread has loaded belongs to a library or a module; of several handles that name
    /// the same, all. With a `symbol` only those that have this function.
    void belongs(const ThreadState& state, std::span<const abi::Word> owners, std::string_view symbol = {});

    struct Found {
        std::string names;                   ///< of the images, with blanks between; empty: not known, or not kept
        std::vector<std::string> variables;  ///< symbols of the device's variables that these refer to
        bool missing = false;                ///< none is loaded yet
    };
    /// Where the function of this name may be: in the images of its library or module, or, where that is not known
    /// of an image, in any that has it.
    Found find(std::string_view symbol, std::span<const abi::Word> owners);
    /// Counts what was loaded.
    [[nodiscard]] std::uint64_t loads() const { return loads_.load(std::memory_order_acquire); }
    /// In the child of a fork: another thread may have held the lock.
    void after_fork() { new (&mutex_) std::mutex; }

private:
    struct Image {
        std::string name;                      ///< empty: not kept
        std::vector<std::uint64_t> functions;  ///< hashes of their names, in order
        std::vector<std::string> variables;    ///< symbols
        std::vector<abi::Word> owners;         ///< handles of the library and the module that it is of; none: not known
    };

    std::mutex mutex_;
    std::unordered_map<std::uint32_t, Image> images_;
    std::atomic<std::uint64_t> loads_{0};
    CodeFolder folder_;
};

/// Of this process. Never destroyed.
LoadedCode& loaded_code();

/// Whether the call under way on this thread has loaded an image.
inline bool has_loaded_code(const ThreadState& state) {
    return state.call.callback != nullptr && state.code_loaded_in == state.correlation;
}

}  // namespace streamsan::recorder::cuda
