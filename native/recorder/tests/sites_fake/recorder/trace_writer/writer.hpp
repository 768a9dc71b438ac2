// Stands in for the trace writer in tests of call sites: keeps the side tables in memory. Found before the real header.
#pragma once
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace streamsan::recorder {

struct SiteRecord {
    std::uint32_t file = 0;
    std::uint32_t function = 0;
    std::uint32_t text = 0;
    std::uint32_t label = 0;
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    std::uint32_t caller = 0;
    std::uint32_t module = 0;
    std::uint64_t offset = 0;
    bool operator==(const SiteRecord&) const = default;
};

class Writer {
public:
    std::uint32_t string(std::string_view text) {
        const std::scoped_lock lock(mutex);
        return intern(strings, std::string(text));
    }
    std::uint32_t site(const SiteRecord& record) {
        const std::scoped_lock lock(mutex);
        return intern(sites, record);
    }
    std::uint32_t module(std::string_view path, std::string_view build_id) {
        const std::scoped_lock lock(mutex);
        return intern(modules, std::pair(std::string(path), std::string(build_id)));
    }

    std::mutex mutex;
    std::vector<std::string> strings{""};
    std::vector<SiteRecord> sites{SiteRecord{}};
    std::vector<std::pair<std::string, std::string>> modules{{"", ""}};

private:
    template <class T>
    static std::uint32_t intern(std::vector<T>& all, const T& value) {
        for (std::size_t index = 1; index < all.size(); ++index)
            if (all[index] == value) return static_cast<std::uint32_t>(index);
        all.push_back(value);
        return static_cast<std::uint32_t>(all.size() - 1);
    }
};

}  // namespace streamsan::recorder
