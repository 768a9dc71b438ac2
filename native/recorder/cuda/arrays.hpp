// CUDA arrays: memory that is named by a handle, not by an address. In the trace each has a range of addresses of its
// own, far above those of any machine, in which its elements lie row by row: so copies to different parts of it are
// told apart, and handles that come back are other memory.
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "recorder/cuda/abi.hpp"
#include "recorder/trace_writer/writer.hpp"

namespace streamsan::recorder::cuda {

/// Where an array, or a level or plane of one, lies in the trace.
struct ArrayPlace {
    std::uint64_t base = 0;
    std::uint64_t size = 0;     ///< 0: the elements' size is not known, and so are the next three
    std::uint64_t element = 0;  ///< bytes
    std::uint64_t row = 0;
    std::uint64_t slice = 0;
};

/// Bytes of one channel of an element, by CUarray_format; 0 for compressed and planar formats.
std::uint64_t format_bytes(std::uint32_t format);

class Arrays {
public:
    /// Gives a new array its place. `levels` is 1 for one that has none.
    ArrayPlace add(abi::Word handle, const abi::ArrayDescriptor& description, unsigned levels, std::uint64_t context);
    /// A level or a plane of another: it lies in that one's place, where exactly is not said.
    void add_part(abi::Word handle, abi::Word whole);
    [[nodiscard]] std::optional<ArrayPlace> find(abi::Word handle) const;
    void set_sequence(abi::Word handle, const Slot& slot);
    /// It is destroyed. Its place stays known, so that a second destruction is one of the same array.
    void remove(abi::Word handle);
    void restore(abi::Word handle);
    void lose_context(std::uint64_t context);
    void restate(Lane& lane) const;
    void after_fork();

private:
    struct Known {
        ArrayPlace place;
        std::uint64_t context = 0;
        std::uint64_t sequence = 0;
        std::uint32_t site = 0;
        std::uint16_t thread = 0;
        bool alive = true;
        bool part = false;
    };
    mutable std::mutex mutex_;
    std::unordered_map<abi::Word, Known> known_;
    std::uint64_t next_ = std::uint64_t{1} << 60;
};

/// Of this process. Never destroyed.
Arrays& arrays();

}  // namespace streamsan::recorder::cuda
