// Kernels: what their arguments may lead to. The parameter layout of a function is asked from the driver once and kept;
// from then on a launch only reads words.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "recorder/cuda/call.hpp"

namespace streamsan::recorder::cuda {

/// One parameter of a function as the driver lays it out.
struct ParameterPlace {
    std::size_t offset;  ///< in the argument buffer
    std::size_t size;
};

/// Words in a row of one parameter, each of which may be an address.
struct ArgumentWords {
    static constexpr std::uint32_t no_buffer = UINT32_MAX;
    std::uint32_t buffer;     ///< offset of the first word in the argument buffer; no_buffer: not known
    std::uint16_t parameter;  ///< index in `kernelParams`
    std::uint16_t first;      ///< offset of the first word in the parameter
    std::uint16_t count;
    std::uint8_t mode_flags;  ///< AccessMode, and CONDITIONAL where the words may be leftovers of the stack
};

/// What is known of one kernel. Lives until the process ends. What a launch of most kernels looks at lies in one cache
/// line.
struct alignas(64) Kernel {
    /// Ids in the writer's tables, with the writer's generation in the upper half.
    mutable std::atomic<std::uint64_t> label_id{0};
    mutable std::atomic<std::uint64_t> bare_site{0};
    std::array<ArgumentWords, 3> few_words{};  ///< as `words`, where these are no more
    std::uint8_t few = 0;                      ///< how many of them; 0: look at `words`
    bool layout_known = false;         ///< else the arguments were not looked at, or only those that the name tells of
    std::vector<ArgumentWords> words;  ///< those that are sure first; set by `set_words` alone
    std::string symbol;

    void set_words(std::vector<ArgumentWords> found) {
        words = std::move(found);
        few = words.size() <= few_words.size() ? static_cast<std::uint8_t>(words.size()) : std::uint8_t{0};
        std::copy_n(words.begin(), few, few_words.begin());
    }
    [[nodiscard]] std::span<const ArgumentWords> argument_words() const {
        return few != 0 ? std::span(few_words.data(), few) : std::span(words.data(), words.size());
    }
    std::string label;
};

/// Which words of the parameters may be addresses, by layout and, where it has them, by the types in the kernel's name.
std::vector<ArgumentWords> argument_words(const std::vector<ParameterPlace>& places, std::string_view symbol);

class Kernels {
public:
    Kernels();
    Kernels(const Kernels&) = delete;
    Kernels& operator=(const Kernels&) = delete;

    /// The kernel behind a handle (CUfunction or CUkernel); null when it was not met since the last `forget`. No lock.
    /// `symbol` is its mangled name, null when not known.
    [[nodiscard]] const Kernel* find(std::uint64_t function, const char* symbol) const noexcept;
    /// Asks the driver, and keeps the answer. Takes a lock, but none while it calls the driver.
    const Kernel& learn(std::uint64_t function, const char* symbol);
    /// A module was unloaded: handles may name other functions from now on.
    void forget() noexcept { epoch_.fetch_add(1, std::memory_order_acq_rel); }
    /// In the child of a fork: another thread may have held the lock.
    void after_fork() { new (&mutex_) std::mutex; }

private:
    static constexpr unsigned version_bits = 20;
    struct alignas(64) Cell {
        std::atomic<std::uint64_t> function{0};
        std::atomic<const char*> symbol{nullptr};
        std::atomic<const Kernel*> kernel{nullptr};
        std::atomic<std::uint64_t> stamp{0};  ///< epoch, then the version of the cell; 0: it is being written
        std::uint64_t version = 0;            ///< under the lock
    };
    struct Table {
        explicit Table(std::size_t size) : mask(size - 1), cells(std::make_unique<Cell[]>(size)) {}
        std::size_t mask;
        std::unique_ptr<Cell[]> cells;
    };
    static bool put(Table& table, std::uint64_t function, const char* symbol, const Kernel* kernel,
                    std::uint64_t epoch);
    const Kernel* same(const Kernel& kernel) const;

    std::atomic<Table*> table_;
    std::atomic<std::uint64_t> epoch_{1};
    std::mutex mutex_;
    std::size_t used_ = 0;
    std::vector<std::unique_ptr<Table>> tables_;  // readers may still be in an outgrown one
    std::unordered_map<std::string, std::vector<std::unique_ptr<Kernel>>> all_;  // by symbol
};

/// Of this process. Made at its first use, never destroyed.
Kernels& kernels();

/// Found or learnt.
inline const Kernel& kernel_of(std::uint64_t function, const char* symbol) {
    const Kernel* known = kernels().find(function, symbol);
    return known != nullptr ? *known : kernels().learn(function, symbol);
}

/// String id of the kernel's label.
std::uint32_t label_id(const Kernel& kernel, Writer& writer);
/// Site id of a place that is not known, with the kernel's label.
std::uint32_t bare_site(const Kernel& kernel, Writer& writer);

/// The addresses among the arguments of one launch or kernel node, each once: those that lie in memory that is or was
/// allocated. `arguments` is `kernelParams`, `extra` the other way to pass them; either may be null.
class KernelReferences {
public:
    void collect(const Kernel& kernel, void* const* arguments, void* const* extra);
    /// Words of an argument buffer without any layout.
    void scan(const unsigned char* buffer, std::size_t size, std::uint8_t mode_flags);

    [[nodiscard]] const Reference* data() const { return found_ + 1; }
    /// One more than `size`: the first is empty.
    [[nodiscard]] const Reference* data_after_empty() const { return found_; }
    [[nodiscard]] std::size_t size() const { return count_; }
    [[nodiscard]] std::size_t left_out() const { return left_out_; }  ///< for lack of room
    void clear() { count_ = left_out_ = mask_ = 0; }

private:
    void take(const unsigned char* words, std::size_t count, std::uint8_t mode_flags);
    void add(std::uint64_t address, std::uint8_t mode_flags);
    void meet_again(Reference& known, std::uint8_t mode_flags);
    void index_all(std::size_t buckets);

    static constexpr std::size_t few = 8;  // looked through one by one
    static constexpr std::size_t buckets_at_first = 256;
    static constexpr std::size_t buckets_at_most = 2048;
    std::size_t count_ = 0;
    std::size_t left_out_ = 0;
    std::size_t mask_ = 0;  // buckets in use, less one; 0: only a few
    Reference found_[1 + most_further_references]{};
    std::uint16_t index_[buckets_at_most];  // position in `found_`, 0: none
};

}  // namespace streamsan::recorder::cuda
