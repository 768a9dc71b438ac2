#include "recorder/trace_writer/side_tables.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace streamsan::recorder {
namespace {

// A short program's file stays small; a long one's has few segments.
constexpr std::uint64_t first_capacity = 4000;
constexpr std::uint64_t most_capacity = std::uint64_t{4} << 20;

template <class Record>
std::string_view bytes_of(const Record& record) {
    return {reinterpret_cast<const char*>(&record), sizeof record};
}

void append_text(std::string& bytes, std::string_view text) {
    const auto length = static_cast<std::uint32_t>(text.size());
    bytes.append(bytes_of(length)).append(text);
}

void pad(std::string& bytes) { bytes.resize((bytes.size() + 3) / 4 * 4, '\0'); }

}  // namespace

bool Table::append(TraceFile& file, std::string_view bytes, std::uint32_t records, std::string& reason) {
    if (parts_.empty() || parts_.back().used + bytes.size() > parts_.back().segment.capacity) {
        const std::uint64_t before = parts_.empty() ? 0 : parts_.back().segment.capacity;
        const std::uint64_t wanted = std::max({std::min(2 * before, most_capacity), first_capacity, least_capacity_});
        Part part;
        if (file.add(type_, 0, 0, next(), bytes.size(), wanted, 0, part.segment, reason) != TraceFile::Added::yes)
            return false;
        parts_.push_back(part);
    }
    Part& part = parts_.back();
    std::memcpy(part.segment.payload + part.used, bytes.data(), bytes.size());
    part.used += bytes.size();
    part.records += records;
    records_ += records;
    bytes_ += bytes.size();
    part.segment.commit(part.used);
    return true;
}

bool Table::move_to(TraceFile& file, std::string& reason) {
    const std::vector<Part> parts = std::move(parts_);
    parts_.clear();
    least_capacity_ = std::min(bytes_ + bytes_ / 4, most_capacity);
    records_ = 0;
    bytes_ = 0;
    for (const Part& part : parts)
        if (!append(file, {reinterpret_cast<const char*>(part.segment.payload), part.used}, part.records, reason))
            return false;
    least_capacity_ = 0;
    return true;
}

SideTables::SideTables(TraceFile& file, std::uint64_t most_bytes)
    : file_(&file), most_bytes_(most_bytes), most_shape_bytes_(most_bytes_of_shapes(most_bytes)) {}

bool SideTables::append(Table& table, std::string_view bytes) {
    if (!failure_.empty()) return false;
    const std::uint64_t total =
        strings_.bytes() + sites_.bytes() + threads_.bytes() + apis_.bytes() + modules_.bytes() + shapes_.bytes();
    const bool done = total + bytes.size() <= most_bytes_ && table.append(*file_, bytes, 1, failure_);
    if (!failure_.empty()) failed_.store(true);
    return done;
}

std::uint32_t SideTables::string_locked(std::string_view text) {
    text = text.substr(0, most_string_bytes);
    if (text.empty()) return 0;
    if (const auto found = string_ids_.find(text); found != string_ids_.end()) return found->second;
    const std::uint32_t id = strings_.next();
    std::string bytes;
    append_text(bytes, text);
    pad(bytes);
    if (id >= most_strings || !append(strings_, bytes)) return 0;
    string_ids_.emplace(text, id);
    return id;
}

std::uint32_t SideTables::string(std::string_view text) {
    const std::lock_guard lock(lock_);
    return string_locked(text);
}

std::uint32_t SideTables::site(const SiteRecord& record) {
    const std::lock_guard lock(lock_);
    // An id from another file (a cache that outlived a fork) must not make this one unreadable.
    const auto known = [](std::uint32_t id, const Table& table) { return id < table.next() ? id : 0; };
    PackedSite site{};
    site.file = known(record.file, strings_);
    site.function = known(record.function, strings_);
    site.text = known(record.text, strings_);
    site.label = known(record.label, strings_);
    site.line = record.line;
    site.column = record.column;
    site.caller = known(record.caller, sites_);
    site.module = known(record.module, modules_);
    site.offset = site.module == 0 ? 0 : record.offset;
    const std::string_view bytes = bytes_of(site);
    if (const auto found = site_ids_.find(bytes); found != site_ids_.end()) return found->second;
    const std::uint32_t id = sites_.next();
    if (!append(sites_, bytes)) return 0;
    site_ids_.emplace(bytes, id);
    return id;
}

std::uint32_t SideTables::module(std::string_view path, std::string_view build_id) {
    std::string bytes;
    append_text(bytes, path.substr(0, most_module_bytes));
    append_text(bytes, build_id.substr(0, most_module_bytes));
    pad(bytes);
    const std::lock_guard lock(lock_);
    if (const auto found = module_ids_.find(bytes); found != module_ids_.end()) return found->second;
    const std::uint32_t id = modules_.next();
    if (id >= most_modules || !append(modules_, bytes)) return 0;
    module_ids_.emplace(std::move(bytes), id);
    return id;
}

std::uint16_t SideTables::api(std::string_view name) {
    if (name.empty()) return 0;
    const std::lock_guard lock(lock_);
    if (const auto found = api_ids_.find(name); found != api_ids_.end())
        return static_cast<std::uint16_t>(found->second);
    const std::uint32_t id = apis_.next();
    const std::uint32_t text = string_locked(name);
    if (text == 0 || id >= most_apis || !append(apis_, bytes_of(text))) return 0;
    api_ids_.emplace(name, id);
    return static_cast<std::uint16_t>(id);
}

std::uint32_t SideTables::launch_shape(PackedLaunchShape head, std::string_view content) {
    const std::lock_guard lock(lock_);
    // As of sites: ids from another file must not make this one unreadable.
    head.symbol = head.symbol < strings_.next() ? head.symbol : 0;
    head.code = head.code < strings_.next() ? head.code : 0;
    const auto length = static_cast<std::uint32_t>(sizeof head + content.size());
    std::string bytes;
    bytes.reserve(sizeof length + length + 3);
    bytes.append(bytes_of(length)).append(bytes_of(head)).append(content);
    pad(bytes);
    const std::uint32_t id = shapes_.next();
    const bool room = id <= most_launch_shapes && shapes_.bytes() + bytes.size() <= most_shape_bytes_;
    return room && append(shapes_, bytes) ? id : 0;
}

std::uint32_t SideTables::thread(std::uint32_t process, std::string_view name) {
    const std::lock_guard lock(lock_);
    const std::uint32_t index = threads_.next();
    const PackedThread thread{process, string_locked(name), {}};
    return index < most_threads && append(threads_, bytes_of(thread)) ? index : most_threads;
}

std::string SideTables::move_to(TraceFile& file) {
    const std::lock_guard lock(lock_);
    if (!failure_.empty()) return failure_;
    file_ = &file;
    for (Table* table : {&strings_, &modules_, &sites_, &threads_, &apis_, &shapes_})
        if (!table->move_to(file, failure_)) {
            if (failure_.empty()) failure_ = "what was interned does not fit into the size limit";
            failed_.store(true);
            return failure_;
        }
    return "";
}

std::string SideTables::failure() {
    if (!failed_.load()) return "";
    const std::lock_guard lock(lock_);
    return failure_;
}

std::uint32_t SideTables::threads() {
    const std::lock_guard lock(lock_);
    return threads_.next();
}

}  // namespace streamsan::recorder
