// Texture and surface objects that are alive: a new file begins with them.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "recorder/trace_writer/writer.hpp"

namespace streamsan::recorder::cuda {

/// Those of a process. Filled only where files have a limit, else there is never a new one to begin.
class ImageObjects {
public:
    /// `slot` told of it.
    void add(std::uint64_t context, const Slot& slot);
    void remove(std::uint64_t context, std::uint64_t object);
    void lose_context(std::uint64_t context);
    void restate(Lane& lane) const;
    void after_fork();

private:
    mutable std::mutex mutex_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, Slot> alive_;  // by context, each of which counts its own
};

/// Of this process. Never destroyed.
ImageObjects& image_objects();

}  // namespace streamsan::recorder::cuda
